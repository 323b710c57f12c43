package ablations_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations"
	"github.com/harnessbench/harnessbench/ablations/design"
	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/ablations/trial"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/replayer"
	"github.com/harnessbench/harnessbench/results"
	"github.com/harnessbench/harnessbench/results/parquet"
)

// fakes are models of a made-up provider: they take real time, and fail where
// fail says so.
type fakes struct {
	takes time.Duration
	fail  func(id string, req *model.Request) error
	calls atomic.Int64
	asked func(req *model.Request) // may be nil

	mu    sync.Mutex
	lucks map[string]map[uint64]bool // by id
}

func (f *fakes) provide(id string, luck uint64) (model.Model, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lucks == nil {
		f.lucks = map[string]map[uint64]bool{}
	}
	if f.lucks[id] == nil {
		f.lucks[id] = map[uint64]bool{}
	}
	f.lucks[id][luck] = true
	return &fake{f, id}, nil
}

type fake struct {
	*fakes
	id string
}

func (f *fake) ID() string { return f.id }

// Generate fetches five pages, writes the last one down and says so.
func (f *fake) Generate(ctx context.Context, req *model.Request, _ func(model.Delta)) (*model.Response, error) {
	f.calls.Add(1)
	if f.asked != nil {
		f.asked(req)
	}
	t := time.NewTimer(f.takes)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.fail != nil {
		if err := f.fail(f.id, req); err != nil {
			return nil, err
		}
	}
	said := 0
	for _, p := range req.Parts {
		if p.Kind == model.KindMessage && p.Role == model.Assistant {
			said++
		}
	}
	resp := &model.Response{Finish: model.FinishCalls, Model: f.id, Elapsed: time.Hour, // nobody believes it
		Usage: model.Usage{InputUncached: int64(100 * len(req.Parts)), Output: 10}}
	call := func(name, args string) {
		resp.Items = []model.Item{{Type: model.CallItem, Call: model.ToolCall{Name: name, Args: args}}}
	}
	switch {
	case said < 5:
		call("fetch", "{}")
	case said == 5:
		call("write_file", `{"path":"/workspace/last.txt","content":"page 5"}`)
	default:
		resp.Finish, resp.Items = model.FinishStop, []model.Item{{Type: model.Text, Text: "done"}}
	}
	return resp, nil
}

// pages is the scenario that the fakes solve, and a models file that knows them.
var pages = map[string]string{
	"pages/scenario.yaml": `schema: harnessbench/scenario/v1
id: pages
summary: fetch five pages
limits: {turns: 12, tool_calls: 20, context_window: 9000, max_tokens: 500}
tools:
- write_file
- {name: fetch, kind: mock, description: Fetches a page., takes: 3s, responses: [{text: page 1}, {text: page 2}, {text: page 3}, {text: page 4}, {text: page 5}]}
graders: [{type: file_equals, path: last.txt, want: page 5}]
`,
	"pages/instruction.md": "Fetch all pages and write the last one down.",
}

const modelsFile = `schema: harnessbench/models/v1
date: 2026-01-01
source: made up
providers:
- {id: fake, base_url: "http://127.0.0.1:1", any_model: true}
- {id: other, base_url: "http://127.0.0.1:2", any_model: true}
models:
- {id: fake/a, context_window: 8000, params: {max_tokens: 400, temperature: 0.5, seed: true}, prices: {input: 1, cache_read: 0.1, cache_write: 1, output: 4}}
`

const pagesArms = `arms:
- {name: default, guards: {retry: {base: 1ms, cap: 2ms}}}
- {name: none, profile: none}
`

// planReal makes a plan of suite text (without schema, name and scenarios) whose
// models are looked up in modelsFile.
func planReal(t *testing.T, dir, yaml string) *design.Plan {
	t.Helper()
	writeAll(t, dir, pages)
	writeAll(t, dir, map[string]string{"suite.yaml": "schema: harnessbench/suite/v1\nname: real\nscenarios: [./pages]\n" + yaml})
	suite, list, err := design.OpenSuite(filepath.Join(dir, "suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := models.Parse("models.yaml", []byte(modelsFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := suite.Use(f); err != nil {
		t.Fatal(err)
	}
	plan, err := design.NewPlan(suite, list)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func rowsOf(t *testing.T, dir string) []results.Trial {
	t.Helper()
	c, err := results.ReadJournalFile(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	return c.Trials()
}

func runDir(t *testing.T, dir string) string {
	t.Helper()
	out := filepath.Join(dir, "run")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	return out
}

// replayAll replays a run's sessions offline.
func replayAll(t *testing.T, dir string, rows []results.Trial) {
	t.Helper()
	for i := range rows {
		path := filepath.Join(dir, ablations.SessionsDir, rows[i].Session)
		rep, err := replayer.File(context.Background(), path, replayer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rep.Verdict != replayer.Exact {
			t.Errorf("%s: %s %s %+v", rows[i].Session, rep.Verdict, rep.Reason, rep.Divergence)
		}
	}
}

// faulty fails some calls in ways that a retry mends.
func faulty(_ string, req *model.Request) error {
	if req.Attempt > 0 {
		return nil
	}
	switch req.Turn {
	case 2:
		return &model.Error{Kind: model.ErrTransport, Message: "connection reset", Elapsed: time.Hour}
	case 3:
		return &model.Error{Kind: model.ErrRateLimit, Status: 429, RetryAfter: 4 * time.Millisecond, Message: "slow down"}
	case 4:
		return &model.Error{Kind: model.ErrBrokenStream, Message: "cut", Usage: model.Usage{InputUncached: 7}}
	case 5:
		if req.Params.Model == "fake/b" {
			return &model.Error{Kind: model.ErrBrokenStream, Message: "cut before the usage", Usage: model.Usage{Unknown: true}}
		}
	}
	return nil
}

// A trial on a model that is not simulated runs in real time, is recorded with
// what it really took, and replays exactly; what the models file says reaches its
// session and its row.
func TestRealModels(t *testing.T) {
	dir := t.TempDir()
	plan := planReal(t, dir, "models: [fake/a, fake/b, sim/oracle]\nrepetitions: 2\n"+pagesArms)
	f := &fakes{takes: 2 * time.Millisecond, fail: faulty}
	out := runDir(t, dir)
	began := time.Now()
	if _, err := ablations.Run(t.Context(), plan, ablations.RunOptions{Dir: out, Provider: f.provide}); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(began).Microseconds()
	rows := rowsOf(t, out)
	if len(rows) != 12 {
		t.Fatalf("%d rows", len(rows))
	}
	for i := range rows {
		r := &rows[i]
		if r.Simulated {
			if r.StartedAt != nil || r.HarnessUS != nil {
				t.Errorf("%s: real times in the row of a simulated model", r.Key())
			}
			continue
		}
		if r.StartedAt == nil || r.StartedAt.Before(began.Add(-time.Second)) || r.EndedAt.Before(*r.StartedAt) || r.HarnessUS == nil {
			t.Errorf("%s: began %v, ended %v, harness %v", r.Key(), r.StartedAt, r.EndedAt, r.HarnessUS)
		}
		// An answer that another arm waited for is charged with the time that it took
		// there, which may be more than this trial lasted.
		if wall := r.EndedAt.Sub(*r.StartedAt).Microseconds(); *r.ModelUS > whole || *r.HarnessUS > wall || *r.ModelUS < 2000 {
			t.Errorf("%s: %d us in models, %d in the harness, %d passed", r.Key(), *r.ModelUS, *r.HarnessUS, wall)
		}
		if priced := r.Model == "fake/a"; priced != (r.CostUSD != nil) {
			t.Errorf("%s: cost %v", r.Key(), r.CostUSD)
		}
		switch r.Arm {
		case "default":
			if r.Verdict != results.Pass || r.ModelCalls != map[string]int{"fake/a": 10, "fake/b": 11}[r.Model] || *r.ToolUS < 15_000_000 || *r.ToolUS > 15_500_000 {
				t.Errorf("%s: %s, %d calls, %d us in tools", r.Key(), r.Verdict, r.ModelCalls, *r.ToolUS)
			}
		case "none": // nothing retries
			if r.Verdict != results.Fail || r.Outcome != "model_error" || r.Errored {
				t.Errorf("%s: %s, %s, errored %v", r.Key(), r.Verdict, r.Outcome, r.Errored)
			}
		}
	}
	replayAll(t, out, rows)
	if n := len(f.lucks["fake/a"]); n != 2 {
		t.Errorf("%d lucks of two repetitions under shared-prefix", n)
	}
	checkHeader(t, filepath.Join(out, ablations.SessionsDir, "pages.fake_a.default.0.session.jsonl"))
	checkCalls(t, out, rows)
}

// checkHeader looks for what the models file says in a session's header.
func checkHeader(t *testing.T, path string) {
	t.Helper()
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	h, err := l.Header()
	if err != nil {
		t.Fatal(err)
	}
	luck := trial.RepetitionSeed(1, "pages", 0)
	for _, want := range []string{`"max_tokens":400`, `"temperature":0.5`, fmt.Sprintf(`"seed":%d`, luck&(1<<31-1)), `"window":8000`,
		`"fake/a":{"cache_read":100000,"cache_write":1000000,"input_uncached":1000000,"output":4000000}`} {
		if !strings.Contains(string(h.Config), want) {
			t.Errorf("the header lacks %s", want)
		}
	}
	if h.Simulated {
		t.Error("the session says that its model is simulated")
	}
}

// checkCalls holds the table of model calls against the rows of the trials.
func checkCalls(t *testing.T, dir string, rows []results.Trial) {
	t.Helper()
	if err := ablations.WriteTables(dir, rows[0].RunID); err != nil {
		t.Fatal(err)
	}
	calls, _, err := parquet.Read[results.ModelCall](filepath.Join(dir, ablations.ParquetDir, parquet.ModelCallsFile))
	if err != nil {
		t.Fatal(err)
	}
	n, usage := map[results.TrialKey]int{}, map[results.TrialKey]int64{}
	for i := range calls {
		n[calls[i].Key()]++
		if calls[i].InputUncached != nil {
			usage[calls[i].Key()] += *calls[i].InputUncached
		}
	}
	for i := range rows {
		// What one call does not tell, the trial does not; its other calls do.
		k, told := rows[i].Key(), rows[i].InputUncached
		if n[k] != rows[i].ModelCalls || told != nil && *told != usage[k] || told == nil && usage[k] == 0 || (told == nil) != (k.Model == "fake/b" && k.Arm == "default") {
			t.Errorf("%s: %d calls with %d tokens in the table, %d with %v in the row", k, n[k], usage[k], rows[i].ModelCalls, told)
		}
	}
}

// Arms that share an answer are all charged the time that it took, whoever
// waited for it and whoever came later.
func TestSharedAnswersAreChargedTheirTime(t *testing.T) {
	dir := t.TempDir()
	plan := planReal(t, dir, "models: [fake/b]\nconcurrency: 2\narms: [{name: a}, {name: b}, {name: c}]\n")
	f := &fakes{takes: 20 * time.Millisecond}
	out := runDir(t, dir)
	if _, err := ablations.Run(t.Context(), plan, ablations.RunOptions{Dir: out, Provider: f.provide}); err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(t, out)
	if f.calls.Load() != 7 {
		t.Errorf("%d calls for three arms that ask the same seven things", f.calls.Load())
	}
	for i := range rows {
		if us := *rows[i].ModelUS; us < 7*20_000 || us > 7*20_000+100_000 {
			t.Errorf("%s: %d us in seven calls of 20 ms", rows[i].Arm, us)
		}
	}
	replayAll(t, out, rows)
}

// A run that is cancelled in the middle of its trials and resumed asks nothing
// twice that was answered, and its sessions replay exactly.
func TestRealModelsResume(t *testing.T) {
	for _, coupling := range []string{design.SharedPrefix, design.Independent} {
		t.Run(coupling, func(t *testing.T) {
			dir := t.TempDir()
			plan := planReal(t, dir, "models: [fake/a]\nrepetitions: 3\nconcurrency: 3\ncoupling: "+coupling+"\n"+pagesArms)
			out := runDir(t, dir)
			ctx, cancel := context.WithCancel(t.Context())
			f := &fakes{takes: 2 * time.Millisecond, fail: func(id string, req *model.Request) error {
				if req.Turn == 5 {
					cancel()
				}
				return faulty(id, req)
			}}
			if _, err := ablations.Run(ctx, plan, ablations.RunOptions{Dir: out, Provider: f.provide}); !errors.Is(err, ablations.ErrStopped) {
				t.Fatalf("stopped with %v", err)
			}
			f.fail = faulty
			before := f.calls.Load()
			done, err := ablations.Run(t.Context(), plan, ablations.RunOptions{Dir: out, Provider: f.provide, Resume: true})
			if err != nil {
				t.Fatal(err)
			}
			rows := rowsOf(t, out)
			replayAll(t, out, rows)
			whole := 0
			for i := range rows {
				whole += rows[i].ModelCalls
			}
			total := int(f.calls.Load())
			t.Logf("%d calls before, %d in all, %d trials resumed inside; the sessions have %d", before, total, done.Resumed, whole)
			if done.Resumed == 0 {
				t.Error("no trial was taken up inside")
			}
			// Each of three trials may have lost the call that was on its way.
			if coupling == design.Independent && total > whole+3 {
				t.Errorf("%d calls were made for %d", total, whole)
			}
			var spent, asIf int64
			for i := range rows {
				spent, asIf = spent+*rows[i].SpentTokens, asIf+*rows[i].InputUncached+*rows[i].Output
			}
			if coupling == design.Independent && spent != asIf || spent > asIf {
				t.Errorf("%d tokens spent, %d as if", spent, asIf)
			}
		})
	}
}

// What the infrastructure failed is in no denominator; what a guard could have
// met is.
func TestRealModelErrors(t *testing.T) {
	errOf := map[string]*model.Error{
		"auth":  {Kind: model.ErrAuth, Status: 401, Message: "no such key"},
		"quota": {Kind: model.ErrQuota, Status: 429, Message: "out of credit"},
		"down":  {Kind: model.ErrTransport, Message: "connection refused"},
		"odd":   {Kind: model.ErrBadRequest, Status: 400, Message: "no tools here"},
		"once":  {Kind: model.ErrServer, Status: 500, Message: "oops"},
	}
	names := slices.Sorted(maps.Keys(errOf))
	f := &fakes{takes: time.Millisecond, fail: func(id string, req *model.Request) error {
		name := strings.TrimPrefix(id, "fake/")
		if name == "once" && (req.Turn != 2 || req.Attempt > 0) || name == "odd" && req.Turn < 3 {
			return nil
		}
		return errOf[name]
	}}
	dir := t.TempDir()
	plan := planReal(t, dir, "models: [fake/"+strings.Join(names, ", fake/")+"]\n"+pagesArms)
	out := runDir(t, dir)
	if _, err := ablations.Run(t.Context(), plan, ablations.RunOptions{Dir: out, Provider: f.provide}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // verdict, or the class of the error
		"auth default": "auth", "auth none": "auth", "quota default": "quota", "quota none": "quota", "down default": "provider", "down none": "provider",
		"odd default": "fail", "odd none": "fail", "once default": "pass", "once none": "fail",
	}
	rows := rowsOf(t, out)
	for i := range rows {
		r, got := &rows[i], rows[i].Verdict
		if r.Errored {
			got = *r.ErrorClass
		}
		if k := strings.TrimPrefix(r.Model, "fake/") + " " + r.Arm; got != want[k] {
			t.Errorf("%s: %s (%s), want %s", k, got, r.Outcome, want[k])
		}
	}
	replayAll(t, out, rows)
}

// A provider that hangs holds its own places and no other's.
func TestAStalledProviderBlocksNoOther(t *testing.T) {
	dir := t.TempDir()
	plan := planReal(t, dir, "models: [fake/slow, other/fast, sim/oracle]\nrepetitions: 40\nconcurrency: 6\narms: [{name: default}]\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hang := make(chan struct{})
	slow := &fakes{takes: time.Hour, asked: func(*model.Request) {
		select {
		case hang <- struct{}{}:
		default:
		}
	}}
	fast := &fakes{takes: 100 * time.Microsecond}
	var done atomic.Int64
	_, err := ablations.Run(ctx, plan, ablations.RunOptions{Dir: runDir(t, dir), Sync: session.SyncNever, SyncReal: session.SyncNever,
		Provider: func(id string, luck uint64) (model.Model, error) {
			if trial.ProviderOf(id) == "fake" {
				return slow.provide(id, luck)
			}
			return fast.provide(id, luck)
		},
		Done: func(row *results.Trial) {
			if row.Model == "fake/slow" {
				t.Error("the provider does not hang")
			}
			if done.Add(1) == 80 {
				cancel()
			}
		}})
	if !errors.Is(err, ablations.ErrStopped) || done.Load() != 80 {
		t.Errorf("%d of 80 trials on the other providers were done (%v)", done.Load(), err)
	}
	if n := slow.calls.Load(); n < 2 || n > 6 {
		t.Errorf("%d trials of the stalled provider were begun; its share of 6 places is 2, of those that the others leave at the end", n)
	}
}
