package trial

import (
	"sync"

	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/loop/tool/mock"
)

// A suite runs the same scenario thousands of times: what is compiled from its
// text is kept, by its digest.
var (
	scripts = memo[*sim.Script]{m: map[string]*sim.Script{}}
	mocks   = memo[*mock.Tool]{m: map[string]*mock.Tool{}}
)

// memo keeps what is made from a text that its key names.
type memo[T any] struct {
	mu sync.Mutex
	m  map[string]T
}

func (c *memo[T]) get(key string, make func() (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.m[key]; ok {
		return v, nil
	}
	v, err := make()
	if err == nil {
		c.m[key] = v
	}
	return v, err
}
