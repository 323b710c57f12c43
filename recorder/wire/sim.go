package wire

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// SimOptions say what simulated models answer with.
type SimOptions struct {
	// Profile answers where a request names no simulated model: its name as in
	// sim.Profiles.
	Profile string
	// Find returns the name of the scenario that a task is of. It is asked with
	// the texts that the user said, one after the other, until it knows one. nil
	// knows none.
	Find func(text string) (scenario string, ok bool)
	// New makes the model of one repetition of a scenario that Find named.
	New func(scenario, profile string, seed uint64) (*sim.Model, error)
	// Speed is how fast declared durations pass.
	Speed Speed
}

// Sim answers with simulated models. It is safe for concurrent use.
type Sim struct {
	o       SimOptions
	models  memory[simKey, *sim.Model]
	asked   memory[asking, int]       // requests without metadata of ours, and how often they were asked
	parents memory[string, *ancestor] // what /v1/responses answered
}

// simKey names one repetition of a scenario on a model.
type simKey struct {
	scenario, profile string
	seed              uint64
}

// asking is what makes two requests equal.
type asking struct {
	key           simKey
	lane          string
	chain, params model.Digest
}

// ancestor is a request with its answer, on top of those before it.
type ancestor struct {
	before *ancestor
	parts  []*model.Part
}

// Bounds of what a server remembers; the oldest go first. A simulated model that
// was forgotten is made again and answers the same.
const (
	maxModels  = 4096
	maxAsked   = 1 << 20
	maxParents = 1 << 16
)

// NewSim returns a handler that answers the three APIs with simulated models.
// The answer to a request depends on nothing but the request and, where it does
// not say itself which attempt it is, on how often it was asked before. A request
// of no known scenario gets a plain text.
func NewSim(o SimOptions) *Sim {
	return &Sim{o: o, models: memory[simKey, *sim.Model]{max: maxModels}, asked: memory[asking, int]{max: maxAsked},
		parents: memory[string, *ancestor]{max: maxParents}}
}

// ServeHTTP implements http.Handler.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sayAt(w, 0) // what declares no time takes none
	api, aux, ok := dialect.Route(r.Method, r.URL.Path)
	if !ok {
		unknown(w, r)
		return
	}
	body, bad := read(w, r)
	if bad != nil {
		fail(w, speaks(api, r), bad)
		return
	}
	var reply *dialect.Reply
	var err error
	switch aux {
	case "":
		var call *dialect.Call
		if call, err = dialect.Decode(api, body.plain); err == nil {
			s.answer(w, r, call)
			return
		}
	case dialect.AuxCountTokens, dialect.AuxInputTokens:
		reply, err = dialect.CountTokens(api, body.plain)
	default:
		listed(w, r, aux)
		return
	}
	var wrong *dialect.BadRequest
	switch {
	case err == nil:
		send(w, reply)
	case errors.As(err, &wrong):
		send(w, wrong.Reply(api))
	default:
		fail(w, api, &model.Error{Kind: model.ErrBadRequest, Message: err.Error()})
	}
}

// listed answers what clients ask to see who is there.
func listed(w http.ResponseWriter, r *http.Request, aux string) {
	switch aux {
	case dialect.AuxModels:
		send(w, dialect.ModelList(anthropic(r), modelIDs()))
	case dialect.AuxModel:
		_, id, _ := strings.Cut(r.URL.Path, "/models/")
		if p, ok := sim.Lookup(id); ok && p.Name == id {
			send(w, dialect.ModelInfo(anthropic(r), id))
			return
		}
		fail(w, speaks("", r), &model.Error{Kind: model.ErrBadRequest, Status: http.StatusNotFound,
			Message: fmt.Sprintf("harnessbench: there is no simulated model %q; GET /v1/models lists them", id)})
	default:
		here(w, "simulated models answer; GET /v1/models lists them")
	}
}

func modelIDs() []string {
	var ids []string
	for _, p := range sim.Profiles() {
		ids = append(ids, p.Name)
	}
	return ids
}

// answer asks the simulated model that the call is for.
func (s *Sim) answer(w http.ResponseWriter, r *http.Request, call *dialect.Call) {
	before, ok := s.parents.get(call.Previous)
	if call.Previous != "" && !ok {
		fail(w, call.API, &model.Error{Kind: model.ErrBadRequest, Status: http.StatusBadRequest,
			Message: fmt.Sprintf("Previous response with id '%s' not found.", call.Previous)})
		return
	}
	pace := s.o.Speed.begin()
	m, req, id, err := s.question(r, call, before)
	if err != nil {
		fail(w, call.API, &model.Error{Kind: model.ErrServer, Status: http.StatusInternalServerError, Message: "harnessbench: " + err.Error()})
		return
	}
	resp, err := m.Generate(r.Context(), req, nil)
	var bad *model.Error
	switch {
	case errors.As(err, &bad):
		s.fault(w, r, pace, call, id, bad)
	case err != nil:
		abort(w, leftText)
	case resp.Elapsed >= hangs:
		<-r.Context().Done()
		abort(w, "no answer")
	default:
		reply := dialect.Encode(call, id, resp)
		s.remember(call, before, id, reply)
		s.send(w, r, pace, reply, resp.Elapsed)
	}
}

// hangs is what a simulated model declares that never answers.
const hangs = 24 * time.Hour

// remember keeps an answer that a later request may name, before the client has
// it.
func (s *Sim) remember(call *dialect.Call, before *ancestor, id string, reply *dialect.Reply) {
	if call.API != dialect.Responses {
		return
	}
	h := http.Header{"Content-Type": {reply.Type}}
	said, bad := dialect.Parse(call.API, reply.Status, h.Get, body(reply))
	if bad != nil {
		return
	}
	n := messages(call.Parts)
	own := append(call.Parts[n:len(call.Parts):len(call.Parts)], model.NewMessagePart(model.Message{Role: model.Assistant, Items: said.Items}))
	s.parents.update(id, func(*ancestor) *ancestor { return &ancestor{before, own} })
}

// messages is the index of the first part that is no tool and no system prompt.
func messages(parts []*model.Part) int {
	n := 0
	for n < len(parts) && parts[n].Kind != model.KindMessage {
		n++
	}
	return n
}

// question makes the request that the loop would have made, and the id of its
// answer.
func (s *Sim) question(r *http.Request, call *dialect.Call, before *ancestor) (*sim.Model, *model.Request, string, error) {
	parts := inOrder(before, call.Parts)
	key := simKey{profile: s.o.Profile, seed: call.Meta.Seed}
	if p, ok := sim.Lookup(call.Model); ok && p.Name == call.Model {
		key.profile = p.Name
	}
	key.scenario = s.scenario(parts)
	m, err := s.model(key)
	if err != nil {
		return nil, nil, "", err
	}
	t := model.NewTranscript()
	turn := 1
	for _, p := range parts {
		t.Append(p)
		if p.Role == model.Assistant {
			turn++
		}
	}
	params := call.Params
	params.Model = key.profile
	req := &model.Request{Params: params, ParamsDigest: params.Digest(), Count: len(parts), Lane: "main", Turn: turn}
	req.Parts, req.Chains = t.View()
	if call.Meta.Known {
		meta := &call.Meta
		req.Purpose, req.Lane, req.Turn, req.Attempt, req.Occurrence = meta.Purpose, meta.Lane, meta.Turn, meta.Attempt, meta.Occurrence
	} else {
		n := s.asked.update(asking{key, hint(r.Header), req.Chain(), req.ParamsDigest}, func(n int) int { return n + 1 }) - 1
		req.Attempt, req.Occurrence = n, n
	}
	return m, req, idPrefix[call.API] + answerID(key, req), nil
}

// inOrder puts the parts of a call behind those that its parent response brings.
// Tools and system prompts are a request's own: they do not come from the parent,
// and they stand first.
func inOrder(before *ancestor, own []*model.Part) []*model.Part {
	if before == nil {
		return own
	}
	var chain []*ancestor
	for a := before; a != nil; a = a.before {
		chain = append(chain, a)
	}
	n := messages(own)
	out := append([]*model.Part(nil), own[:n]...)
	for i := len(chain) - 1; i >= 0; i-- {
		out = append(out, chain[i].parts...)
	}
	return append(out, own[n:]...)
}

// scenario looks for the task among what the user said: each message as a whole,
// then its texts one by one, since agents put notes of their own around the task,
// and before it examples of conversations, with answers. The first text that is
// known counts: what is said later does not change the scenario.
func (s *Sim) scenario(parts []*model.Part) string {
	if s.o.Find == nil {
		return ""
	}
	for _, p := range parts {
		if p.Role != model.User {
			continue
		}
		if name, ok := s.o.Find(model.TextOf(p.Message.Items)); ok {
			return name
		}
		for i := range p.Message.Items {
			if name, ok := s.o.Find(p.Message.Items[i].Text); ok && len(p.Message.Items) > 1 {
				return name
			}
		}
	}
	return ""
}

// model returns the model of a repetition.
func (s *Sim) model(key simKey) (*sim.Model, error) {
	if m, ok := s.models.get(key); ok {
		return m, nil
	}
	var m *sim.Model
	if key.scenario == "" {
		p, ok := sim.Lookup(key.profile)
		if !ok {
			return nil, fmt.Errorf("no simulated model %q", key.profile)
		}
		m = sim.New(p, sim.Options{Seed: key.seed})
	} else {
		var err error
		if m, err = s.o.New(key.scenario, key.profile, key.seed); err != nil {
			return nil, err
		}
	}
	return s.models.update(key, func(old *sim.Model) *sim.Model {
		if old != nil {
			return old // another request made it meanwhile
		}
		return m
	}), nil
}

// answerID names an answer by all that it depends on, so that equal runs get
// equal bytes.
func answerID(key simKey, req *model.Request) string {
	b := append([]byte("harnessbench/answer\x00"+key.scenario+"\x00"+key.profile+"\x00"+req.Lane+"\x00"+string(req.Purpose)+"\x00"), req.ParamsDigest[:]...)
	chain := req.Chain()
	b = append(b, chain[:]...)
	for _, n := range []uint64{key.seed, uint64(req.Turn), uint64(req.Attempt), uint64(req.Occurrence)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	sum := model.Sum(b)
	return hex.EncodeToString(sum[:12])
}

// idPrefix begins the ids of answers as each API's do.
var idPrefix = map[dialect.API]string{dialect.Chat: "chatcmpl-", dialect.Responses: "resp_", dialect.Messages: "msg_"}

// fault gives an injected error the look it has on a wire.
func (s *Sim) fault(w http.ResponseWriter, r *http.Request, pace pacer, call *dialect.Call, id string, e *model.Error) {
	if e.Elapsed >= hangs {
		<-r.Context().Done()
		abort(w, "no answer")
	}
	if pace.wait(r.Context(), e.Elapsed) != nil {
		abort(w, leftText)
	}
	sayAt(w, e.Elapsed)
	switch e.Kind {
	case model.ErrTransport:
		abort(w, "no answer")
	case model.ErrBrokenStream:
		s.breakOff(w, call, id)
	case model.ErrTimeout:
		if e.Status == 0 {
			timeout := *e
			timeout.Status = http.StatusRequestTimeout
			e = &timeout
		}
	}
	fail(w, call.API, e)
}

// breakOff begins an answer and ends the connection in the middle of it.
func (s *Sim) breakOff(w http.ResponseWriter, call *dialect.Call, id string) {
	reply := dialect.Encode(call, id, &model.Response{Items: []model.Item{{Type: model.Text, Text: brokenText}}, Finish: model.FinishStop, Model: s.o.Profile})
	head(w, reply)
	if reply.Frames == nil {
		_ = push(w, reply.Body[:len(reply.Body)/2])
	}
	for _, f := range reply.Frames[:len(reply.Frames)/2] {
		_ = push(w, f)
	}
	abort(w, "the answer broke off")
}

const brokenText = "This answer ends before it is complete."

// send writes an answer, spread over the time it takes.
func (s *Sim) send(w http.ResponseWriter, r *http.Request, pace pacer, reply *dialect.Reply, takes time.Duration) {
	frames := reply.Frames
	if frames == nil {
		frames = [][]byte{reply.Body}
	}
	for i, f := range frames {
		at := time.Duration(float64(takes) * float64(i+1) / float64(len(frames)))
		if pace.wait(r.Context(), at) != nil {
			abort(w, leftText)
		}
		if i == 0 {
			head(w, reply)
		}
		sayAt(w, at)
		if push(w, f) != nil {
			abort(w, leftText)
		}
	}
}
