package model

import (
	"testing"
)

// Computed once with Python's hashlib, from the specification alone:
//
//	import hashlib, struct
//	def lp(s): b = s.encode(); return struct.pack(">I", len(b)) + b
//	def chain(h, kind, role, js):
//	    return hashlib.sha256(h + lp(kind) + lp(role) + hashlib.sha256(js.encode()).digest()).digest()
//	h = hashlib.sha256(b"canon/1").digest(); print(h.hex())
//	for kind, role, js in [
//	  ("tool", "", '{"description":"Reads.","name":"read_file","schema":{"type":"object"},"version":2}'),
//	  ("system", "system", '{"content":[{"text":"Be brief.","type":"text"}],"role":"system"}'),
//	  ("message", "user", '{"content":[{"text":"Say \\"h\u00e9\\"\\n\U0001F600","type":"text"}],"role":"user"}'),
//	  ("message", "assistant", '{"content":[{"args":"{\\"path\\":\\"a\\"}","id":"call_1","name":"read_file","type":"tool_call"}],"role":"assistant"}'),
//	  ("message", "tool", '{"call_id":"call_1","content":[{"text":"ok","type":"text"}],"role":"tool"}')]:
//	    h = chain(h, kind, role, js); print(h.hex())
//	for p in ['{"model":"sim/weak"}', '{"max_tokens":512,"model":"sim/weak","seed":-7,"temperature":0.2,"top_p":1}']:
//	    print(hashlib.sha256(p.encode()).hexdigest())
var wantChain = []string{
	"a0d7c4b1bbfde91fef5a8c012ec536212987eed4bc3dadf458fa405005eb1c05",
	"61ff2061151104ac8952adf57823ddaf0204dbbac70757fcf70d86f0a21b4c11",
	"138b9838163c2d5130743f1a7cea445a72512b59af42e8c9873d8bd1b9e785ce",
	"c371dfbfa3043c87c9ed9b8375d4f8cc3ed1773522d742a84be5eec6b18ea076",
	"d73e165986c71ad3714f00993ebbf226fba0e6ce54c16dedfbe1962eb6a6426f",
	"26c882394c7d668244f6288461863ef8e65da79f3b18dd61e7628e1ed2395c88",
}

const (
	wantParamsBare = "07e8730ae1382afebca7071f9018dd2a52ca8e25e7256070af2e996e24b8d5a5"
	wantParamsFull = "74b2a9571ae789699f8c435ef96e38d16a009adc51cc3a5b3f66bf3276d9a7ca"
)

func chainParts() []*Part {
	return []*Part{
		NewToolPart(ToolSpec{Name: "read_file", Version: 2, Description: "Reads.", Schema: `{"type":"object"}`}),
		NewTextPart(System, "Be brief."),
		NewTextPart(User, "Say \"h\u00e9\"\n\U0001F600"),
		NewMessagePart(Message{Role: Assistant, Items: []Item{{Type: CallItem, Call: ToolCall{ID: "call_1", Name: "read_file", Args: `{"path":"a"}`}}}}),
		NewResultPart("call_1", "ok"),
	}
}

func TestChainAgainstHandComputedValues(t *testing.T) {
	s := NewTranscript()
	for _, p := range chainParts() {
		s.Append(p)
	}
	_, chains := s.View()
	if len(chains) != len(wantChain) {
		t.Fatalf("%d chain digests, want %d", len(chains), len(wantChain))
	}
	for i, want := range wantChain {
		if got := chains[i].String(); got != want {
			t.Errorf("H%d = %s, want %s", i, got, want)
		}
	}
}

func TestParamsAgainstHandComputedValues(t *testing.T) {
	temp, top, seed := 0.2, 1.0, int64(-7)
	for _, tt := range []struct {
		p    Params
		want string
	}{
		{Params{Model: "sim/weak"}, wantParamsBare},
		{Params{Model: "sim/weak", MaxTokens: 512, Temperature: &temp, TopP: &top, Seed: &seed}, wantParamsFull},
	} {
		if got := tt.p.Digest().String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.p.AppendJSON(nil), got, tt.want)
		}
	}
}

func TestEveryParamReachesTheDigest(t *testing.T) {
	zero, half, seed := 0.0, 0.5, int64(0)
	all := []Params{
		{Model: "a"}, {Model: "b"}, {Model: "a", MaxTokens: 1}, {Model: "a", MaxTokens: 2},
		{Model: "a", Temperature: &zero}, {Model: "a", Temperature: &half},
		{Model: "a", TopP: &zero}, {Model: "a", TopP: &half}, {Model: "a", Seed: &seed},
	}
	seen := map[Digest]int{}
	for i, p := range all {
		if j, ok := seen[p.Digest()]; ok {
			t.Errorf("%s and %s share a digest", p.AppendJSON(nil), all[j].AppendJSON(nil))
		}
		seen[p.Digest()] = i
	}
	again := half
	if (Params{Model: "a", TopP: &half}).Digest() != (Params{Model: "a", TopP: &again}).Digest() {
		t.Error("the digest depends on where a value lies, not on the value")
	}
}

// Kind and role are length-prefixed, so that moving a byte from one to the other
// is another chain.
func TestChainPrefixes(t *testing.T) {
	d := Sum([]byte("x"))
	a := Chain(ChainStart, &Part{Kind: "ab", Role: "c", Digest: d})
	b := Chain(ChainStart, &Part{Kind: "a", Role: "bc", Digest: d})
	c := Chain(ChainStart, &Part{Kind: "abc", Role: "", Digest: d})
	if a == b || a == c || b == c {
		t.Error("kind and role run into each other")
	}
	long := &Part{Kind: PartKind(make([]byte, 500)), Role: Role(make([]byte, 500)), Digest: d}
	if Chain(ChainStart, long) == Chain(ChainStart, &Part{Kind: long.Kind, Role: long.Role[:499], Digest: d}) {
		t.Error("long names are cut")
	}
}
