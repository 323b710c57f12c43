package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/loop/model"
)

// What stands in place of what was cut. Bytes of JSON, line feeds included.
const (
	maxMarker = 96  // of shortened and dropped, with their numbers
	maxGone   = 256 // of a whole message that says that rounds are gone
)

func shortened(lost int) string {
	return fmt.Sprintf("\n[shortened to fit the context window: the last %d bytes are gone]", lost)
}

func dropped(lost int) string {
	return fmt.Sprintf("[dropped to fit the context window: %d bytes; read it again if needed]", lost)
}

// noteHead begins every message that stands for rounds.
const noteHead = "[Earlier rounds of this conversation were "

// Note makes the message that stands for so many rounds: their summary, or, where
// that is empty, a line that says that they are gone.
func Note(rounds int, summary string) *model.Part {
	text := fmt.Sprintf(noteHead+"removed to fit the context window: %d. What they found has to be found again where it is needed.]", rounds)
	if summary != "" {
		text = fmt.Sprintf(noteHead+"summarised to fit the context window: %d.]\n%s", rounds, summary)
	}
	return model.NewTextPart(model.User, text)
}

// IsNote reports whether a user's message stands for earlier rounds.
func IsNote(text string) bool { return strings.HasPrefix(text, noteHead) }

// MaxSummary is how many bytes a summary's message may have in a conversation that
// may have window bytes: an eighth, between 512 bytes and 16 KiB.
func MaxSummary(window int64) int64 { return min(max(window/8, 512), 16<<10) }

// Instruction makes the message that asks for a summary of so many bytes.
func Instruction(bytes int64) *model.Part {
	return model.NewTextPart(model.User, fmt.Sprintf("This conversation is about to outgrow the context window. Do not go on with the task now, and call no tool. "+
		"Write a summary of what was said so far, of at most %d characters, from which you can go on: every fact, value, name and path that may "+
		"still be needed, exactly as it was found; what was done, and what came of it; what is left to do. What you summarise will be gone.", bytes*3/4))
}

// Applied is a conversation after a plan.
type Applied struct {
	Keep  int           // parts at the beginning that stay as they are
	Tail  []*model.Part // the parts after them
	Fresh []*model.Part // of Tail, those that are new, in order, with their JSON
}

// Apply performs a plan that was made of this book on the conversation's parts,
// and keeps the account of what comes of it. note stands for the rounds that are
// left out; nil where there are none. Without parts the account alone is kept, as
// if it had been done: then a note has the size that the plan allows for it, and
// told says that it would be a summary.
func (b *Book) Apply(p *Plan, parts []*model.Part, note *model.Part, told bool) Applied {
	if p.Empty() {
		return Applied{Keep: len(parts)}
	}
	old := b.entries
	b.entries, b.bytes = make([]Entry, 0, len(old)), [layers]int64{}
	out := Applied{Keep: -1}
	stands, at := standing(old, p, told)
	for i := range old {
		e := old[i]
		if i == at {
			b.place(&out, i, note, b.noteEntry(p, note, stands, told))
		}
		switch ed := p.Edits[i]; ed.Cut {
		case Taken:
			out.from(i)
		case Shrunk, Gone:
			var part *model.Part
			if parts != nil {
				part = cutPart(parts[i], &e, ed)
			} else {
				e.Bytes = e.Frame + ed.Head
			}
			b.place(&out, i, part, e)
		default:
			b.add(e)
			if out.Keep >= 0 && parts != nil {
				out.Tail = append(out.Tail, parts[i])
			}
		}
	}
	if out.Keep < 0 {
		out.Keep = len(old)
	}
	return out
}

// from says that the conversation is another one from part i on.
func (a *Applied) from(i int) {
	if a.Keep < 0 {
		a.Keep = i
	}
}

// place puts a new part in place of part i, or before it.
func (b *Book) place(out *Applied, i int, p *model.Part, e Entry) {
	out.from(i)
	b.add(e)
	if p != nil {
		out.Tail, out.Fresh = append(out.Tail, p.Lean()), append(out.Fresh, p)
	}
}

// standing counts the rounds for which the plan's note stands, those of notes
// that it replaces included, and says before which entry it is placed: -1 where
// there is none.
func standing(old []Entry, p *Plan, told bool) (stands, at int) {
	at = -1
	for i := range old {
		if p.Edits[i].Cut != Taken {
			continue
		}
		if at < 0 {
			at = i
		}
		stands += old[i].Stands
		if old[i].Role == model.Assistant {
			stands++
		}
	}
	return stands, at
}

func (b *Book) noteEntry(p *Plan, note *model.Part, stands int, told bool) Entry {
	e := Entry{Role: model.User, Layer: Talk, Stands: stands, Told: told, Bytes: p.note}
	if note != nil {
		e.Bytes = note.Size
	}
	return e
}

// Stands is how many rounds the note of a plan stands for, those of notes that it
// replaces included.
func (b *Book) Stands(p *Plan) int {
	n, _ := standing(b.entries, p, false)
	return n
}

// cutPart makes a result shorter and says so in its entry.
func cutPart(p *model.Part, e *Entry, ed Edit) *model.Part {
	text := model.TextOf(p.Message.Items)
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // as a recording holds it
	}
	line := pointerOf(text)
	head := ""
	if ed.Cut == Shrunk {
		head = quotedHead(text, ed.Head)
	}
	e.Lost += len(text) - len(head)
	if ed.Cut == Gone {
		head = dropped(e.Lost)
	} else {
		head += shortened(e.Lost)
	}
	if line != "" {
		head += "\n" + line
	}
	out := model.NewResultPart(p.Message.CallID, head)
	e.Bytes = out.Size
	return out
}

// quotedHead returns the beginning of a text that takes at most n bytes within a
// JSON string, without a broken UTF-8 sequence.
func quotedHead(s string, n int) string {
	i := 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if n -= quotedSize(r, size); n < 0 {
			break
		}
		i += size
	}
	return s[:i]
}

// quotedSize is an upper bound of what a rune takes within canonical JSON.
func quotedSize(r rune, size int) int {
	switch {
	case r == '\n' || r == '\t' || r == '\r' || r == '"' || r == '\\' || r == '\b' || r == '\f':
		return 2
	case r < 0x20 || r == 0x7f || r == '\u2028' || r == '\u2029':
		return 6
	case r == utf8.RuneError && size == 1:
		return 3
	}
	return size
}
