package check

import (
	"strings"
	"testing"
)

// The words name files and never the value that is wanted there.
func TestWords(t *testing.T) {
	list := Acceptance{
		{Kind: FileExists, Path: "report.md"},
		{Kind: FilesExist, Paths: []string{"a.txt", "b.txt"}},
		{Kind: FileContains, Path: "a.txt", Want: "Total:"},
		{Kind: FileEquals, Path: "a.txt", Want: "secret"},
		{Kind: Equals, Want: "secret"},
		{Kind: NumberWithin, Want: "41"},
		{Kind: JSONEquals, Path: "t.json", Want: `{"n":41}`},
		{Kind: Any, Of: []Spec{{Kind: FileExists, Path: "x"}, {Kind: FileExists, Path: "y"}}},
		{Kind: FileEquals, Path: "a.txt", Want: "secret", Hint: "Put the rota into a.txt."},
	}
	want := `The file report.md exists.
These files exist: a.txt, b.txt.
a.txt contains "Total:".
a.txt says what the task asks for.
The final answer is what the task asks for.
The final answer says what the task asks for.
t.json says what the task asks for.
The file x exists; or The file y exists.
Put the rota into a.txt.`
	if got := strings.Join(list.Words(), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	for kind, info := range kinds {
		if info.known && (Acceptance{{Kind: kind, Path: "p"}}).Words()[0] == "" {
			t.Errorf("%s has no words", kind)
		}
	}
}
