package wire

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

// parsed is an answer in the vocabulary of package model.
func parsed(t testing.TB, api dialect.API, a answered) *model.Response {
	t.Helper()
	if a.err != nil {
		t.Fatal(a.err)
	}
	r, bad := dialect.Parse(api, a.status, a.header.Get, a.body)
	if bad != nil {
		t.Fatalf("status %d: %v\n%s", a.status, bad, a.body)
	}
	return r
}

// talk is an agent in one of the APIs: it looks up what it is asked to and ends
// with the model's last words. It returns all that it was sent.
func talk(t testing.TB, at string, api dialect.API, prompt string, stream bool, headers ...string) (said string, all []answered) {
	t.Helper()
	items, path, previous := "", "", ""
	for turn := 0; ; turn++ {
		if turn == 10 {
			t.Fatal("it does not end")
		}
		var body string
		switch api {
		case dialect.Chat:
			path = "/v1/chat/completions"
			body = `{"model":"m","tools":[{"type":"function","function":{"name":"lookup","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":` + quote(prompt) + `}` + items + `]`
		case dialect.Messages:
			path = "/v1/messages"
			body = `{"model":"m","max_tokens":1000,"tools":[{"name":"lookup","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":` + quote(prompt) + `}` + items + `]`
		case dialect.Responses:
			path = "/v1/responses"
			body = `{"model":"m","tools":[{"type":"function","name":"lookup","parameters":{"type":"object"}}],"input":[` + strings.TrimPrefix(items, ",") + `]`
			if previous == "" {
				body = `{"model":"m","tools":[{"type":"function","name":"lookup","parameters":{"type":"object"}}],"input":` + quote(prompt)
			} else {
				body += `,"previous_response_id":` + quote(previous)
			}
		}
		body += fmt.Sprintf(`,"stream":%t}`, stream)
		a := ask(t, at+path, body, headers...)
		all = append(all, a)
		if a.status != 200 || a.err != nil {
			return "", all
		}
		r := parsed(t, api, a)
		calls := r.Calls()
		if len(calls) == 0 {
			return model.TextOf(r.Items), all
		}
		switch api {
		case dialect.Chat:
			list, results := "", ""
			for _, c := range calls {
				list += `,{"id":` + quote(c.ID) + `,"type":"function","function":{"name":"lookup","arguments":` + quote(c.Args) + `}}`
				results += `,{"role":"tool","tool_call_id":` + quote(c.ID) + `,"content":` + quote(price(c.Args)) + `}`
			}
			items += `,{"role":"assistant","content":` + quote(model.TextOf(r.Items)) + `,"tool_calls":[` + list[1:] + `]}` + results
		case dialect.Messages:
			list, results := "", ""
			for _, c := range calls {
				list += `,{"type":"tool_use","id":` + quote(c.ID) + `,"name":"lookup","input":` + c.Args + `}`
				results += `,{"type":"tool_result","tool_use_id":` + quote(c.ID) + `,"content":` + quote(price(c.Args)) + `}`
			}
			items += `,{"role":"assistant","content":[{"type":"text","text":` + quote(model.TextOf(r.Items)) + `}` + list + `]},{"role":"user","content":[` + results[1:] + `]}`
		case dialect.Responses:
			items, previous = "", answerOf(a.body)
			for _, c := range calls {
				items += `,{"type":"function_call_output","call_id":` + quote(c.ID) + `,"output":` + quote(price(c.Args)) + `}`
			}
		}
	}
}

// answerOf finds the id of an answer of /v1/responses.
func answerOf(body []byte) string {
	_, rest, _ := bytes.Cut(body, []byte(`"id":"resp_`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return "resp_" + string(id)
}

func price(args string) string {
	if strings.Contains(args, "apples") {
		return "apples cost 12"
	}
	return "pears cost 7"
}

var apis = []dialect.API{dialect.Chat, dialect.Responses, dialect.Messages}

// An agent in any of the APIs gets a scenario's model, and equal runs on two
// servers get equal bytes.
func TestSimulatedModelSolvesAScenario(t *testing.T) {
	for _, api := range apis {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(api, stream), func(t *testing.T) {
				var first []answered
				for range 2 {
					said, all := talk(t, endpoint(t, NewSim(simulated(t, "sim/oracle"))), api, deskTask, stream)
					if said != "Apples 12, pears 7." || len(all) != 2 {
						t.Fatalf("%q after %d answers\n%s", said, len(all), all[len(all)-1].body)
					}
					if first == nil {
						first = all
						continue
					}
					for i := range all {
						if !bytes.Equal(all[i].body, first[i].body) {
							t.Errorf("answer %d differs between equal runs:\n%s\n%s", i, first[i].body, all[i].body)
						}
					}
				}
			})
		}
	}
}

// Answers and usage over the wire are those of the model in process.
func TestSimulatedAnswersAreThoseInProcess(t *testing.T) {
	o := simulated(t, "sim/strong")
	at := endpoint(t, NewSim(o))
	const seed, tool = 99, `{"properties":{"what":{"type":"string"}},"type":"object"}`
	m, err := o.New("desk", "sim/strong", seed)
	if err != nil {
		t.Fatal(err)
	}
	tr := model.NewTranscript()
	tr.Append(model.NewToolPart(model.ToolSpec{Name: "lookup", Version: 3, Description: "Looks up.", Schema: tool}))
	tr.Append(model.NewTextPart(model.System, "Be brief."))
	tr.Append(model.NewTextPart(model.User, deskTask))
	params := model.Params{Model: "sim/strong", MaxTokens: 500}
	req := &model.Request{Params: params, ParamsDigest: params.Digest(), Lane: "main", Turn: 1}
	req.Parts, req.Chains = tr.View()
	want, err := m.Generate(context.Background(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":"sim/strong","max_tokens":500,"tools":[{"type":"function","function":{"name":"lookup","description":"Looks up.","parameters":` + tool + `}}],
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":` + quote(deskTask) + `}],
		"metadata":{"harnessbench_seed":"99","harnessbench_lane":"main","harnessbench_turn":"1","harnessbench_attempt":"0","harnessbench_occurrence":"0","harnessbench_tools":"0:3"}}`
	got := parsed(t, dialect.Chat, ask(t, at+"/v1/chat/completions", body))
	if got.Usage != want.Usage || model.TextOf(got.Items) != model.TextOf(want.Items) || len(got.Calls()) != len(want.Calls()) || got.Finish != want.Finish {
		t.Errorf("over the wire %+v\nin process    %+v", got, want)
	}
}

func TestRequestsChooseTheirModel(t *testing.T) {
	at := endpoint(t, NewSim(SimOptions{Profile: "sim/noop"}))
	for name, want := range map[string]string{"gpt-5": "Done.", "sim/noop": "Done.", "weak": "Done.", "openai/sim/weak": "Done.", "sim/weak": "This model has no script for the task and stops here."} {
		a := ask(t, at+"/v1/chat/completions", strings.Replace(chat("hi"), `"m"`, quote(name), 1))
		if got := model.TextOf(parsed(t, dialect.Chat, a).Items); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestTasksAreFound(t *testing.T) {
	at := endpoint(t, NewSim(simulated(t, "sim/oracle")))
	for name, messages := range map[string]string{
		"plain":          `{"role":"user","content":` + quote(deskTask) + `}`,
		"second text":    `{"role":"user","content":[{"type":"text","text":"Today is Monday."},{"type":"text","text":` + quote(deskTask) + `}]}`,
		"after examples": `{"role":"user","content":"hi"},{"role":"assistant","content":"yes?"},{"role":"user","content":` + quote(deskTask) + `}`,
		"later message":  `{"role":"system","content":"x"},{"role":"user","content":"Context."},{"role":"user","content":` + quote(deskTask) + `}`,
	} {
		a := ask(t, at+"/v1/chat/completions", `{"model":"m","messages":[`+messages+`]}`)
		if n := len(parsed(t, dialect.Chat, a).Calls()); n != 2 {
			t.Errorf("%s: %d calls, want the desk's 2", name, n)
		}
	}
}

func TestListings(t *testing.T) {
	at := endpoint(t, NewSim(SimOptions{Profile: "sim/weak"}))
	for _, tt := range []struct {
		path, version string
		status        int
		has           string
	}{
		{"/v1/models", "", 200, `"sim/trap-stuck"`},
		{"/v1/models", "2023-06-01", 200, `"display_name"`},
		{"/models/", "", 200, `"sim/weak"`},
		{"/v1/models/sim/weak", "", 200, `"sim/weak"`},
		{"/v1/models/gpt-5", "", 404, "no simulated model"},
		{"/", "", 200, "simulated"},
		{"/v1/files", "", 404, "/v1/chat/completions"},
		{"/v1/files", "2023-06-01", 404, "not_found_error"},
	} {
		req, _ := http.NewRequest("GET", at+tt.path, nil)
		if tt.version != "" {
			req.Header.Set("Anthropic-Version", tt.version)
		}
		if a := do(req); a.status != tt.status || !bytes.Contains(a.body, []byte(tt.has)) {
			t.Errorf("%s %s: %d %s", tt.path, tt.version, a.status, a.body)
		}
	}
	if a := ask(t, at+"/v1/messages/count_tokens", chat("hi there")); a.status != 200 || !bytes.Contains(a.body, []byte(`"input_tokens"`)) {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, bad := range []string{"", "{", `{"model":1}`, `{"messages":[]}`} {
		if a := ask(t, at+"/v1/messages", bad); a.status != 400 || !bytes.Contains(a.body, []byte("invalid_request_error")) {
			t.Errorf("%q: %d %s", bad, a.status, a.body)
		}
	}
}

func TestUnknownParentResponse(t *testing.T) {
	at := endpoint(t, NewSim(SimOptions{Profile: "sim/weak"}))
	a := ask(t, at+"/v1/responses", `{"model":"m","input":"hi","previous_response_id":"resp_none"}`)
	if a.status != 400 || !bytes.Contains(a.body, []byte("resp_none")) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Each fault looks on the wire as clients know it.
func TestFaultsOnTheWire(t *testing.T) {
	for _, tt := range []struct {
		kind    sim.FaultKind
		status  int // 0 = the connection breaks before an answer
		openai  string
		claude  string
		retried string // Retry-After
		broken  bool   // in the middle
	}{
		{sim.FaultTransport, 0, "", "", "", false},
		{sim.FaultBrokenStream, 200, "", "", "", true},
		{sim.FaultTimeout, 408, "timeout", "timeout_error", "7", false},
		{sim.FaultRateLimit, 429, "rate_limit_exceeded", "rate_limit_error", "7", false},
		{sim.FaultQuota, 429, "insufficient_quota", "error", "7", false},
		{sim.FaultServer, 503, "server_error", "api_error", "7", false},
		{sim.FaultAuth, 401, "invalid_api_key", "authentication_error", "7", false},
		{sim.FaultBadRequest, 400, "invalid_request_error", "invalid_request_error", "7", false},
		{sim.FaultSlow, 200, "", "", "", false},
	} {
		f := sim.Fault{Kind: tt.kind, RetryAfter: 7 * time.Second}
		for _, api := range apis {
			for _, stream := range []bool{false, true} {
				_, all := talk(t, endpoint(t, NewSim(simulated(t, "sim/oracle", f))), api, deskTask, stream)
				a := all[0]
				word := tt.openai
				if api == dialect.Messages {
					word = tt.claude
				}
				if a.status != tt.status || (a.err != nil) != (tt.status == 0 || tt.broken) || !bytes.Contains(a.body, []byte(word)) {
					t.Errorf("%s over %s, stream %t: %d %v\n%s", tt.kind, api, stream, a.status, a.err, a.body)
				}
				if got := a.header.Get("Retry-After"); got != tt.retried {
					t.Errorf("%s over %s: Retry-After %q, want %q", tt.kind, api, got, tt.retried)
				}
				if tt.broken && len(a.body) == 0 {
					t.Errorf("%s over %s: nothing came before the break", tt.kind, api)
				}
			}
		}
	}
}

// A hang is silence until the client leaves.
func TestHang(t *testing.T) {
	at := endpoint(t, NewSim(simulated(t, "sim/oracle", sim.Fault{Kind: sim.FaultHang})))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "POST", at+"/v1/chat/completions", strings.NewReader(chat(deskTask)))
	if a := do(req); a.err == nil || a.status != 0 {
		t.Errorf("%d %q", a.status, a.body)
	}
}

// Equal requests are told apart by how often they came, so that a retry meets
// other luck than the first try; what the client says itself counts more.
func TestAttemptsAreCounted(t *testing.T) {
	at := endpoint(t, NewSim(simulated(t, "sim/oracle", sim.Fault{Kind: sim.FaultRateLimit, Attempts: []int{1, 2}})))
	var got []int
	for range 4 {
		got = append(got, ask(t, at+"/v1/chat/completions", chat(deskTask)).status)
	}
	got = append(got, ask(t, at+"/v1/chat/completions", chat(deskTask, `,"metadata":{"harnessbench_seed":"1","harnessbench_attempt":"1"}`)).status)
	if want := "[429 429 200 200 429]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// Declared times pass as fast as is asked for.
func TestSpeedOfSimulatedModels(t *testing.T) {
	for speed, want := range map[Speed]time.Duration{0: 0, 1: 0, 4: 0} {
		synctest.Test(t, func(t *testing.T) {
			o := simulated(t, "sim/oracle")
			m, _ := o.New("desk", "sim/oracle", 1)
			req := &model.Request{Params: model.Params{Model: "sim/oracle"}, Lane: "main", Turn: 1}
			tr := model.NewTranscript()
			tr.Append(model.NewTextPart(model.User, deskTask))
			req.Parts, req.Chains = tr.View()
			resp, err := m.Generate(context.Background(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			if speed > 0 {
				want = time.Duration(float64(resp.Elapsed) / float64(speed))
			}
			o.Speed = speed
			began := time.Now()
			NewSim(o).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(chat(deskTask, `,"stream":true`))))
			if got := time.Since(began); got != want {
				t.Errorf("speed %g: %s, want %s", float64(speed), got, want)
			}
		})
	}
}

// Many conversations at once get the answers that each gets alone.
func TestConcurrentConversations(t *testing.T) {
	at := endpoint(t, NewSim(simulated(t, "sim/oracle")))
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if said, _ := talk(t, at, apis[i%3], deskTask, i%2 == 0, "X-Session-Id", fmt.Sprint(i)); said != "Apples 12, pears 7." {
				t.Errorf("%q", said)
			}
		})
	}
	wg.Wait()
}
