package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
	"github.com/harnessbench/harnessbench/recorder/wire/tape"
	"github.com/harnessbench/harnessbench/replayer"
)

// An agent that is recorded is replayed byte for byte, in every API, streamed and
// not, also where it chains answers by previous_response_id.
func TestRecordedAgentsReplayExactly(t *testing.T) {
	for _, api := range apis {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(api, stream), func(t *testing.T) {
				rec := record(t, NewSim(simulated(t, "sim/oracle")))
				said, live := talk(t, rec.url, api, deskTask, stream)
				tp := rec.end()
				if said == "" || len(tp.Exchanges) != 2 {
					t.Fatalf("%q, %d exchanges", said, len(tp.Exchanges))
				}
				for i, x := range tp.Exchanges {
					if x.Lane != "main" || x.Turn != i+1 || x.Attempt != 0 || x.Stream != stream {
						t.Errorf("exchange %d: lane %s, turn %d, attempt %d, stream %t", i, x.Lane, x.Turn, x.Attempt, x.Stream)
					}
				}
				at, h := replay(t, tp, ReplayOptions{})
				again, replayed := talk(t, at, api, deskTask, stream)
				if again != said {
					t.Errorf("%q, recorded %q", again, said)
				}
				for i := range replayed {
					if !bytes.Equal(replayed[i].body, live[i].body) || replayed[i].header.Get("Content-Type") != live[i].header.Get("Content-Type") {
						t.Errorf("answer %d is not as recorded", i)
					}
				}
				if r := h.Report(); r.Verdict != replayer.Exact || r.Served != 2 {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

// Recording the same agent on a simulated model twice gives the same file: times
// are those that the model declares.
func TestRecordingsOfSimulatedModelsAreEqual(t *testing.T) {
	var first []byte
	for range 2 {
		rec := record(t, NewSim(simulated(t, "sim/oracle")))
		for _, api := range apis {
			get(t, rec.url+"/v1/models")
			talk(t, rec.url, api, deskTask, true)
		}
		rec.end()
		b, err := os.ReadFile(rec.path)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(b, first) {
			t.Errorf("two recordings differ:\n%s\n%s", first, b)
		}
		first = b
	}
}

// Frames of a simulated model have the times that it declares, in order.
func TestDeclaredTimesAreRecorded(t *testing.T) {
	rec := record(t, NewSim(simulated(t, "sim/oracle")))
	talk(t, rec.url, apis[0], deskTask, true)
	for i, x := range rec.end().Exchanges {
		n := len(x.Frames)
		if n < 3 || x.Frames[0].At <= 0 || x.Frames[n-1].At < 400*time.Millisecond {
			t.Fatalf("exchange %d: %d frames, first at %s, last at %s", i, n, x.Frames[0].At, x.Frames[n-1].At)
		}
	}
}

// A client that has all of an answer may ask its next question before the answer's
// handler has returned; it is recorded as what comes after it.
func TestAnswersAreRecordedBeforeTheNextRequest(t *testing.T) {
	// On a connection of its own, the second request does not wait for the first.
	lower(t, &client, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	model := NewSim(simulated(t, "sim/oracle"))
	for _, stream := range []bool{false, true} {
		rec := record(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			model.ServeHTTP(w, r)
			time.Sleep(2 * settleFor) // longer than a request waits that can do without
		}))
		if said, _ := talk(t, rec.url, dialect.Responses, deskTask, stream); said == "" {
			t.Error("it does not end")
		}
		tp := rec.end()
		if x := tp.Exchanges[1]; x.Request == nil || x.Lane != "main" || x.Turn != 2 {
			t.Errorf("stream %t: the second request is recorded as %+v", stream, x)
		}
	}
}

// The headers by which agents name their sessions tell conversations apart.
func TestSessionHeadersNameLanes(t *testing.T) {
	for _, name := range hintHeaders {
		rec := record(t, NewSim(SimOptions{Profile: "sim/oracle"}))
		for _, session := range []string{"a", "b", "a"} {
			ask(t, rec.url+"/v1/chat/completions", chat("hi"), strings.ToLower(name), session)
		}
		var lanes []string
		for _, x := range rec.end().Exchanges {
			lanes = append(lanes, x.Lane)
		}
		if want := "[main lane-2 main]"; fmt.Sprint(lanes) != want {
			t.Errorf("%s: lanes %v, want %s", name, lanes, want)
		}
	}
}

// An edited prompt is found where it departs, and nothing is answered after it,
// not even what was recorded.
func TestAMissIsToldAndEndsTheReplay(t *testing.T) {
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			rec := record(t, NewSim(simulated(t, "sim/oracle")))
			talk(t, rec.url, api, deskTask, true)
			at, h := replay(t, rec.end(), ReplayOptions{})
			_, all := talk(t, at, api, "What do apples and plums cost?", true)
			a := all[0]
			if a.status != 400 || a.header.Get("X-Should-Retry") != "false" {
				t.Errorf("status %d, x-should-retry %q", a.status, a.header.Get("X-Should-Retry"))
			}
			for _, want := range []string{`"error"`, "DIVERGED", "turn 1", "pears", "plums", "/0"} {
				if !bytes.Contains(a.body, []byte(want)) {
					t.Errorf("the answer does not say %s:\n%s", want, a.body)
				}
			}
			if _, after := talk(t, at, api, deskTask, true); after[0].status != 400 || !bytes.Equal(after[0].body, a.body) {
				t.Errorf("after the miss: %d %s", after[0].status, after[0].body)
			}
			r := h.Report()
			if r.Verdict != replayer.Diverged || r.Divergence == nil || !strings.HasPrefix(r.Divergence.Pointer, "/") || r.Divergence.Turn != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// What a tool said is part of the request after it.
func TestADifferentToolResultIsFound(t *testing.T) {
	rec := record(t, NewSim(simulated(t, "sim/oracle")))
	first := chat(deskTask)
	second := func(result string) string {
		return `{"model":"m","messages":[{"role":"user","content":` + quote(deskTask) + `},{"role":"assistant","content":"I look both up.","tool_calls":[{"id":"c1","type":"function","function":{"name":"lookup","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":` + quote(result) + `}]}`
	}
	ask(t, rec.url+"/v1/chat/completions", first)
	ask(t, rec.url+"/v1/chat/completions", second("apples cost 12"))
	at, h := replay(t, rec.end(), ReplayOptions{})
	ask(t, at+"/v1/chat/completions", first)
	if a := ask(t, at+"/v1/chat/completions", second("apples cost 13")); a.status != 400 {
		t.Errorf("%d %s", a.status, a.body)
	}
	d := h.Report().Divergence
	if d == nil || d.Turn != 2 || d.Pointer != "/messages/2/content/0/text" || d.Recorded != "apples cost 12" || d.Actual != "apples cost 13" {
		t.Errorf("%+v", d)
	}
}

func TestReplaysThatEndOtherwise(t *testing.T) {
	rec := record(t, NewSim(SimOptions{Profile: "sim/oracle"}))
	path := "/v1/chat/completions"
	ask(t, rec.url+path, chat("a"))
	ask(t, rec.url+path, chat("b"))
	tp := rec.end()
	for _, tt := range []struct {
		verdict replayer.Verdict
		bodies  []string
		last    int // status of the last
	}{
		{replayer.Noop, nil, 0},
		{replayer.Unused, []string{chat("a")}, 200},
		{replayer.Exact, []string{chat("b"), chat("a")}, 200},
		{replayer.Exhausted, []string{chat("a"), chat("b"), chat("b")}, 400},
		{replayer.Diverged, []string{chat("a", `,"temperature":1`)}, 400},
		{replayer.Diverged, []string{chat("a"), "{"}, 400},
		{replayer.Diverged, []string{chat("a"), chat("b"), `{"model":"m"}`}, 400},
	} {
		at, h := replay(t, tp, ReplayOptions{})
		last := 0
		for _, b := range tt.bodies {
			last = ask(t, at+path, b).status
		}
		r := h.Report()
		if r.Verdict != tt.verdict || last != tt.last {
			t.Errorf("%q: %s (%s), last status %d; want %s, %d", tt.bodies, r.Verdict, r.Reason, last, tt.verdict, tt.last)
		}
	}
}

// A retry is served as it was recorded: first the 429, then the answer.
func TestRetriesAreReplayed(t *testing.T) {
	rec := record(t, NewSim(simulated(t, "sim/oracle", sim.Fault{Kind: sim.FaultRateLimit, Attempts: []int{1}, RetryAfter: 2 * time.Second})))
	path := "/v1/chat/completions"
	live := []answered{ask(t, rec.url+path, chat(deskTask)), ask(t, rec.url+path, chat(deskTask))}
	tp := rec.end()
	if live[0].status != 429 || live[1].status != 200 || tp.Exchanges[1].Attempt != 1 || tp.Exchanges[1].Turn != 1 {
		t.Fatalf("%d, %d; %+v", live[0].status, live[1].status, tp.Exchanges[1])
	}
	at, h := replay(t, tp, ReplayOptions{})
	for i := range live {
		a := ask(t, at+path, chat(deskTask))
		if a.status != live[i].status || !bytes.Equal(a.body, live[i].body) || a.header.Get("Retry-After") != live[i].header.Get("Retry-After") {
			t.Errorf("attempt %d: %d %s", i, a.status, a.body)
		}
	}
	if r := h.Report(); r.Verdict != replayer.Exact {
		t.Errorf("%+v", r)
	}
}

// Conversations side by side are told apart by header, else by their beginning,
// in whatever order their requests come.
func TestConcurrentLanes(t *testing.T) {
	const n = 9
	run := func(at string, session string) []string {
		said := make([]string, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var h []string
				if session != "" {
					h = []string{"X-Session-Id", fmt.Sprint(session, i)}
				}
				said[i], _ = talk(t, at, apis[i%3], deskTask, i%2 == 0, h...)
			})
		}
		wg.Wait()
		return said
	}
	for _, session := range []string{"", "id-"} {
		rec := record(t, NewSim(simulated(t, "sim/oracle")))
		live := run(rec.url, session)
		at, h := replay(t, rec.end(), ReplayOptions{})
		again := session
		if session != "" {
			again = "other-" // such ids are random in real agents
		}
		for i, s := range run(at, again) {
			if s != live[i] || s == "" {
				t.Errorf("conversation %d: %q, recorded %q", i, s, live[i])
			}
		}
		if r := h.Report(); r.Verdict != replayer.Exact || r.Served != 2*n {
			t.Errorf("session %q: %s %s, %d served", session, r.Verdict, r.Reason, r.Served)
		}
	}
}

// Auxiliary calls come in any order, as often as they like, and change no
// verdict.
func TestAuxiliaryCalls(t *testing.T) {
	rec := record(t, NewSim(SimOptions{Profile: "sim/oracle"}))
	models := get(t, rec.url+"/v1/models")
	count := ask(t, rec.url+"/v1/messages/count_tokens", chat("hi"))
	ask(t, rec.url+"/v1/chat/completions", chat("hi"))
	at, h := replay(t, rec.end(), ReplayOptions{})
	for range 2 {
		if a := ask(t, at+"/v1/messages/count_tokens", chat("hi")); a.status != 200 || !bytes.Equal(a.body, count.body) {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := get(t, at+"/v1/models"); a.status != 200 || !bytes.Equal(a.body, models.body) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if a := get(t, at+"/"); a.status != 200 {
		t.Errorf("nobody is there: %d %s", a.status, a.body)
	}
	if a := get(t, at+"/v1/models/other"); a.status != 404 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := ask(t, at+"/v1/embeddings", `{}`); a.status != 404 {
		t.Errorf("%d %s", a.status, a.body)
	}
	ask(t, at+"/v1/chat/completions", chat("hi"))
	if r := h.Report(); r.Verdict != replayer.Exact || r.Auxiliary != 4 {
		t.Errorf("%+v", r)
	}
}

// What cannot be made canonical is passed on, recorded and replayed all the same.
func TestUnreadableRequestsAreAuxiliary(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(400)
		fmt.Fprintf(w, "no: %q", b)
	}))
	defer upstream.Close()
	rec := record(t, proxy(t, upstream.URL))
	live := ask(t, rec.url+"/v1/chat/completions", `{"model":"m","model":"n"}`)
	if want := `no: "{\"model\":\"m\",\"model\":\"n\"}"`; string(live.body) != want {
		t.Errorf("%s, want %s", live.body, want)
	}
	tp := rec.end()
	if tp.Exchanges[0].Request != nil {
		t.Error("it was taken for a request")
	}
	at, _ := replay(t, tp, ReplayOptions{})
	if a := ask(t, at+"/v1/chat/completions", `{"model":"m","model":"n"}`); a.status != 400 || !bytes.Equal(a.body, live.body) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Declared normalisers make equal what differs in nothing else, and that is said.
func TestNormalisers(t *testing.T) {
	list, err := canon.Normalisers([]string{"uuid"}, canon.Env{})
	if err != nil {
		t.Fatal(err)
	}
	const recorded, now = "run 3f2b8c1e-0a1b-4c2d-8e3f-001122334455", "run aaaaaaaa-0a1b-4c2d-8e3f-001122334455"
	rec := recordWith(t, NewSim(SimOptions{Profile: "sim/oracle"}), RecordOptions{Normalisers: list})
	ask(t, rec.url+"/v1/chat/completions", chat(recorded))
	tp := rec.end()
	for _, tt := range []struct {
		prompt  string
		list    []canon.Normaliser
		verdict replayer.Verdict
	}{
		{recorded, list, replayer.Exact},
		{now, list, replayer.Normalised},
		{now, nil, replayer.Diverged},
		{"ran aaaaaaaa-0a1b-4c2d-8e3f-001122334455", list, replayer.Diverged},
	} {
		at, h := replay(t, tp, ReplayOptions{Normalisers: tt.list})
		ask(t, at+"/v1/chat/completions", chat(tt.prompt))
		if r := h.Report(); r.Verdict != tt.verdict {
			t.Errorf("%q: %s (%s), want %s", tt.prompt, r.Verdict, r.Reason, tt.verdict)
		}
	}
}

// Frames are played at their times, N times faster on request, or at once; still
// one by one.
func TestReplaySpeed(t *testing.T) {
	x := &tape.Exchange{Status: 200, Stream: true, Header: [][2]string{{"Content-Type", "text/event-stream"}}, Broken: "the answer broke off", Elapsed: 8 * time.Second,
		Frames: []tape.Frame{{At: time.Second, Data: []byte("a")}, {At: 1500 * time.Millisecond, Data: []byte("b")}, {At: 5 * time.Second, Data: []byte("c")}}}
	for speed, want := range map[Speed]string{0: "0s a 0s b 0s c 0s", 1: "1s a 1.5s b 5s c 8s", 2: "500ms a 750ms b 2.5s c 4s"} {
		synctest.Test(t, func(t *testing.T) {
			w := &timed{ResponseRecorder: httptest.NewRecorder(), began: time.Now()}
			func() {
				defer func() {
					if p := recover(); p != http.ErrAbortHandler {
						t.Errorf("the answer ends: %v", p)
					}
				}()
				play(w, httptest.NewRequest("POST", "/", nil), speed.begin(), x)
			}()
			if got := w.log + time.Since(w.began).String(); got != want {
				t.Errorf("speed %g: %s, want %s", float64(speed), got, want)
			}
		})
	}
}

// timed notes when each piece is flushed.
type timed struct {
	*httptest.ResponseRecorder
	began time.Time
	log   string
}

func (w *timed) Flush() {
	w.log += fmt.Sprintf("%s %s ", time.Since(w.began), w.Body)
	w.Body.Reset()
}

// What is larger than a recording holds is passed on whole.
func TestLargeAnswersArePassedOn(t *testing.T) {
	lower(t, &maxAnswer, 1<<10)
	text := strings.Repeat("x", 100<<10)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) }))
	defer upstream.Close()
	rec := record(t, proxy(t, upstream.URL))
	if a := ask(t, rec.url+"/v1/chat/completions", chat("hi")); string(a.body) != text {
		t.Errorf("%d bytes came, %d were sent", len(a.body), len(text))
	}
	if x := rec.end().Exchanges[0]; x.Broken == "" || len(x.AnswerBody()) > 1<<10 {
		t.Errorf("%d bytes recorded, %q", len(x.AnswerBody()), x.Broken)
	}
}
