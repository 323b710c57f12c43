package builtin_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/tool/builtin"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

func TestReadFile(t *testing.T) {
	each(t, func(f fixture) {
		f.write("empty", "")
		f.write("three", "one\ntwo\nthree\n")
		f.write("open", "one\ntwo")
		f.write("bin", "ab\x00")
		f.write("latin", "caf\xe9\n")
		f.want("read_file", `{"path":"empty"}`, event.Success, "[empty file]")
		f.want("read_file", `{"path":"three"}`, event.Success, "one\ntwo\nthree\n")
		f.want("read_file", `{"path":"open"}`, event.Success, "one\ntwo")
		f.want("read_file", `{"path":"three","limit":2}`, event.Success, "one\ntwo\n[lines 1-2 of 3; read on with offset=3]")
		f.want("read_file", `{"path":"three","offset":2}`, event.Success, "two\nthree\n[lines 2-3 of 3; end of file]")
		f.want("read_file", `{"path":"three","offset":2,"limit":1}`, event.Success, "two\n[lines 2-2 of 3; read on with offset=3]")
		f.want("read_file", `{"path":"open","offset":2}`, event.Success, "two\n[lines 2-2 of 2; end of file]")
		f.want("read_file", `{"path":"open","offset":2.0}`, event.Success, "two\n[lines 2-2 of 2; end of file]")
		f.want("read_file", `{"path":"three","start_byte":5}`, event.Success, "wo\nthree\n[lines 2-3 of 3, from byte 5; end of file]")
		f.want("read_file", `{"path":"three","start_byte":4}`, event.Success, "two\nthree\n[lines 2-3 of 3; end of file]")
		f.write("wide", "é☃\n")
		f.want("read_file", `{"path":"wide","start_byte":3}`, event.Success, "\n[lines 1-1 of 1, from byte 5; end of file]")
		f.want("read_file", `{"path":"latin","start_byte":0}`, event.Success, "caf\uFFFD\n[lines 1-1 of 1; end of file; bytes that are not UTF-8 are shown as \uFFFD]")
		f.want("read_file", `{"path":"three","offset":4}`, event.ToolError, "/workspace/three: offset 4 is beyond the end; the file has 3 lines")
		f.want("read_file", `{"path":"three","start_byte":14}`, event.ToolError, "/workspace/three: start_byte 14 is beyond the end; the file has 14 bytes")
		f.want("read_file", `{"path":"bin"}`, event.ToolError, "/workspace/bin: is a binary file (NUL at byte 2, 3 bytes in all); only text can be used")
		f.want("read_file", `{"path":"latin"}`, event.Success, "caf\uFFFD\n[lines 1-1 of 1; end of file; bytes that are not UTF-8 are shown as \uFFFD]")
		if err := f.ws.Spill(".harness/spill/x", []byte("spilled")); err != nil {
			t.Fatal(err)
		}
		f.want("read_file", `{"path":"/workspace/.harness/spill/x"}`, event.Success, "spilled")
	})
}

var (
	byLine = regexp.MustCompile(`read on with offset=(\d+)\]$`)
	byByte = regexp.MustCompile(`read on with start_byte=(\d+)\]$`)
	remark = regexp.MustCompile(`\n?\[line[^\n]*\]$`)
)

// TestPagesJoin: following the remarks gives every byte of a file once, in pages
// within the bounds, none of which splits a UTF-8 sequence.
func TestPagesJoin(t *testing.T) {
	for name, content := range map[string]string{
		"short lines": strings.Repeat("0123456789 é\n", 9000),
		"many lines":  strings.Repeat("\n", 7000),
		"long lines":  strings.Repeat(strings.Repeat("é☃", 9000)+"\n", 3),
		"one line":    strings.Repeat("x☃", 30_000),
		"mixed":       strings.Repeat("a\n", 100) + strings.Repeat("é", 20_000) + "\nend\n" + strings.Repeat("b", 16<<10) + "\n" + strings.Repeat("c", 16<<10-1) + "\nlast",
		"exact page":  strings.Repeat("a", 16<<10),
		"page and 1":  strings.Repeat("a", 16<<10) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			ws, _ := workspace.NewMem(nil, nil)
			f := newFixture(t, ws)
			f.write("f", content)
			var got strings.Builder
			args := `{"path":"f"}`
			for pages := 0; ; pages++ {
				r := f.call("read_file", args)
				if r.Outcome != event.Success || !utf8.ValidString(r.Text) || pages > 1000 {
					t.Fatalf("%s: %s %.200q", args, r.Outcome, r.Text)
				}
				body := r.Text
				if body != content {
					body = remark.ReplaceAllString(body, "")
				}
				if len(body) > builtin.PageBytes || strings.Count(body, "\n") > builtin.PageLines {
					t.Fatalf("%s: a page of %d bytes", args, len(body))
				}
				got.WriteString(body)
				if m := byLine.FindStringSubmatch(r.Text); m != nil {
					got.WriteString("\n") // it went with the remark
					args = fmt.Sprintf(`{"path":"f","offset":%s}`, m[1])
				} else if m := byByte.FindStringSubmatch(r.Text); m != nil {
					args = fmt.Sprintf(`{"path":"f","start_byte":%s}`, m[1])
				} else {
					if body != content {
						got.WriteString("\n")
					}
					break
				}
			}
			if strings.TrimSuffix(got.String(), "\n") != strings.TrimSuffix(content, "\n") {
				t.Errorf("the pages join to %d bytes, want %d", got.Len(), len(content))
			}
		})
	}
}

// FuzzReadFile: whatever the file and the window, the result is valid UTF-8
// within bounds.
func FuzzReadFile(f *testing.F) {
	f.Add("one\ntwo\n", uint16(1), 1, 2, 0)
	f.Add("é☃", uint16(10_000), 1, 1, 16_385)
	f.Add("\xff\xfe\n", uint16(3), 1, 1, 1)
	f.Fuzz(func(t *testing.T, piece string, times uint16, offset, limit, start int) {
		content := strings.Repeat(piece, min(int(times), 40_000/(len(piece)+1)))
		ws, _ := workspace.NewMem(nil, nil)
		fx := newFixture(t, ws)
		fx.write("f", content)
		for _, args := range []string{
			fmt.Sprintf(`{"limit":%d,"offset":%d,"path":"f"}`, limit, offset),
			fmt.Sprintf(`{"path":"f","start_byte":%d}`, start),
		} {
			r := fx.call("read_file", args)
			if !utf8.ValidString(r.Text) || len(r.Text) > builtin.PageBytes+300 {
				t.Fatalf("%s: %d bytes", args, len(r.Text))
			}
		}
	})
}
