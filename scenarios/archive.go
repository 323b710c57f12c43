package scenarios

import (
	"bytes"
	"strings"
)

// parseTxtar splits a txtar archive: a line "-- NAME --" begins a file, which
// ends before the next such line; what stands before the first is a comment. A
// file that does not end in a line break gets one. Names are not checked here.
func parseTxtar(data []byte) []File {
	var files []File
	start := 0 // of the current file's content
	add := func(end int) {
		if len(files) == 0 {
			return
		}
		b := bytes.Clone(data[start:end])
		if len(b) > 0 && b[len(b)-1] != '\n' {
			b = append(b, '\n')
		}
		files[len(files)-1].Data = b
	}
	for at := 0; at < len(data); {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if name, ok := marker(data[at:next]); ok {
			add(at)
			files = append(files, File{Path: name})
			start = next
		}
		at = next
	}
	add(len(data))
	return files
}

// marker returns the name in a line that begins a file.
func marker(line []byte) (string, bool) {
	s := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
	if len(s) < len("-- x --") || !strings.HasPrefix(s, "-- ") || !strings.HasSuffix(s, " --") {
		return "", false
	}
	name := strings.TrimSpace(s[3 : len(s)-3])
	return name, name != ""
}

// Unpack returns the files of a txtar archive as a folder would hold them.
func Unpack(archive []byte) []File { return parseTxtar(archive) }
