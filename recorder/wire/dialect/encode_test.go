package dialect

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/harnessbench/harnessbench/loop/model"
)

var update = flag.Bool("update", false, "rewrite golden files")

func ptr[T any](v T) *T { return &v }

// sample is an answer with everything in it.
func sample() *model.Response {
	return &model.Response{
		Items: []model.Item{
			{Type: model.Reasoning, Text: "Two files may say it; I read both of them at once."},
			{Type: model.Text, Text: "I look at both files.\nThe na\u00efve way \U0001F469\u200d\U0001F4BB takes longer than that."},
			{Type: model.CallItem, Call: model.ToolCall{ID: "call_1", Name: "read_file", Args: `{"path":"/workspace/notes/a.txt","max":1e3}`}},
			{Type: model.CallItem, Call: model.ToolCall{ID: "call_2", Name: "list_dir", Args: `{}`}},
		},
		Finish: model.FinishCalls, Model: "sim/weak",
		Usage: model.Usage{InputUncached: 100, CacheRead: 20, CacheWrite: 3, Output: 40, Reasoning: 12},
	}
}

// replyBytes is a reply as one text.
func replyBytes(r *Reply) []byte {
	if r.Frames == nil {
		return r.Body
	}
	var out []byte
	for _, f := range r.Frames {
		out = append(out, f...)
	}
	return out
}

func TestEncodeGolden(t *testing.T) {
	malformed := &model.Response{Items: []model.Item{{Type: model.CallItem, Call: model.ToolCall{Name: "grep", Args: `{"pattern":`}}},
		Finish: model.FinishLength, Usage: model.Usage{InputUncached: 9, Output: 4}}
	free := &model.Response{Items: []model.Item{{Type: model.CallItem, Call: model.ToolCall{ID: "call_1", Name: "apply_patch", Args: "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch"}}}, Model: "m", Usage: model.Usage{InputUncached: 1, Output: 2}}
	empty := &model.Response{Usage: model.Usage{Unknown: true}, Model: "sim/strong"}
	for _, api := range []API{Chat, Responses, Messages} {
		for name, r := range map[string]*model.Response{"calls": sample(), "freeform": free, "malformed": malformed, "empty": empty} {
			for _, stream := range []bool{false, true} {
				c := &Call{API: api, Model: "sim/weak", Stream: stream, StreamUsage: true, Freeform: []string{"apply_patch"}, Params: model.Params{MaxTokens: 64, Temperature: ptr(0.2)}}
				file := string(api) + "_" + name + ".json"
				if stream {
					file = string(api) + "_" + name + ".sse"
				}
				golden(t, file, replyBytes(Encode(c, "id_1", r)))
			}
		}
		for _, e := range sampleErrors {
			r := EncodeError(api, e)
			text := headOf(r) + string(r.Body) + "\n"
			golden(t, string(api)+"_error_"+string(e.Kind)+".txt", []byte(text))
		}
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (rewrite with -update; -want +got):\n%s", file, diff)
	}
}

func TestPieces(t *testing.T) {
	for _, s := range []string{"", "a", strings.Repeat("x", 100), strings.Repeat("word ", 50), strings.Repeat(" ", 100),
		strings.Repeat("e\u0301", 200), strings.Repeat("\U0001F469\u200d\U0001F4BB", 60), strings.Repeat("\U0001F1E9\U0001F1EA", 99),
		strings.Repeat("\u4f60\u597d", 400), strings.Repeat("a\r\n", 300), "\xff" + strings.Repeat("\xc3", 99), strings.Repeat("long text ", 30_000)} {
		all := pieces(s)
		if strings.Join(all, "") != s {
			t.Fatalf("%.40q: the pieces are not the text", s)
		}
		if len(all) > maxPieces+1 {
			t.Errorf("%.40q: %d pieces", s, len(all))
		}
		at := 0
		for _, p := range all {
			if p == "" {
				t.Fatalf("%.40q: an empty piece", s)
			}
			if at > 0 && s[at] != ' ' && !begins(s, at) {
				t.Errorf("%.40q: %q begins within a character", s, p)
			}
			at += len(p)
		}
	}
	if got := pieces("The quick brown fox jumps over the lazy dog"); len(got) != 2 || got[1] != " jumps over the lazy dog" && got[1] != " over the lazy dog" {
		t.Errorf("%q", got)
	}
}
