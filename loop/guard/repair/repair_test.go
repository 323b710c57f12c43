package repair

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestObject(t *testing.T) {
	tests := []struct{ in, want, done string }{
		{"```json\n{\"a\":1}\n```", `{"a":1}`, "fence removed"},
		{"```\n{\"a\":1}", `{"a":1}`, "fence removed"},
		{"{\"a\":1}\n```", `{"a":1}`, "fence removed"},
		{"```json\n{\"a\":[1,2\n```", "", ""}, // where does it break off?
		{`Here it is: {"a":1}`, `{"a":1}`, "text before the object dropped"},
		{`{"a":1} and that is all`, `{"a":1}`, "text after the object dropped"},
		{"Sure:\n```json\n{\"a\":1,}\n```\nDone.", `{"a":1}`, "fence removed, text before the object dropped, text after the object dropped, 1 trailing comma dropped"},
		{"\uFEFF{\"a\":1}", `{"a":1}`, "text before the object dropped"},
		{`{"a":[1,2,],}`, `{"a":[1,2]}`, "2 trailing commas dropped"},
		{`{"a":1`, `{"a":1}`, "1 bracket closed"},
		{`{"a":[{"b":"x"`, `{"a":[{"b":"x"}]}`, "3 brackets closed"},
		{`{"a":[1,2}`, `{"a":[1,2]}`, "1 bracket closed"},
		{`{"a":1,`, `{"a":1}`, "1 trailing comma dropped, 1 bracket closed"},
		{`{`, `{}`, "1 bracket closed"},
		{`{"a":[`, `{"a":[]}`, "2 brackets closed"},
		{`{"a":1}}`, `{"a":1}`, "1 bracket too many dropped"},
		{`{'a':'x "y" z'}`, `{"a":"x \"y\" z"}`, "2 strings in single quotes rewritten"},
		{`{'a':'it\'s'}`, `{"a":"it's"}`, "2 strings in single quotes rewritten, 1 escape rewritten"},
		{`{"a":"it\'s"}`, `{"a":"it's"}`, "1 escape rewritten"},
		{`{"a":"it's",}`, `{"a":"it's"}`, "1 trailing comma dropped"},
		{"{\"a\":\"one\ntwo\tthree\x01\"}", `{"a":"one\ntwo\tthree\u0001"}`, "3 control characters escaped"},
		{`{"a":True,"b":None,"c":[False]}`, `{"a":true,"b":null,"c":[false]}`, "3 words of Python rewritten"},
		{`{"a":"True",}`, `{"a":"True"}`, "1 trailing comma dropped"},
		{`{ "a" : 1 , "b" : { } `, `{"a":1,"b":{}}`, "1 bracket closed"},

		// refused: what is missing, or meant, cannot be known
		{`{"a":"b`, "", ""},
		{`{"a":`, "", ""},
		{`{"a"`, "", ""},
		{`{"a":tru`, "", ""},
		{`{"a":1 "b":2}`, "", ""},
		{`{"a":1}{"b":2}`, "", ""},
		{`{"a":1},{"b":2}`, "", ""},
		{`[{"a":1}`, "", ""},
		{`{a:1}`, "", ""},
		{`{"a":01,}`, "", ""},
		{`{"a":1,,}`, "", ""},
		{`{"a":1,"a":2,}`, "", ""},
		{`{'a':'it's'}`, "", ""},
		{`{"a":"\d",}`, "", ""},
		{`{"a":undefined}`, "", ""},
		{`no object`, "", ""},
		{``, "", ""},
		{`{"a":1}`, "", ""}, // JSON already
		{`{"a":1,"a":2}`, "", ""},
		{`[1,2]`, "", ""},
		{`"{}"`, "", ""},
	}
	for _, tt := range tests {
		got, done, err := Object(tt.in, Options{})
		if (err != nil) != (tt.want == "") || got != tt.want || tt.done != "" && done != tt.done {
			t.Errorf("%q gives %q (%s), %v; want %q (%s)", tt.in, got, done, err, tt.want, tt.done)
		}
		if err == nil && done == "" {
			t.Errorf("%q: nothing is said of what was done", tt.in)
		}
	}
}

func TestClosing(t *testing.T) {
	tests := []struct {
		in   string
		o    Options
		want string
	}{
		{`{"a":"b`, Options{}, ""},
		{`{"a":"b`, Options{Strings: true}, `{"a":"b"}`},
		{`{"a":"b\`, Options{Strings: true}, `{"a":"b"}`},
		{`{"a":"b\u12`, Options{Strings: true}, ""},
		{`{"a":"b`, Options{Strings: true, Cut: true}, ""},
		{`{"a":1`, Options{Cut: true}, ""},
		{`{"a":[1}`, Options{Cut: true}, ""},
		{`{"a":1,}`, Options{Cut: true}, `{"a":1}`},
		{`{"ab`, Options{Strings: true}, ""}, // a key says nothing
	}
	for _, tt := range tests {
		if got, _, _ := Object(tt.in, tt.o); got != tt.want {
			t.Errorf("%q under %+v gives %q, want %q", tt.in, tt.o, got, tt.want)
		}
	}
}

func TestBounds(t *testing.T) {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) }
	if _, _, err := Object(deep(MaxDepth), Options{}); err != nil {
		t.Error(err)
	}
	if _, _, err := Object(deep(MaxDepth+1), Options{}); err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Error("too deep:", err)
	}
	long := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `",` }
	if _, _, err := Object(long(MaxBytes), Options{}); err != nil {
		t.Error(err)
	}
	if _, _, err := Object(long(MaxBytes)+"  ", Options{}); err == nil {
		t.Error("too long:", err)
	}
	// A text that makes a naive reader start over again and again.
	began := time.Now()
	for _, hostile := range []string{strings.Repeat("{", MaxBytes), strings.Repeat("'", MaxBytes), "{" + strings.Repeat(`"a":1,`, MaxBytes/6-1), strings.Repeat("```", MaxBytes/3)} {
		Object(hostile, Options{Strings: true})
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// What comes out is JSON, an object, and is not repaired again; JSON is left
// alone; a break-off is closed only as the options say.
func FuzzObject(f *testing.F) {
	for _, s := range []string{"```json\n{\"a\":1}\n```", `{'a':'it\'s',}`, `{"a":[1,2}`, `{"a":"b`, `x {"a":None} y`, `{"a":1}{`, "{\"a\":\"\n\""} {
		f.Add(s, true, false)
		f.Add(s, false, true)
	}
	f.Fuzz(func(t *testing.T, text string, broken, cut bool) {
		got, done, err := Object(text, Options{Strings: broken, Cut: cut})
		if Valid(text) {
			if err == nil {
				t.Fatalf("%q is JSON and became %q", text, got)
			}
			return
		}
		if err != nil {
			if got != "" || done != "" {
				t.Fatalf("%q is refused and gives %q, %q", text, got, done)
			}
			return
		}
		if v := jsontext.Value(got); !v.IsValid() || v.Kind() != '{' {
			t.Fatalf("%q became %q, which is no object", text, got)
		}
		if cut && strings.Contains(done, "closed") {
			t.Fatalf("%q was cut off and closed: %s", text, done)
		}
		if again, _, err := Object(text, Options{Strings: broken, Cut: cut}); err != nil || again != got {
			t.Fatalf("%q became %q, then %q", text, got, again)
		}
	})
}

// Breaking a JSON object in a known way and repairing it gives the object back.
func FuzzInverse(f *testing.F) {
	f.Add(`{"a":[1,{"b":"c"}],"d":null}`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, text string) {
		v := jsontext.Value(text)
		if !v.IsValid() || v.Kind() != '{' || len(text) > 1<<16 || strings.Count(text, "[")+strings.Count(text, "{") > MaxDepth {
			return
		}
		if err := v.Compact(); err != nil {
			t.Fatal(err)
		}
		want := string(v)
		closers := len(want) - len(strings.TrimRight(want, "]}"))
		for _, way := range []string{"```json\n" + want + "\n```", "Arguments: " + want, want[:len(want)-1] + ",}", want[:len(want)-closers]} {
			if strings.HasSuffix(way, "{,}") || strings.HasSuffix(way, ":") {
				continue // an empty object has nothing to trail
			}
			got, _, err := Object(way, Options{})
			if err != nil || got != want {
				t.Fatalf("%q became %q (%v), want %q", way, got, err, want)
			}
		}
	})
}
