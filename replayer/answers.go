package replayer

import (
	"errors"
	"io"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// Answers reads the model answers of a recording, finished or not, and calls fn
// with each and the request that it answered: its chain, params, lane, turn,
// attempt, purpose and occurrence, as the loop would have asked it. What cannot be read ends it
// without an error: what came before is sound.
func Answers(path string, fn func(*model.Request, *model.Response)) error {
	s, err := session.Open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	a := answers{talk: session.NewConversation(), lanes: map[string]*laneAsked{}}
	for {
		l, err := s.Next()
		if err != nil {
			var broken *session.CorruptError
			if errors.Is(err, io.EOF) || errors.As(err, &broken) || errors.Is(err, session.ErrTooNew) {
				return nil
			}
			return err
		}
		if !a.line(l, fn) {
			return nil
		}
	}
}

// answers follows the requests of a recording.
type answers struct {
	talk  *session.Conversation
	lanes map[string]*laneAsked
	model string // the header's
}

// laneAsked is the lane's last request, and how often it was asked.
type laneAsked struct {
	req      model.Request
	counts   map[model.Digest]int
	attempts map[model.Purpose]int // of the turn
}

// line takes the next line; false ends the reading.
func (a *answers) line(l *session.Line, fn func(*model.Request, *model.Response)) bool {
	asked, err := a.talk.Add(l)
	if err != nil {
		return false
	}
	switch l.Type {
	case session.TypeHeader:
		h, err := l.Header()
		if err != nil {
			return false
		}
		a.model = h.Model
	case session.TypeRequest:
		r, err := l.Request()
		if err != nil || asked == nil {
			return false
		}
		a.ask(l.Lane, asked.Chain, r)
	case session.TypeResponse, session.TypeAttempt:
		resp, _, _ := answerOf(l)                                                                // errors are not shared
		if lane := a.lanes[l.Lane]; resp != nil && lane != nil && resp.Cache != model.CacheHit { // that one is the cache's
			if resp.Model == "" {
				resp.Model = a.model
			}
			fn(&lane.req, resp)
		}
	}
	return true
}

// ask counts a request as the loop does: a new chain forgets the old one's
// counts.
func (a *answers) ask(lane string, chain model.Digest, r *session.Request) {
	at := a.lanes[lane]
	if at == nil {
		at = &laneAsked{}
		a.lanes[lane] = at
	}
	if at.counts == nil || at.req.Chain() != chain {
		at.counts = map[model.Digest]int{}
	}
	if r.Params != nil {
		at.req.ParamsDigest = model.Sum(r.Params)
	}
	if at.attempts == nil || at.req.Turn != r.Turn {
		at.attempts = map[model.Purpose]int{}
	}
	at.req.Attempt = at.attempts[r.Purpose]
	at.attempts[r.Purpose]++
	at.req.Lane, at.req.Turn, at.req.Purpose, at.req.Chains = lane, r.Turn, r.Purpose, []model.Digest{chain}
	at.req.Occurrence = at.counts[at.req.ParamsDigest]
	at.counts[at.req.ParamsDigest]++
}
