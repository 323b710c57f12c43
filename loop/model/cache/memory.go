package cache

import (
	"maps"
	"sync"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Memory is a store in memory.
type Memory struct {
	was map[Key]*model.Response // when it was opened; not changed
	mu  sync.Mutex
	is  map[Key]*model.Response
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{is: map[Key]*model.Response{}} }

// Reopen returns a store that knows all that was stored so far.
func (m *Memory) Reopen() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := maps.Clone(m.is)
	return &Memory{was: all, is: maps.Clone(all)}
}

// Get implements Store.
func (m *Memory) Get(k Key) (*model.Response, error) {
	r := m.was[k]
	if r == nil {
		return nil, nil
	}
	return kept(r), nil
}

// Put implements Store.
func (m *Memory) Put(k Key, r *model.Response) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.is[k] == nil {
		m.is[k] = kept(r)
	}
	return nil
}

// kept is a copy of what a store keeps of an answer.
func kept(r *model.Response) *model.Response {
	out := &model.Response{Finish: r.Finish, Model: r.Model, Items: append([]model.Item(nil), r.Items...)}
	for i := range out.Items {
		out.Items[i].Call.ID = "" // the loop's own
	}
	return out
}
