package guard

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// randomSettings draws modes and values over the whole allowed range, the ends
// with a good chance.
func randomSettings(rnd *rand.Rand) Settings {
	s := MustProfile(Profiles()[rnd.IntN(3)]).clone()
	for i := range Table {
		s.rows[i].Mode = []Mode{Off, Shadow, Enforce}[rnd.IntN(3)]
		for j, p := range Table[i].Params {
			switch rnd.IntN(4) {
			case 0:
				s.rows[i].Values[j] = p.Min
			case 1:
				s.rows[i].Values[j] = p.Max
			case 2:
				s.rows[i].Values[j] = p.Min + rnd.Int64N(p.Max-p.Min+1)
			}
		}
	}
	return s
}

func TestParseIsTheInverseOfAppend(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		want := randomSettings(rnd)
		text := want.AppendJSON(nil)
		canon := jsontext.Value(slices.Clone(text))
		if err := canon.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil || string(canon) != string(text) {
			t.Fatalf("not canonical (%v):\n%s\n%s", err, text, canon)
		}
		got, err := ParseSettings(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want.rows, got.rows, cmp.AllowUnexported(Setting{})); diff != "" {
			t.Fatalf("%s\n%s", text, diff)
		}
		if d := Differ(want, got); d != nil {
			t.Fatalf("Differ says %v", d)
		}
	}
}

func TestParseSettingsErrors(t *testing.T) {
	const stuckRow = `"mode":"enforce","v":1,"nudge":3,"abort":6,"cycle_nudge":2,"cycle_abort":3`
	for _, tt := range []struct{ text, want string }{
		{``, "guards:"},
		{`[]`, "expected an object"},
		{`{`, "guards:"},
		{`{} {}`, "follows the object"},
		{`{}x`, "follows the object"},
		{`{"stuck":{` + stuckRow + `},"stuck":{` + stuckRow + `}}`, "duplicate"},
		{`{"stuk":{}}`, `no guard "stuk"`},
		{`{"stuck":[]}`, "guard stuck: expected an object"},
		{`{"stuck":{}}`, "guard stuck: mode is missing"},
		{`{"stuck":{"mode":"on","v":1}}`, `no mode "on"`},
		{`{"stuck":{"mode":7,"v":1}}`, "no mode 7"},
		{`{"stuck":{"mode":"enforce"}}`, "guard stuck: v is missing"},
		{`{"stuck":{"mode":"enforce","v":1}}`, "guard stuck: nudge is missing"},
		{`{"stuck":{` + stuckRow + `,"colour":1}}`, `no parameter "colour"`},
		{`{"stuck":{` + strings.Replace(stuckRow, "3", "1.5", 1) + `}}`, "1.5 is no whole number"},
		{`{"stuck":{` + strings.Replace(stuckRow, "3", "1", 1) + `}}`, "1 is outside 2..1000"},
		{`{"stuck":{` + strings.Replace(stuckRow, "3", "99999999999999999999", 1) + `}}`, "no whole number"},
		{`{"stuck":` + strings.Repeat("[", 20_000) + `}`, "guards:"},
	} {
		s, err := ParseSettings([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.100s: %v, want %q", tt.text, err, tt.want)
		}
		if s.rows != nil {
			t.Errorf("%.100s: settings beside an error", tt.text)
		}
	}
}

// Of several mistakes the same one is told every time.
func TestParseSettingsTellsTheFirstMistake(t *testing.T) {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `,"g%d":{}`, i)
	}
	for range 50 {
		_, err := ParseSettings([]byte("{" + b.String()[1:] + "}"))
		if err == nil || !strings.Contains(err.Error(), `"g0"`) {
			t.Fatalf("%v", err)
		}
	}
}

func TestMissingGuardsAreOff(t *testing.T) {
	s, err := ParseSettings([]byte(` { } `))
	if err != nil {
		t.Fatal(err)
	}
	for i := range Table { // also those that stay in every arm of today
		if m := s.Mode(Table[i].Name); m != Off {
			t.Errorf("%s is %s", Table[i].Name, m)
		}
	}
}

func TestOldBehaviour(t *testing.T) {
	text := string(MustProfile(ProfileDefault).AppendJSON(nil))
	i := strings.Index(text, `"stuck":`)
	j := i + strings.IndexByte(text[i:], '}')
	for _, row := range []string{
		`"stuck":{"abort":6,"cycle_abort":3,"cycle_nudge":2,"mode":"enforce","nudge":3,"v":0`,
		`"stuck":{"mode":"shadow","v":99,"a_parameter_of_then":7`, // parameters may have changed with the behaviour
	} {
		_, err := ParseSettings([]byte(text[:i] + row + text[j:]))
		var old *OldBehaviourError
		if !errors.As(err, &old) || old.Guard != "stuck" || !slices.Equal(old.Have, Table[Lookup("stuck")].Versions()) || slices.Contains(old.Have, old.Want) {
			t.Errorf("%s: %v", row, err)
			continue
		}
		for _, want := range []string{"stuck", fmt.Sprint(old.Want), fmt.Sprint(old.Have[0])} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q lacks %q", err, want)
			}
		}
	}
	// A guard that was off cannot have acted, whatever its version.
	s, err := ParseSettings([]byte(text[:i] + `"stuck":{"mode":"off","v":99,"other":1` + text[j:]))
	if err != nil || s.Mode("stuck") != Off {
		t.Errorf("off: %v %v", s.Mode("stuck"), err)
	}
}

func FuzzParseSettings(f *testing.F) {
	for _, p := range Profiles() {
		f.Add(MustProfile(p).AppendJSON(nil))
	}
	f.Add([]byte(`{"stuck":{"mode":"enforce","v":1}}`))
	f.Add([]byte(`{"a":{},"a":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSettings(data)
		if err != nil {
			return
		}
		text := s.AppendJSON(nil)
		again, err := ParseSettings(text)
		if err != nil {
			t.Fatalf("%q was read, what it means is not: %s: %v", data, text, err)
		}
		if string(again.AppendJSON(nil)) != string(text) {
			t.Fatalf("%q: two forms of one setting", data)
		}
		for i := range Table {
			if s.rows[i].Mode == Off {
				continue
			}
			for j, p := range Table[i].Params {
				if v := s.rows[i].Values[j]; v < p.Min || v > p.Max {
					t.Fatalf("%q: %s.%s = %d", data, Table[i].Name, p.Name, v)
				}
			}
		}
		NewSet(s, Backstop{}, Env{})
	})
}

func TestSettingsAreImmutable(t *testing.T) {
	base := MustProfile(ProfileDefault)
	was := string(base.AppendJSON(nil))
	changed, err := base.With("stuck", Shadow)
	if err != nil || changed.Mode("stuck") != Shadow {
		t.Fatalf("%v %v", changed.Mode("stuck"), err)
	}
	changed, err = changed.WithParam("stuck", "abort", "9")
	if err != nil || changed.Get("stuck").Values[1] != 9 {
		t.Fatalf("%v %v", changed.Get("stuck"), err)
	}
	changed.Get("stuck").Values[0] = 77
	base.Get("spill").Values[0] = 77
	if got := string(base.AppendJSON(nil)); got != was {
		t.Errorf("the base changed:\n%s\n%s", was, got)
	}
	if changed.Get("stuck").Values[0] != 3 {
		t.Error("Get gives out the inner values")
	}
	if d := Differ(base, changed); !slices.Equal(d, []string{"stuck"}) {
		t.Errorf("Differ: %v", d)
	}
	if d := Differ(base, base); d != nil {
		t.Errorf("Differ of equal ones: %v", d)
	}
}

func TestSettingsErrorsChangeNothing(t *testing.T) {
	base := MustProfile(ProfileDefault)
	was := string(base.AppendJSON(nil))
	for _, tt := range []struct {
		name string
		do   func() (Settings, error)
		want []string
	}{
		{"unknown guard", func() (Settings, error) { return base.With("stuk", Off) }, []string{`"stuk"`, "stuck", "spill"}},
		{"unknown mode", func() (Settings, error) { return base.With("stuck", "on") }, []string{`"on"`, "enforce", "shadow", "off"}},
		{"param of an unknown guard", func() (Settings, error) { return base.WithParam("stuk", "abort", "1") }, []string{`"stuk"`}},
		{"unknown param", func() (Settings, error) { return base.WithParam("stuck", "abrt", "1") }, []string{`"abrt"`, "nudge", "abort"}},
		{"no number", func() (Settings, error) { return base.WithParam("stuck", "abort", "six") }, []string{"stuck", "abort", `"six"`}},
		{"below", func() (Settings, error) { return base.WithParam("stuck", "abort", "1") }, []string{"2..1000"}},
		{"above", func() (Settings, error) { return base.WithParam("stuck", "abort", "1001") }, []string{"2..1000"}},
	} {
		s, err := tt.do()
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		for _, w := range tt.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", tt.name, err, w)
			}
		}
		if string(s.AppendJSON(nil)) != was {
			t.Errorf("%s: the settings changed", tt.name)
		}
	}
}

func TestZeroSettingsAreProfileNone(t *testing.T) {
	var zero Settings
	none := MustProfile(ProfileNone)
	if got, want := string(zero.AppendJSON(nil)), string(none.AppendJSON(nil)); got != want {
		t.Errorf("%s\n%s", got, want)
	}
	if d := Differ(zero, none); d != nil {
		t.Errorf("%v", d)
	}
	s, err := zero.With("stuck", Enforce)
	if err != nil || s.Mode("stuck") != Enforce {
		t.Error(err)
	}
	if s, err = zero.WithParam("stuck", "abort", "8"); err != nil || s.Get("stuck").Values[1] != 8 {
		t.Error(err)
	}
	if zero.Mode("stuck") != Off || zero.Get("stuck").Mode != Off || zero.Get("none such").Mode != Off {
		t.Error("a zero setting is not off")
	}
	NewSet(zero, Backstop{}, Env{})
}

func TestParam(t *testing.T) {
	for _, s := range []Settings{{}, MustProfile(ProfileNone), MustProfile(ProfileDefault)} {
		for i := range Table {
			for j, p := range Table[i].Params {
				if got := s.Param(Table[i].Name, p.Name); got != p.Default || got != s.Get(Table[i].Name).Values[j] {
					t.Errorf("%s.%s: %d", Table[i].Name, p.Name, got)
				}
			}
		}
		if s.Param("stuck", "none such") != 0 || s.Param("none such", "abort") != 0 {
			t.Error("a parameter that is none has a value")
		}
	}
}

func TestProfiles(t *testing.T) {
	for _, name := range Profiles() {
		s, err := Profile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range Table {
			want := map[string]Mode{ProfileNone: Off, ProfileDefault: Table[i].Mode, ProfileFull: Table[i].Full}[name]
			if Table[i].Stays {
				want = Enforce
			}
			if got := s.Mode(Table[i].Name); got != want {
				t.Errorf("%s, %s: %s, want %s", name, Table[i].Name, got, want)
			}
		}
	}
	if _, err := Profile("best"); err == nil || !strings.Contains(err.Error(), "none, default, full") {
		t.Errorf("%v", err)
	}
}

func TestTable(t *testing.T) {
	want := strings.Fields("stuck monotony no_progress dedupe spill result_ceiling tool_deadline run_deadline limits final_synthesis acceptance seals retry fallback " +
		"truncated_empty context_overflow empty_response unknown_tool argument_repair compaction budget_notice goal_reminder scope approval redaction parallel_tools response_cache")
	if !slices.Equal(Names(), want) {
		t.Errorf("the order is a part of the behaviour: %v", Names())
	}
	for i := range Table {
		d := &Table[i]
		if d.Version < 1 || d.Summary == "" || d.WhenOff == "" || d.Class == "" || d.Policy != (d.build == nil) || Lookup(d.Name) != i {
			t.Errorf("%s: an incomplete row", d.Name)
		}
		for _, p := range d.Params {
			if p.Name == "mode" || p.Name == "v" || p.Doc == "" || p.Min > p.Max || p.Default < p.Min || p.Default > p.Max {
				t.Errorf("%s.%s: %+v", d.Name, p.Name, p)
			}
			for _, v := range []int64{p.Min, p.Default, p.Max} {
				if back, err := p.Parse(p.Format(v)); err != nil || back != v {
					t.Errorf("%s.%s: %d is written %s and read %d, %v", d.Name, p.Name, v, p.Format(v), back, err)
				}
			}
		}
	}
	if Lookup("none such") != -1 {
		t.Error("found what is not there")
	}
}

// The defaults are a contract.
func TestDefaults(t *testing.T) {
	const want = `{` +
		`"acceptance":{"mode":"enforce","retries":2,"v":1},` +
		`"approval":{"expires":600000000000,"mode":"off","v":1},` +
		`"argument_repair":{"mode":"enforce","strings":0,"v":1},` +
		`"budget_notice":{"first":50,"mode":"off","second":80,"v":1},` +
		`"compaction":{"at":75,"keep":3,"mode":"enforce","summary":1,"to":55,"v":1},` +
		`"context_overflow":{"mode":"enforce","retries":1,"v":1},` +
		`"dedupe":{"least":256,"mode":"off","v":1},` +
		`"empty_response":{"corrections":1,"mode":"enforce","v":1},` +
		`"fallback":{"after":0,"mode":"off","models":8,"v":1},` +
		`"final_synthesis":{"mode":"enforce","timeout":60000000000,"v":1},` +
		`"goal_reminder":{"mode":"off","turns":4,"v":1},` +
		`"limits":{"calls":200,"cost":0,"mode":"enforce","tokens":0,"turns":50,"v":1},` +
		`"monotony":{"abort":16,"mode":"off","nudge":8,"v":1},` +
		`"no_progress":{"abort":6,"any_abort":6,"any_nudge":3,"mode":"enforce","nudge":3,"v":1},` +
		`"parallel_tools":{"cancel":0,"mode":"enforce","most":8,"v":1},` +
		`"redaction":{"mode":"enforce","v":1},` +
		`"response_cache":{"across":0,"mode":"off","v":1},` +
		`"result_ceiling":{"bytes":24576,"mode":"enforce","v":1},` +
		`"retry":{"attempts":4,"base":200000000,"cap":30000000000,"mode":"enforce","retry_after_cap":120000000000,"v":1},` +
		`"run_deadline":{"mode":"enforce","total":1800000000000,"v":1},` +
		`"scope":{"mode":"enforce","v":1},` +
		`"seals":{"mode":"enforce","v":1},` +
		`"spill":{"mode":"enforce","over":24576,"preview":4096,"v":1},` +
		`"stuck":{"abort":6,"cycle_abort":3,"cycle_nudge":2,"mode":"enforce","nudge":3,"v":1},` +
		`"tool_deadline":{"mode":"enforce","per_call":120000000000,"v":1},` +
		`"truncated_empty":{"factor_cap":4,"mode":"enforce","retries":1,"v":1},` +
		`"unknown_tool":{"mode":"enforce","v":1}}`
	if diff := cmp.Diff(want, string(MustProfile(ProfileDefault).AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
}

func TestParamParse(t *testing.T) {
	count := Param{Name: "n", Unit: Count, Min: 0, Max: 1000}
	size := Param{Name: "b", Unit: Bytes, Min: 0, Max: 1 << 30}
	span := Param{Name: "d", Unit: Duration, Min: 0, Max: day}
	for _, tt := range []struct {
		p    Param
		s    string
		want int64
		bad  bool
	}{
		{count, "0", 0, false}, {count, " 12 ", 12, false}, {count, "1000", 1000, false}, {count, "1001", 0, true},
		{count, "-1", 0, true}, {count, "", 0, true}, {count, "1e2", 0, true}, {count, "0x10", 0, true}, {count, "5KiB", 0, true},
		{size, "24KiB", 24 << 10, false}, {size, "24 KiB", 24 << 10, false}, {size, "1MiB", 1 << 20, false}, {size, "77", 77, false},
		{size, "1024MiB", 1 << 30, false}, {size, "1025MiB", 0, true}, {size, "-5KiB", 0, true}, {size, "KiB", 0, true}, {size, "1.5KiB", 0, true},
		{size, "99999999999999999999KiB", 0, true}, {size, "9223372036854775807KiB", 0, true}, {size, "-9223372036854775808KiB", 0, true},
		{size, "-18014398509481984KiB", 0, true}, {size, "5 kb", 0, true},
		{span, "90s", 90e9, false}, {span, "1m30s", 90e9, false}, {span, "0", 0, false}, {span, "24h", day, false},
		{span, "24h1us", 0, true}, {span, "1us", 1000, false}, {span, "1500ns", 0, true}, {span, "-1s", 0, true}, {span, "90", 0, true}, {span, "soon", 0, true}, {span, "1e300h", 0, true},
	} {
		got, err := tt.p.Parse(tt.s)
		if tt.bad != (err != nil) || got != tt.want {
			t.Errorf("%s %q: %d, %v", tt.p.Unit, tt.s, got, err)
		}
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		for _, p := range []Param{count, size, span} {
			v := rnd.Int64N(p.Max + 1)
			if p.Unit == Duration {
				v -= v % 1000 // durations are whole microseconds
			}
			if back, err := p.Parse(p.Format(v)); err != nil || back != v {
				t.Fatalf("%s: %d is written %s and read %d, %v", p.Unit, v, p.Format(v), back, err)
			}
		}
	}
}

func FuzzParamParse(f *testing.F) {
	f.Add("24KiB", uint8(1))
	f.Add("90s", uint8(2))
	f.Fuzz(func(t *testing.T, s string, unit uint8) {
		p := Param{Unit: []Unit{Count, Bytes, Duration, MicroUSD}[unit%4], Min: 1, Max: 1 << 40}
		v, err := p.Parse(s)
		if err != nil {
			return
		}
		if v < p.Min || v > p.Max {
			t.Fatalf("%q gave %d", s, v)
		}
		if back, err := p.Parse(p.Format(v)); err != nil || back != v {
			t.Fatalf("%q: %d is written %s and read %d, %v", s, v, p.Format(v), back, err)
		}
	})
}
