package model

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// hardStrings are texts that JSON writers disagree on.
var hardStrings = []string{
	"", " ", "plain", `"quoted" \ back/slash`, "\x00\x01\x1f\x7f", "\b\f\n\r\t", "\u2028\u2029", "<script>&amp;</script>",
	"h\u00e9", "e\u0301", "\U0001F600\U0001F469\u200d\U0001F4BB", "\uFFFD", "\uFEFFbom", "\u0080\u009f", "\u202ertl",
	"\xff", "\xc3", "\xed\xa0\x80", "\xf0\x9f\x98", "a\xffb\xc0\xafc", "\xe2\x82", "\xf4\x90\x80\x80", "{\"a\":1}", "]", "\\u0041",
}

// randomString mixes hard strings with random bytes and random runes.
func randomString(rnd *rand.Rand) string {
	var b strings.Builder
	for range rnd.IntN(5) {
		switch rnd.IntN(4) {
		case 0:
			b.WriteString(hardStrings[rnd.IntN(len(hardStrings))])
		case 1:
			for range rnd.IntN(12) {
				b.WriteByte(byte(rnd.IntN(256)))
			}
		case 2:
			b.WriteRune(rune(rnd.IntN(utf8.MaxRune + 1)))
		default:
			b.WriteString("word ")
		}
	}
	return b.String()
}

func randomMessage(rnd *rand.Rand) Message {
	roles := []Role{System, User, Assistant, ToolRole, Role(randomString(rnd))}
	types := []ItemType{Text, Reasoning, CallItem, Plan, Question, Proposal, ProviderCall}
	m := Message{Role: roles[rnd.IntN(len(roles))]}
	if rnd.IntN(2) == 0 {
		m.CallID = randomString(rnd)
	}
	for range rnd.IntN(4) {
		it := Item{Type: types[rnd.IntN(len(types))]}
		switch it.Type {
		case CallItem:
			it.Call = ToolCall{ID: randomString(rnd), Name: randomString(rnd), Args: randomString(rnd)}
		case ProviderCall:
			it.Evidence = `{"id":"p1","n":[true,null]}`
		default:
			it.Text = randomString(rnd)
		}
		m.Items = append(m.Items, it)
	}
	return m
}

// throughEncodingJSON gives the canonical form by another road: encoding/json
// writes a map, and RFC 8785 canonicalisation makes the rest of the choices.
func throughEncodingJSON(t *testing.T, m Message, withID bool) []byte {
	t.Helper()
	items := []any{}
	for _, it := range m.Items {
		o := map[string]any{"type": string(it.Type)}
		switch it.Type {
		case CallItem:
			o["args"], o["name"] = it.Call.Args, it.Call.Name
			if withID {
				o["id"] = it.Call.ID
			}
		case ProviderCall:
			o["evidence"] = json.RawMessage(it.Evidence)
		default:
			o["text"] = it.Text
		}
		items = append(items, o)
	}
	o := map[string]any{"content": items, "role": string(m.Role)}
	if m.CallID != "" {
		o["call_id"] = m.CallID
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	v := jsontext.Value(raw)
	if err := v.Canonicalize(); err != nil {
		t.Fatalf("canonicalise %q: %v", raw, err)
	}
	return v
}

func TestCanonicalMessagesEqualAnIndependentPath(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		m := randomMessage(rnd)
		want := throughEncodingJSON(t, m, true)
		p := NewMessagePart(m)
		if diff := cmp.Diff(string(want), string(p.JSON)); diff != "" {
			t.Fatalf("message %d: %#v\n(-independent +ours)\n%s", i, m, diff)
		}
		if p.Digest != Sum(p.JSON) {
			t.Fatalf("message %d: the digest is not that of the JSON", i)
		}
	}
}

func TestCanonicalStrings(t *testing.T) {
	for _, s := range hardStrings {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		v := jsontext.Value(raw)
		if err := v.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		if got := string(AppendString(nil, s)); got != string(v) {
			t.Errorf("%q: got %s, want %s", s, got, v)
		}
		if got := string(AppendString([]byte("x"), s)); got != "x"+string(v) {
			t.Errorf("%q appended: got %s", s, got)
		}
	}
}

// A canonical form that two different messages share would make a replay say
// "equal" where it is not. Texts that are no UTF-8 collapse by design.
func TestDifferentMessagesDiffer(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	seen := map[Digest]Message{}
	for range 5000 {
		m := randomMessage(rnd)
		p := NewMessagePart(m)
		var back struct {
			CallID  *string           `json:"call_id"`
			Content []json.RawMessage `json:"content"`
			Role    string            `json:"role"`
		}
		if err := json.Unmarshal(p.JSON, &back); err != nil {
			t.Fatalf("%s: %v", p.JSON, err)
		}
		if len(back.Content) != len(m.Items) || back.Role != perByte(string(m.Role)) {
			t.Fatalf("%s does not say %#v", p.JSON, m)
		}
		if old, ok := seen[p.Digest]; ok && string(NewMessagePart(old).JSON) != string(p.JSON) {
			t.Fatalf("%#v and %#v have one digest", old, m)
		}
		seen[p.Digest] = m
	}
}

// perByte replaces every byte that is no UTF-8 by one U+FFFD, as JSON writers do.
func perByte(s string) string {
	return strings.Map(func(c rune) rune { return c }, s)
}

func TestItemWithoutID(t *testing.T) {
	it := Item{Type: CallItem, Call: ToolCall{ID: "call_1", Name: "grep", Args: `{"pattern":"\n"}`}}
	const want = `{"args":"{\"pattern\":\"\\n\"}","name":"grep","type":"tool_call"}`
	if got := string(AppendItem(nil, &it, false)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestProviderCallWithoutEvidenceIsStillJSON(t *testing.T) {
	p := NewMessagePart(Message{Role: Assistant, Items: []Item{{Type: ProviderCall}}})
	if !jsontext.Value(p.JSON).IsValid() {
		t.Errorf("not JSON: %s", p.JSON)
	}
}

func TestPartKinds(t *testing.T) {
	for _, tt := range []struct {
		part *Part
		kind PartKind
		role Role
	}{
		{NewTextPart(System, "s"), KindSystem, System},
		{NewTextPart(User, "u"), KindMessage, User},
		{NewResultPart("c1", "r"), KindMessage, ToolRole},
		{NewToolPart(ToolSpec{Name: "t", Schema: "{}"}), KindTool, ""},
	} {
		if tt.part.Kind != tt.kind || tt.part.Role != tt.role {
			t.Errorf("%s: kind %q role %q, want %q %q", tt.part.JSON, tt.part.Kind, tt.part.Role, tt.kind, tt.role)
		}
		if !jsontext.Value(tt.part.JSON).IsValid() {
			t.Errorf("not JSON: %s", tt.part.JSON)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range hardStrings {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := AppendString(nil, s)
		var back string
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("%q gave %s: %v", s, out, err)
		}
		if utf8.ValidString(s) && back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		want := jsontext.Value(raw)
		if err := want.Canonicalize(); err != nil || string(want) != string(out) {
			t.Fatalf("%q gave %s, another path %s (%v)", s, out, want, err)
		}
		if string(AppendString(nil, back)) != string(out) {
			t.Fatalf("%q: writing what was read gives other bytes", s)
		}
	})
}
