package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Subject is a model under test.
type Subject struct {
	// New makes the model. Two calls give two models that know nothing of each
	// other.
	New func() model.Model
	// Deterministic says that answers depend on the request alone: on its parts,
	// params, purpose, occurrence and attempt.
	Deterministic bool
	// Streams says that the texts of an answer are also given to onDelta.
	Streams bool
	// Requests are asked; nil = Conversations of the model's id. Each call
	// returns fresh requests.
	Requests func() []*model.Request
}

// check is one rule of the contract; it returns what breaks it.
type check struct {
	name string
	run  func(Subject) error
	when func(Subject) bool // nil = always
}

func checks() []check {
	deterministic := func(s Subject) bool { return s.Deterministic }
	return []check{
		{"id", checkID, nil},
		{"complete", checkComplete, nil},
		{"request unchanged", checkUnchanged, nil},
		{"response stays", checkStays, nil},
		{"cancelled before", checkCancelled, nil},
		{"concurrent", checkConcurrent, nil},
		{"stream", checkStream, nil},
		{"equal requests", checkEqual, deterministic},
		{"counts nothing", checkCounts, deterministic},
	}
}

// Test runs the suite. Run it with the race detector.
func Test(t *testing.T, s Subject) {
	t.Helper()
	for _, c := range checks() {
		if c.when != nil && !c.when(s) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			if err := c.run(s); err != nil {
				t.Error(err)
			}
		})
	}
}

func (s Subject) requests() []*model.Request {
	if s.Requests != nil {
		return s.Requests()
	}
	return Conversations(s.New().ID())
}

// reply is all that a call gave.
type reply struct {
	Resp *model.Response
	Err  string
}

// ask asks once and checks that what came is whole.
func ask(ctx context.Context, m model.Model, req *model.Request, onDelta func(model.Delta)) (reply, error) {
	resp, err := m.Generate(ctx, req, onDelta)
	switch {
	case resp == nil && err == nil:
		return reply{}, errors.New("neither a response nor an error")
	case resp != nil && err != nil:
		return reply{}, fmt.Errorf("a response and an error: %w", err)
	case err != nil:
		if bad := checkError(ctx, err); bad != nil {
			return reply{}, bad
		}
		return reply{Err: err.Error()}, nil
	}
	return reply{Resp: resp}, checkResponse(resp)
}

// checkError takes a *model.Error or the context's own error.
func checkError(ctx context.Context, err error) error {
	var me *model.Error
	switch {
	case errors.As(err, &me):
		if me == nil {
			return errors.New("a nil *model.Error as an error")
		}
		if me.Kind == "" {
			return fmt.Errorf("an error without a kind: %w", err)
		}
		if me.RetryAfter < 0 || me.Elapsed < 0 {
			return fmt.Errorf("negative times: %+v", *me)
		}
		return checkUsage(me.Usage)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil
	}
	return fmt.Errorf("neither a *model.Error nor the context's error: %w", err)
}

func checkResponse(r *model.Response) error {
	if r.Elapsed < 0 {
		return fmt.Errorf("a negative duration: %s", r.Elapsed)
	}
	for i := range r.Items {
		it := &r.Items[i]
		switch it.Type {
		case model.Text, model.Reasoning, model.CallItem, model.Plan, model.Question, model.Proposal:
		case model.ProviderCall:
			if !json.Valid([]byte(it.Evidence)) {
				return fmt.Errorf("item %d: the evidence is no JSON: %q", i, it.Evidence)
			}
		default:
			return fmt.Errorf("item %d: unknown type %q", i, it.Type)
		}
		for _, s := range []string{it.Text, it.Call.ID, it.Call.Name, it.Call.Args, it.Evidence} {
			if !utf8.ValidString(s) {
				return fmt.Errorf("item %d: a text that is no UTF-8: %q", i, s)
			}
		}
	}
	return checkUsage(r.Usage)
}

func checkUsage(u model.Usage) error {
	if min(u.InputUncached, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning) < 0 || u.Reasoning > u.Output {
		return fmt.Errorf("usage that cannot be: %+v", u)
	}
	return nil
}

func checkID(s Subject) error {
	id := s.New().ID()
	provider, name, ok := strings.Cut(id, "/")
	if !ok || provider == "" || name == "" || !utf8.ValidString(id) {
		return fmt.Errorf("id %q is not of the form provider/name", id)
	}
	if again := s.New().ID(); again != id {
		return fmt.Errorf("the id changes: %q, %q", id, again)
	}
	return nil
}

func checkComplete(s Subject) error {
	m := s.New()
	for i, req := range s.requests() {
		if _, err := ask(context.Background(), m, req, nil); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	return nil
}

// checkUnchanged compares requests after the call with fresh ones.
func checkUnchanged(s Subject) error {
	m, fresh := s.New(), s.requests()
	for i, req := range s.requests() {
		if _, err := ask(context.Background(), m, req, nil); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if diff := cmp.Diff(fresh[i], req, cmp.Comparer(bytes.Equal), cmp.Comparer(sameDigest)); diff != "" {
			return fmt.Errorf("request %d was changed (-before +after):\n%s", i, diff)
		}
	}
	return nil
}

func sameDigest(a, b model.Digest) bool { return a == b }

// checkStays looks at answers again after later calls.
func checkStays(s Subject) error {
	m := s.New()
	var got []*model.Response
	var were []string
	for i, req := range s.requests() {
		r, err := ask(context.Background(), m, req, nil)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		got, were = append(got, r.Resp), append(were, dump(r))
	}
	for i, r := range got {
		if r != nil && dump(reply{Resp: r}) != were[i] {
			return fmt.Errorf("answer %d was changed after it was given", i)
		}
	}
	return nil
}

func dump(r reply) string {
	if r.Resp == nil {
		return r.Err
	}
	return fmt.Sprintf("%+v", *r.Resp)
}

// checkCancelled asks with a context that has ended: an error, and soon.
func checkCancelled(s Subject) error {
	m := s.New()
	for i, req := range s.requests() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		done := make(chan error, 1)
		go func() {
			resp, err := m.Generate(ctx, req, nil)
			var me *model.Error
			switch {
			case err == nil || resp != nil:
				err = errors.New("an answer after the context ended")
			case errors.Is(err, context.Canceled), errors.As(err, &me) && me.Kind == model.ErrCancelled:
				err = nil
			default:
				err = fmt.Errorf("neither the context's error nor kind cancelled: %w", err)
			}
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("request %d: %w", i, err)
			}
		case <-time.After(10 * time.Second):
			return fmt.Errorf("request %d: still at it 10 s after the context ended", i)
		}
	}
	return nil
}

// checkConcurrent asks from several goroutines at once. Without the race
// detector it sees only what changes answers.
func checkConcurrent(s Subject) error {
	m := s.New()
	want, err := serially(s, s.New())
	if err != nil {
		return err
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for g := range errs {
		wg.Go(func() {
			for i, req := range s.requests() {
				r, err := ask(context.Background(), m, req, nil)
				if err == nil && s.Deterministic && dump(r) != dump(want[i]) {
					err = fmt.Errorf("another answer beside others:\n%s\n%s", dump(want[i]), dump(r))
				}
				if err != nil {
					errs[g] = fmt.Errorf("request %d: %w", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func serially(s Subject, m model.Model) ([]reply, error) {
	var out []reply
	for i, req := range s.requests() {
		r, err := ask(context.Background(), m, req, nil)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// checkStream joins the pieces of each item and compares them with the answer.
func checkStream(s Subject) error {
	m := s.New()
	for i, req := range s.requests() {
		texts, last, returned := map[int]string{}, 0, false
		var wrong error
		r, err := ask(context.Background(), m, req, func(d model.Delta) {
			if d.Index < last || returned {
				wrong = fmt.Errorf("a piece of item %d after item %d, or after the answer", d.Index, last)
			}
			last = d.Index
			texts[d.Index] += d.Text
		})
		returned = true
		if err == nil {
			err = wrong
		}
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if r.Resp == nil {
			continue
		}
		for index, text := range texts {
			if index < 0 || index >= len(r.Resp.Items) || (r.Resp.Items[index].Type == model.Text && r.Resp.Items[index].Text != text) {
				return fmt.Errorf("request %d: the pieces of item %d are %q, which is not the answer's", i, index, text)
			}
		}
		for index, it := range r.Resp.Items {
			if s.Streams && it.Type == model.Text && it.Text != "" && texts[index] == "" {
				return fmt.Errorf("request %d: item %d was not streamed", i, index)
			}
		}
	}
	return nil
}

// checkEqual asks two models the same, with requests that share no memory, with
// and without a listener.
func checkEqual(s Subject) error {
	want, err := serially(s, s.New())
	if err != nil {
		return err
	}
	m := s.New()
	for i, req := range s.requests() {
		r, err := ask(context.Background(), m, req, func(model.Delta) {})
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if dump(r) != dump(want[i]) {
			return fmt.Errorf("request %d: equal requests, different answers:\n%s\n%s", i, dump(want[i]), dump(r))
		}
	}
	return nil
}

// checkCounts asks in another order and everything twice: how often and in which
// order a model was asked must not show, or a served prefix of a replay would
// change what comes after it.
func checkCounts(s Subject) error {
	want, err := serially(s, s.New())
	if err != nil {
		return err
	}
	m, reqs := s.New(), s.requests()
	for range 2 {
		for i := len(reqs) - 1; i >= 0; i-- {
			r, err := ask(context.Background(), m, reqs[i], nil)
			if err != nil {
				return fmt.Errorf("request %d: %w", i, err)
			}
			if dump(r) != dump(want[i]) {
				return fmt.Errorf("request %d: the answer depends on what was asked before:\n%s\n%s", i, dump(want[i]), dump(r))
			}
		}
	}
	return nil
}
