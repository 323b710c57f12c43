package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// Term says what may be written to an output.
type Term struct {
	TTY   bool // a person is looking: lines may be redrawn
	Color bool // colours may be used
}

// Detect looks at an output and the environment. Colour needs a terminal, no
// NO_COLOR (https://no-color.org: set and not empty) and a TERM other than dumb.
func Detect(w io.Writer) Term {
	f, ok := w.(*os.File)
	tty := ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
	dumb := os.Getenv("TERM") == "dumb"
	return Term{TTY: tty && !dumb, Color: tty && !dumb && os.Getenv("NO_COLOR") == ""}
}

// JSONFlag adds --json to a command that prints data.
func JSONFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON instead of text")
}

// WriteJSON prints v as JSON with an indent of two spaces and a final newline.
// Maps are sorted by key, so equal values give equal bytes. Characters that a
// terminal could take for commands are escaped, which says the same in JSON.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err := w.Write(escapeHostile(b.Bytes()))
	return err
}

// escapeHostile escapes what Sanitize would rewrite. In JSON such characters
// stand only within strings; the encoder has escaped those below 0x20.
func escapeHostile(data []byte) []byte {
	if safe(string(data), false) {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case !hostile(r, false):
			out = append(out, data[:n]...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		data = data[n:]
	}
	return out
}

// Args makes the errors of an argument check errors of usage.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usagef("usage: "+cmd.UseLine(), "%s: %v", cmd.CommandPath(), err)
		}
		return nil
	}
}
