package tape

import (
	"fmt"
	"sync"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// Lanes names conversations. A conversation is known by its hint (what a header
// says of the agent or its session, "" = nothing) and its root (the request chain
// up to the first user message). Hints are random in real agents, so that a lane
// is named by the order of first appearance: "main", "lane-2", "lane-3", ... The
// zero Lanes is ready; it is safe for concurrent use.
type Lanes struct {
	mu    sync.Mutex
	names map[laneKey]string
}

type laneKey struct {
	hint string
	root model.Digest
}

// maxLanes bounds the lanes of a recording below what a session may have. All
// conversations beyond share the last.
const maxLanes = 1 << 15

// Name returns the lane of a conversation.
func (l *Lanes) Name(hint string, root model.Digest) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := laneKey{hint, root}
	if name, ok := l.names[k]; ok {
		return name
	}
	if l.names == nil {
		l.names = map[laneKey]string{}
	}
	name := laneName(min(len(l.names)+1, maxLanes))
	if len(l.names) < maxLanes {
		l.names[k] = name
	}
	return name
}

// laneName names the n-th lane, from 1.
func laneName(n int) string {
	if n == 1 {
		return event.MainLane
	}
	return fmt.Sprintf("lane-%d", n)
}
