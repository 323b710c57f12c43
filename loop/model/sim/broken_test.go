package sim_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/guard/repair"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/sim"
)

// ask asks a profile once under a script.
func ask(t *testing.T, profile, script string, seed uint64, attempt int) (*model.Response, error) {
	t.Helper()
	s, err := sim.ParseScript("o.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := sim.Lookup(profile)
	if !ok {
		t.Fatal(profile)
	}
	req := model.NewRequest(model.Params{Model: profile}, nil, []model.Message{{Role: model.User, Items: []model.Item{{Type: model.Text, Text: "Do it."}}}})
	req.Lane, req.Turn, req.Attempt = "main", 1, attempt
	return sim.New(p, sim.Options{Script: s, Seed: seed}).Generate(t.Context(), req, nil)
}

// Each way to break arguments breaks them; all but a text that breaks off can be
// repaired, and then say what they did before.
func TestBrokenArguments(t *testing.T) {
	const whole = `{"content":"two words","path":"a.txt"}`
	ways := map[string]bool{"close": true, "fence": true, "comma": true, "quotes": true, "prose": true, "cut": false}
	seen := map[string]bool{}
	for way, mends := range ways {
		r, err := ask(t, "sim/trap-argument_repair", "rules: [{id: x, trap: malformed, broken: "+way+", do: {tool: write_file, args: {content: two words, path: a.txt}}}]", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		args := r.Items[0].Call.Args
		fixed, done, err := repair.Object(args, repair.Options{})
		if repair.Valid(args) || seen[args] || (err == nil) != mends || mends && fixed != whole {
			t.Errorf("%s: %q becomes %q (%s), %v", way, args, fixed, done, err)
		}
		seen[args] = true
	}
	drawn := map[string]bool{}
	for seed := range uint64(60) {
		r, err := ask(t, "sim/trap-argument_repair", "rules: [{id: x, trap: malformed, broken: mixed, do: {tool: write_file, args: {content: two words, path: a.txt}}}]", seed, 0)
		if err != nil {
			t.Fatal(err)
		}
		drawn[r.Items[0].Call.Args] = true
	}
	if len(drawn) != len(ways) {
		t.Errorf("mixed breaks in %d ways", len(drawn))
	}
	// A text without quotes of its own, and one that single quotes would confuse.
	for _, args := range []string{"{}", `{n: 5120}`, `{say: "it's"}`} {
		for way := range ways {
			r, err := ask(t, "sim/trap-argument_repair", "rules: [{id: x, trap: malformed, broken: "+way+", do: {tool: t, args: "+args+"}}]", 1, 0)
			if err != nil || jsontext.Value(r.Items[0].Call.Args).IsValid() {
				t.Errorf("%s, %s: %+v, %v", args, way, r, err)
			}
		}
	}
}

// A trap of kind down is an error at every attempt, for the profile that falls into
// it.
func TestDown(t *testing.T) {
	for fault, want := range map[string]model.Error{
		"":            {Kind: model.ErrServer, Status: 503},
		"fault: auth": {Kind: model.ErrAuth, Status: 401}, "fault: quota": {Kind: model.ErrQuota, Status: 429},
	} {
		script := "rules:\n- id: x\n  trap: down\n  " + fault + "\n  do: {say: y}\n"
		for attempt := range 12 {
			_, err := ask(t, "sim/trap-fallback", script, 1, attempt)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != want.Kind || e.Status != want.Status {
				t.Errorf("%q, attempt %d: %v", fault, attempt, err)
			}
		}
		if r, err := ask(t, "sim/oracle", script, 1, 0); err != nil || model.TextOf(r.Items) != "y" {
			t.Errorf("%q: the oracle gives %+v, %v", fault, r, err)
		}
	}
}
