package replayer_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/tool"
)

// hostile is a model that answers anything. What it answers is a function of
// (seed, request), so that a session that is resumed must come to the same end.
type hostile struct {
	id                       string
	seed                     uint64
	mood                     string
	errors, blank, late, odd int // one in so many answers; 0 = none
	real                     bool
}

func (m *hostile) ID() string { return m.id }

func (m *hostile) Generate(ctx context.Context, req *model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	chain := req.Chain()
	rnd := rand.New(rand.NewPCG(m.seed^binary.BigEndian.Uint64(chain[:]), uint64(req.Turn)<<32|uint64(req.Attempt)<<8|uint64(len(req.Purpose))))
	one := func(n int) bool { return n > 0 && rnd.IntN(n) == 0 }
	took := time.Duration(rnd.IntN(5000)) * time.Millisecond
	if one(m.late) {
		took = time.Hour
	}
	if m.real {
		t := time.NewTimer(took)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		took = 0
	}
	if one(m.errors) {
		return nil, randomError(rnd, took)
	}
	r := &model.Response{Finish: model.FinishStop, Elapsed: took,
		Usage: model.Usage{InputUncached: int64(req.Count) * 20, CacheRead: int64(rnd.IntN(50)), Output: int64(1 + rnd.IntN(60)), Unknown: rnd.IntN(200) == 0}}
	if one(m.blank) {
		r.Finish = []model.Finish{model.FinishLength, model.FinishLength, model.FinishStop, model.FinishCalls}[rnd.IntN(4)]
		r.Items = []model.Item{{Type: model.Text, Text: " \n"}, {Type: model.Reasoning, Text: "hm"}}[:rnd.IntN(3)]
		return r, nil
	}
	r.Items = m.items(rnd, req)
	if len(r.Calls()) > 0 {
		r.Finish = model.FinishCalls
	}
	if one(m.odd) {
		oddly(rnd, r)
	}
	if onDelta != nil {
		onDelta(model.Delta{Type: model.Text, Text: "."})
	}
	return r, nil
}

func randomError(rnd *rand.Rand, took time.Duration) *model.Error {
	kinds := []model.ErrorKind{model.ErrTransport, model.ErrServer, model.ErrRateLimit, model.ErrTimeout, model.ErrBrokenStream, model.ErrContextOverflow}
	if rnd.IntN(20) == 0 {
		kinds = []model.ErrorKind{model.ErrQuota, model.ErrAuth, model.ErrProtocol, model.ErrDeadline, model.ErrCancelled, model.ErrBadRequest, "new_kind"}
	}
	return &model.Error{Kind: kinds[rnd.IntN(len(kinds))], Status: []int{0, 400, 408, 429, 503, 529}[rnd.IntN(6)], RetryAfter: time.Duration(rnd.IntN(3)) * time.Minute,
		Message: []string{"", "no luck", "b\xff"}[rnd.IntN(3)], Elapsed: took, Usage: model.Usage{InputUncached: int64(rnd.IntN(10))}}
}

// oddly makes an answer one that contradicts itself.
func oddly(rnd *rand.Rand, r *model.Response) {
	r.Finish = []model.Finish{model.FinishStop, model.FinishCalls, model.FinishLength, "content_filter", ""}[rnd.IntN(5)]
	r.Items = append(r.Items, model.Item{Type: []model.ItemType{model.Reasoning, model.Plan, model.Question, model.Proposal, model.ProviderCall}[rnd.IntN(5)], Text: "hm"})
	if it := &r.Items[len(r.Items)-1]; it.Type == model.ProviderCall {
		it.Text, it.Evidence = "", `{"searched":true}`
	}
	rnd.Shuffle(len(r.Items), func(i, j int) { r.Items[i], r.Items[j] = r.Items[j], r.Items[i] })
	if rnd.IntN(3) == 0 {
		r.Model = "fake/other"
	}
}

// items is what the model says and asks for.
func (m *hostile) items(rnd *rand.Rand, req *model.Request) []model.Item {
	mood := m.mood
	if rnd.IntN(6) == 0 {
		mood = "mixed"
	}
	if mood == "quit" && rnd.IntN(3) > 0 {
		mood = "busy"
	}
	if req.Purpose != "" && rnd.IntN(4) > 0 {
		mood = "quit"
	}
	call := func(name, args string, a ...any) []model.Item {
		return []model.Item{{Type: model.CallItem, Call: model.ToolCall{ID: "x", Name: name, Args: fmt.Sprintf(args, a...)}}}
	}
	switch mood {
	case "loop":
		return call("same", "{}")
	case "abab":
		return call([]string{"same", "fails"}[req.Turn%2], "{}")
	case "poll":
		return call("poll", "{}")
	case "fail":
		return call("fails", `{"n":%d}`, rnd.IntN(2))
	case "wander":
		return call("fetch", `{"id":%d}`, rnd.IntN(4))
	case "big":
		if rnd.IntN(2) == 0 {
			return call("read_file", `{"path":"/workspace/.harness/spill/main-%d-0-fetch.txt","offset":%d}`, max(req.Turn-1, 1), rnd.IntN(3)*100)
		}
		return call("fetch", `{"id":%d}`, 4+rnd.IntN(2))
	case "busy":
		return append(call("put", `{"to":"put%d.txt"}`, rnd.IntN(3)), call("write_file", `{"path":"out.txt","content":"%d"}`, rnd.IntN(2))...)
	case "quit":
		return []model.Item{{Type: model.Text, Text: []string{"done", "I am done.", "b\xffd"}[rnd.IntN(3)]}}
	}
	var out []model.Item
	if rnd.IntN(4) == 0 {
		out = append(out, model.Item{Type: model.Text, Text: []string{"", "I look.", "done", "the key is " + someKey, strings.Repeat("ü", 3000)}[rnd.IntN(5)]})
	}
	n := rnd.IntN(6)
	if rnd.IntN(6) > 0 { // most answers do something, or a loop would soon end
		n = max(n, 1)
	}
	if rnd.IntN(40) == 0 {
		n = 20
	}
	for range n {
		out = append(out, randomCall(rnd))
	}
	return out
}

// randomCall is a call that may be well, of an unknown tool, or malformed; its id
// may be another call's.
func randomCall(rnd *rand.Rand) model.Item {
	list := []string{
		"read_file {\"path\":\"a.txt\"}", "read_file {\"path\":\"./sub/../big.log\"}", "read_file {\"path\":\"sealed/../../etc/passwd\"}", "read_file {\"path\":7}",
		"list_dir {\"path\":\".\"}", "list_dir {}", "grep {\"pattern\":\"b\"}", "grep {\"pattern\":\"(\"}", "grep {\"pattern\":\"é\",\"path\":\"sub\"}",
		"write_file {\"path\":\"out.txt\",\"content\":\"x\"}", "write_file {\"path\":\"sealed/c.txt\",\"content\":\"\\u00e9\\u0000\"}", "write_file {\"path\":\"\",\"content\":\"\"}",
		"write_file {\"path\":\"out.txt\",\"content\":\"" + someKey + "\"}", "read_file {\"path\":\"sub/b.txt\"}",
		"edit_file {\"path\":\"a.txt\",\"old\":\"a\",\"new\":\"x\"}", "edit_file {\"path\":\"gone\",\"old\":\"a\",\"new\":\"x\"}",
		"put {\"to\":\"sub/put.txt\"}", "put {\"to\":\"/etc/x\"}", "put {\"to\":\".harness/x\"}", "pay {}", "pay {\"a\":1,\"a\":2}", "poll {\"b\":2,\"a\":1}", "poll {\"a\":1, \"b\":2}",
		"same", "same {", "same []", "same nul\xff", "same ```json\n{}\n```", "same {\"a\":1,}", "same {\"deep\":" + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}",
		"fails {}", "fetch {\"id\":5}", "fetch {\"id\":5.0}", "fetch {\"id\":99}", "fetch {\"id\":-1}", "fetch {}", "fetsch {}", "rm\x00 {}", " {}", "READ_FILE {\"path\":\"a.txt\"}",
	}
	name, args, _ := strings.Cut(list[rnd.IntN(len(list))], " ")
	return model.Item{Type: model.CallItem, Call: model.ToolCall{ID: []string{"", "x", "x", "call_1", "\xff"}[rnd.IntN(5)], Name: name, Args: args}}
}

// hostileTools changes one in n results into what no tool should say. It stays a
// set that says what its tools do, as a resumption asks.
type hostileTools struct {
	*tool.Set
	n    int
	seed uint64
}

func (h hostileTools) Run(ctx context.Context, op *tool.Op) tool.Result {
	res := h.Set.Run(ctx, op)
	rnd := rand.New(rand.NewPCG(h.seed+uint64(op.Nth), uint64(op.Turn)<<16|uint64(op.Index)))
	if ctx.Err() != nil || rnd.IntN(h.n) > 0 {
		return res
	}
	res.Outcome = []event.Outcome{event.Success, event.ToolError, event.Timeout, event.UnknownOutcome, event.Cancelled}[rnd.IntN(5)]
	res.Text = []string{"", "seen", strings.Repeat("é", 200), "timed out after 5s", event.NotRun, `{"a":"` + strings.Repeat("x", 40000) + `"}`}[rnd.IntN(6)]
	if res.Outcome == event.Cancelled && res.Text == event.NotRun { // the loop's own words: in a broken-off session nothing tells the two apart
		res.Text = "cancelled"
	}
	res.Took = []time.Duration{0, -time.Second, time.Millisecond, 3 * time.Minute, 2 * time.Hour}[rnd.IntN(5)]
	if rnd.IntN(3) == 0 {
		code := rnd.IntN(3)
		res.Exit = &code
	}
	return res
}
