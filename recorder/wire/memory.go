package wire

import "sync"

// memory is a map that forgets the oldest entries when it is full. It is safe
// for concurrent use.
type memory[K comparable, V any] struct {
	max  int
	mu   sync.Mutex
	m    map[K]V
	ring []K // in order of arrival; once full, next is the oldest
	next int
}

func (c *memory[K, V]) get(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.m[k]
	return v, ok
}

// update changes an entry and returns what it is now.
func (c *memory[K, V]) update(k K, f func(V) V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, known := c.m[k]
	v := f(old)
	if !known {
		c.room(k)
	}
	c.m[k] = v
	return v
}

// room makes place for a new key.
func (c *memory[K, V]) room(k K) {
	if c.m == nil {
		c.m = map[K]V{}
	}
	if len(c.ring) < c.max {
		c.ring = append(c.ring, k)
		return
	}
	delete(c.m, c.ring[c.next])
	c.ring[c.next] = k
	c.next = (c.next + 1) % c.max
}
