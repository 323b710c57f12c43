package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/tool"
	"github.com/harnessbench/harnessbench/loop/workspace"
)

// Bounds of grep.
const (
	GrepMatches = 50      // matches shown by default
	GrepLine    = 500     // bytes shown of a line
	GrepFile    = 4 << 20 // bytes of the largest file that a search of a folder looks into
	grepTotal   = 64 << 20
	grepWork    = 1 << 30 // bytes times size of the pattern's program
)

var grepSpec = newSpec("grep", event.Read,
	"Searches text files line by line for a regular expression (RE2 syntax). Shows matches as path:line:text, sorted by path; at most 50 unless max_matches says otherwise, and 16 KiB.",
	`{"additionalProperties":false,"properties":{`+
		`"max_matches":{"description":"how many matches to show; default 50","maximum":500,"minimum":1,"type":"integer"},`+
		`"path":{"description":"file or folder below /workspace; default /workspace","type":"string"},`+
		`"pattern":{"description":"regular expression (RE2)","maxLength":1000,"minLength":1,"type":"string"}`+
		`},"required":["pattern"],"type":"object"}`)

func grep(ctx context.Context, ws workspace.Workspace, args string) tool.Result {
	rel, err := relPath(args)
	if err != nil {
		return failed(err.Error())
	}
	re, size, err := compilePattern(textArg(args, "pattern"))
	if err != nil {
		return failed(err.Error())
	}
	limit, _ := intArg(args, "max_matches", GrepMatches, 1, 500)
	s := search{ctx: ctx, ws: ws, re: re, limit: limit, budget: min(grepTotal, grepWork/int64(size))}
	s.prefix, _ = re.LiteralPrefix()

	in, err := ws.Stat(rel)
	switch {
	case err != nil:
	case !in.Dir:
		err = s.named(in)
	default:
		err = ws.Walk(rel, s.file)
	}
	switch {
	case ctx.Err() != nil:
		return cancelled()
	case err != nil && !errors.Is(err, errEnough):
		return failed(err.Error())
	}
	return success(s.text())
}

// errEnough ends a search that may not show or read more.
var errEnough = errors.New("enough")

// search collects matches.
type search struct {
	ctx    context.Context
	ws     workspace.Workspace
	re     *regexp.Regexp
	prefix string // every match holds it
	limit  int
	budget int64 // bytes that may still be read

	out     strings.Builder
	matches int
	large   int // files that were too large to look into
	remark  string
}

// named searches the one file that the call names: what is wrong with it is
// said.
func (s *search) named(in workspace.Info) error {
	if in.Size > s.budget {
		return &workspace.Error{Path: workspace.Abs(in.Path), What: fmt.Sprintf("is too large to search with this pattern: %d bytes", in.Size), Err: workspace.ErrTooLarge}
	}
	data, err := readText(s.ws, in.Path)
	if err != nil {
		return err
	}
	return s.lines(in.Path, data)
}

// file searches one file of a folder; binary ones are skipped.
func (s *search) file(in workspace.Info) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if in.Size > GrepFile {
		s.large++
		return nil
	}
	if in.Size > s.budget {
		s.remark = fmt.Sprintf("[stopped before %s: too much to search; name a smaller path]", workspace.Abs(in.Path))
		return errEnough
	}
	s.budget -= in.Size
	data, _, err := s.ws.ReadFile(in.Path, 0, GrepFile)
	if err != nil {
		return err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil
	}
	return s.lines(in.Path, data)
}

// lines looks at the lines of a file, and only at those that hold the prefix.
func (s *search) lines(path string, data []byte) error {
	line, counted := 1, 0 // the number of the line that holds byte counted
	for at := 0; at < len(data); {
		i := bytes.Index(data[at:], []byte(s.prefix))
		if i < 0 {
			return nil
		}
		start := at + bytes.LastIndexByte(data[at:at+i], '\n') + 1
		end := len(data)
		if j := bytes.IndexByte(data[start:], '\n'); j >= 0 {
			end = start + j
		}
		at = end + 1
		text := bytes.TrimSuffix(data[start:end], []byte{'\r'})
		if !s.re.Match(text) {
			continue
		}
		line += bytes.Count(data[counted:start], newline)
		counted = start
		if err := s.match(path, line, text); err != nil {
			return err
		}
	}
	return s.ctx.Err()
}

// match adds one match, or says that there is no more room.
func (s *search) match(path string, line int, text []byte) error {
	if s.matches == s.limit {
		s.remark = fmt.Sprintf("[first %d matches shown; there are more: narrow pattern or path, or raise max_matches]", s.matches)
		return errEnough
	}
	more := ""
	if len(text) > GrepLine {
		more = fmt.Sprintf("... [line cut, %d bytes]", len(text))
		text = trimRune(text[:GrepLine])
	}
	hit := fmt.Sprintf("%s:%d:%s%s\n", workspace.Abs(path), line, strings.ToValidUTF8(string(text), "\uFFFD"), more)
	if s.out.Len()+len(hit) > PageBytes {
		s.remark = fmt.Sprintf("[first %d matches shown, which fill 16 KiB; there are more: narrow pattern or path]", s.matches)
		return errEnough
	}
	s.out.WriteString(hit)
	s.matches++
	return nil
}

// text puts the answer together.
func (s *search) text() string {
	if s.matches == 0 {
		s.out.WriteString("no matches\n")
	}
	if s.remark != "" {
		s.out.WriteString(s.remark + "\n")
	}
	if s.large > 0 {
		fmt.Fprintf(&s.out, "[%d larger than 4 MiB not searched; name a file to search it]\n", s.large)
	}
	return strings.TrimSuffix(s.out.String(), "\n")
}
