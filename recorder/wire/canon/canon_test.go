package canon

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/wire/dialect"
)

var update = flag.Bool("update", false, "write golden files")

func TestSamples(t *testing.T) {
	for _, api := range apis {
		r := parse(t, api, string(sample(t, api)), Options{Redact: withKeys()})
		consistent(t, r)
		got, name := render(r), "testdata/"+string(api)+".golden"
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-golden +got):\n%s", api, diff)
		}
	}
}

// Computed once with Python's hashlib, from the specification alone:
//
//	import hashlib, struct
//	def lp(s): b = s.encode(); return struct.pack(">I", len(b)) + b
//	def chain(h, kind, role, js):
//	    return hashlib.sha256(h + lp(kind) + lp(role) + hashlib.sha256(js.encode()).digest()).digest()
//	h = hashlib.sha256(b"canon/1").digest()
//	for kind, role, js in [
//	  ("tool", "", '{"function":{"name":"f","parameters":{"maximum":1.0}},"type":"function"}'),
//	  ("system", "system", '{"content":[{"text":"Be brief.","type":"text"}],"role":"system"}'),
//	  ("message", "user", '{"content":[{"text":"h\u00e9\\n","type":"text"}],"role":"user"}'),
//	  ("message", "assistant", '{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"#1","type":"function"}]}'),
//	  ("message", "tool", '{"content":[{"text":"ok","type":"text"}],"role":"tool","tool_call_id":"#1"}')]:
//	    h = chain(h, kind, role, js)
//	    if kind == "message" and role == "user": print("root", h.hex())
//	p = hashlib.sha256(b'{"model":"m","temperature":1.0}').digest()
//	print(h.hex()); print(p.hex()); print(hashlib.sha256(h + p).hexdigest())
const (
	wantRoot   = "6a5e9d5c7e42b3cef69ff0b6f4271b37c9439ca40415bd677e58590a52c03d5a"
	wantLast   = "1fc414e66c4ff3804604da524ddea26320ff6906e58e14654b5d0d0d18c34e7c"
	wantParams = "f893ac8b49c21c47b39e1cc35e7b42a8b0a539693d9b09ca4b526b0dfe4a3ad2"
	wantRaw    = "0619e1be14a6689f243b75286a86f5d2de66057870003aa853dda6ddcfbb8560"
)

func TestDigestsAgainstHandComputedValues(t *testing.T) {
	r := parse(t, dialect.Chat, `{"stream":false,"temperature":1.0,"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"maximum":1.0}}}],
		"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"h\u00e9\n"},
		{"role":"assistant","content":null,"tool_calls":[{"type":"function","id":"call_77","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","content":"ok","tool_call_id":"call_77"}]}`, Options{})
	for _, c := range []struct {
		what string
		got  model.Digest
		want string
	}{{"root", r.Root, wantRoot}, {"chain", r.Chain(), wantLast}, {"params", r.ParamsDigest, wantParams}, {"raw", r.Raw, wantRaw}} {
		if c.got.String() != c.want {
			t.Errorf("%s is %s, want %s", c.what, c.got, c.want)
		}
	}
}

func TestBadRequests(t *testing.T) {
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for _, c := range []struct{ api, body, pointer, what string }{
		{"chat", ``, "", "breaks off"},
		{"chat", `{"model":`, "", "breaks off"},
		{"chat", `{"model":"m","messages":[]} x`, "", "more than one JSON value: see byte"},
		{"chat", `{"model":"m","messages":[}`, "/messages/0", "at byte 25"},
		{"chat", `{"a":{"b/c":1,"b\u002fc":2}}`, "/a/b~1c", "appears twice, at byte 14"},
		{"chat", `{"model":"m","model":"m"}`, "/model", "appears twice"},
		{"chat", `[]`, "", "no JSON object"},
		{"chat", `{"x":` + deep + `}`, "", "nested deeper than 512 levels"},
		{"chat", `{"model":"m"}`, "/messages", "missing"},
		{"messages", `{"model":"m"}`, "/messages", "missing"},
		{"chat", `{"messages":"hi"}`, "/messages", "must be a list"},
		{"chat", `{"messages":[1]}`, "/messages/0", "must be an object"},
		{"chat", `{"messages":[{}]}`, "/messages/0/role", "must be a text"},
		{"messages", `{"messages":[{"role":1}]}`, "/messages/0/role", "must be a text"},
		{"chat", `{"messages":[],"tools":{}}`, "/tools", "must be a list"},
		{"chat", `{"messages":[],"tools":["x"]}`, "/tools/0", "must be an object"},
		{"chat", `{"messages":[],"stream":"yes"}`, "/stream", "true or false"},
		{"messages", `{"messages":[],"system":1}`, "/system", "must be a text or a list"},
		{"messages", `{"messages":[],"system":["x"]}`, "/system/0", "must be an object"},
		{"responses", `{"instructions":["x"]}`, "/instructions", "must be a text"},
		{"responses", `{"input":{}}`, "/input", "must be a text or a list"},
		{"responses", `{"input":[{"role":null}]}`, "/input/0/role", "must be a text"},
		{"responses", `{"previous_response_id":1}`, "/previous_response_id", "must be a text"},
		{"responses", `{"previous_response_id":"resp_1"}`, "/previous_response_id", `no response "resp_1"`},
		{"embeddings", `{}`, "", "no API"},
	} {
		_, err := Parse(dialect.API(c.api), []byte(c.body), Options{})
		var bad *dialect.BadRequest
		if !errors.As(err, &bad) || bad.Pointer != c.pointer || !strings.Contains(bad.What, c.what) {
			t.Errorf("%s %.60s: %v; want %q at %q", c.api, c.body, err, c.what, c.pointer)
		}
	}
	few := reader{jsontext.NewDecoder(strings.NewReader(`[0,{"a":0},0]`)), 4}
	if err := few.value(&node{}); !errors.Is(err, errValues) || !strings.Contains(few.explain(err).Error(), "more than 1048576 values, at byte 12") {
		t.Errorf("more values than allowed: %v", few.explain(err))
	}
	if _, err := Parse(dialect.Chat, make([]byte, dialect.MaxBody+1), Options{}); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("a huge body: %v", err)
	}
}

// What a client leaves out is not what it says is null or empty, where nothing
// says that it is dropped.
func TestNullIsNotAbsent(t *testing.T) {
	base := parse(t, dialect.Messages, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, Options{})
	for _, extra := range []string{`"system":null`, `"system":[]`, `"system":""`, `"tools":null`, `"tools":[]`, `"temperature":null`, `"metadata":{}`, `"metadata":null`} {
		r := parse(t, dialect.Messages, `{"model":"m","messages":[{"role":"user","content":"x"}],`+extra+`}`, Options{})
		if equal(base, r) {
			t.Errorf("%s changes nothing", extra)
		}
	}
	for _, extra := range []string{`"stream":null`, `"user":null`, `"metadata":{"user_id":"x"}`, `"metadata":{"harnessbench_turn":"1","user_id":null}`, `"cache_control":null`} {
		r := parse(t, dialect.Messages, `{"model":"m","messages":[{"role":"user","content":"x"}],`+extra+`}`, Options{})
		if !equal(base, r) {
			t.Errorf("%s changes something", extra)
		}
	}
}

func TestOneTextIsOneBlock(t *testing.T) {
	for _, c := range [][3]string{
		{"chat", `{"messages":[{"role":"user","content":"x"}]}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`},
		{"messages", `{"system":"s","messages":[]}`, `{"system":[{"type":"text","text":"s"}],"messages":[]}`},
		{"messages", `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"x"}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"x"}]}]}]}`},
		{"responses", `{"input":"x"}`, `{"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]}]}`},
		{"responses", `{"input":[{"role":"assistant","content":"x"}]}`, `{"input":[{"role":"assistant","content":[{"type":"output_text","text":"x"}]}]}`},
	} {
		a, b := parse(t, dialect.API(c[0]), c[1], Options{}), parse(t, dialect.API(c[0]), c[2], Options{})
		if !equal(a, b) || a.Pointers[0] != b.Pointers[0] {
			t.Errorf("%s and %s differ:\n%s%s", c[1], c[2], render(a), render(b))
		}
	}
}

func TestSecretsAreGoneBeforeHashing(t *testing.T) {
	k := key()
	body := `{"model":"m","note":"` + k + `","messages":[{"role":"user","content":"use \u0073` + k[1:] + ` now","` + k + `":1}],
		"tools":[{"type":"mcp","authorization":"opaque","headers":{"X-Key":"other"}}]}`
	r := parse(t, dialect.Chat, body, Options{Redact: withKeys()})
	if all := render(r); strings.Contains(all, k[3:]) || strings.Contains(all, "opaque") || strings.Contains(all, "other") {
		t.Error(all)
	}
	masked := strings.NewReplacer(`\u0073`, "s", k[3:], strings.Repeat("*", len(k)-3), "opaque", "******", "other", "*****").Replace(body)
	if !equal(r, parse(t, dialect.Chat, masked, Options{Redact: withKeys()})) {
		t.Error("a redacted request is not that of the redacted body")
	}
	twins := parse(t, dialect.Chat, `{"messages":[{"role":"user","h":{"`+k+`":1,"`+strings.ReplaceAll(k, "A", "B")+`":2}}]}`, Options{Redact: withKeys()})
	if _, err := decode(twins.Parts[0].JSON); err != nil {
		t.Errorf("names that redaction made alike: %v", err)
	}
}
