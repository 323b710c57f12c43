package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

var writeSpec = newSpec("write_file", event.Write,
	"Writes a text file: creates it, with the folders above it, or replaces what is there.",
	`{"additionalProperties":false,"properties":{`+
		`"content":{"description":"the whole new content","type":"string"},`+
		`"path":{"description":"file below /workspace","type":"string"}`+
		`},"required":["path","content"],"type":"object"}`)

var editSpec = newSpec("edit_file", event.Write,
	"Replaces one piece of a text file. The old text must occur exactly once, white space included.",
	`{"additionalProperties":false,"properties":{`+
		`"new":{"description":"text to put in its place; may be empty","type":"string"},`+
		`"old":{"description":"text to replace, exactly as it stands in the file","minLength":1,"type":"string"},`+
		`"path":{"description":"file below /workspace","type":"string"}`+
		`},"required":["path","old","new"],"type":"object"}`)

func writeFile(_ context.Context, ws workspace.Workspace, args string) tool.Result {
	rel, err := relPath(args)
	if err != nil {
		return failed(err.Error())
	}
	content := textArg(args, "content")
	d, err := ws.WriteFile(rel, []byte(content))
	if err != nil {
		return failed(err.Error())
	}
	return success(fmt.Sprintf("wrote %d bytes to %s", len(content), workspace.Abs(rel)), d)
}

func editFile(_ context.Context, ws workspace.Workspace, args string) tool.Result {
	rel, err := relPath(args)
	if err != nil {
		return failed(err.Error())
	}
	was, now := textArg(args, "old"), textArg(args, "new")
	abs := workspace.Abs(rel)
	switch was {
	case "":
		return failed(abs + ": the old text is empty; give the text to replace")
	case now:
		return failed(abs + ": old and new text are equal; nothing to change")
	}
	data, err := readText(ws, rel)
	if err != nil {
		return failed(err.Error())
	}
	text := string(data)
	count, lines := occurrences(text, was)
	switch {
	case count == 0:
		return failed(abs + ": the old text does not occur" + editHint(text, was))
	case count > 1:
		return failed(fmt.Sprintf("%s: the old text occurs %d times (%s); add the lines around it until it is unique", abs, count, lines))
	}
	d, err := ws.WriteFile(rel, []byte(strings.Replace(text, was, now, 1)))
	if err != nil {
		return failed(err.Error())
	}
	return success(fmt.Sprintf("replaced 1 match in %s (%s)", abs, lines), d)
}

// occurrences counts where old begins in text, overlapping places included, and
// names the first lines on which it does.
func occurrences(text, old string) (count int, lines string) {
	const named = 5
	var b strings.Builder
	line, from := 1, 0
	for {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		line += strings.Count(text[from:from+i], "\n")
		switch count++; {
		case count == 1:
			fmt.Fprintf(&b, "line %d", line)
		case count <= named:
			fmt.Fprintf(&b, ", %d", line)
		case count == named+1:
			b.WriteString(", ...")
		}
		if text[from+i] == '\n' {
			line++
		}
		from += i + 1
	}
	return count, b.String()
}

// editHint says why a text that does not occur might be thought to.
func editHint(text, old string) string {
	switch {
	case strings.Contains(text, "\r\n") && strings.Contains(strings.ReplaceAll(text, "\r\n", "\n"), old):
		return `; the lines of this file end in \r\n`
	case strings.Contains(squeeze(text), squeeze(old)):
		return "; it does with other white space: copy it exactly from read_file"
	case strings.Contains(strings.ToLower(text), strings.ToLower(old)):
		return "; it does in other case: copy it exactly from read_file"
	}
	return "; read the file again and copy the text exactly"
}

// squeeze makes each run of white space one space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
