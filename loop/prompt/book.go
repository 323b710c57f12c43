package prompt

import (
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// Layer is one of the four accounts of a request, the most stable first.
type Layer uint8

// The layers. The first two are the stable prefix: nothing changes them.
const (
	Fixed     Layer = iota // tool specs and system prompt
	Task                   // the first user message
	Documents              // results of reads that name what they read: they can be fetched again
	Talk                   // everything else
	layers
)

// Pin says whether a part may be touched.
type Pin uint8

// Pins.
const (
	Loose  Pin = iota
	Pinned     // never touched
	Unmet      // never touched until another part of this kind is added: what acceptance found missing
)

// Entry is what a plan needs to know of a part.
type Entry struct {
	Role   model.Role // empty for a tool spec
	Layer  Layer
	Bytes  int // of canonical JSON
	Frame  int // of a result: bytes that stay however short it gets
	Round  int // from 1: the answer it belongs to or follows; 0 = before the first
	Pin    Pin
	Stands int  // rounds that it stands for: a summary, or a line that says that they are gone
	Told   bool // with Stands: it is a summary
	Lost   int  // bytes of a result's text that were dropped before
}

// Book is the account of one conversation. The zero Book is empty.
type Book struct {
	entries []Entry
	bytes   [layers]int64
	rounds  int
}

// Add accounts for a part at the conversation's end. Those of Fixed and Task need
// no pin.
func (b *Book) Add(p *model.Part, layer Layer, pin Pin) {
	if p.Role == model.Assistant {
		b.rounds++
	}
	e := Entry{Role: p.Role, Layer: layer, Bytes: p.Size, Round: b.rounds, Pin: pin}
	if p.Role == model.ToolRole && p.Message != nil {
		e.Frame = frame(p.Message)
	}
	if pin == Unmet {
		for i := range b.entries {
			if b.entries[i].Pin == Unmet {
				b.entries[i].Pin = Loose
			}
		}
	}
	b.add(e)
}

func (b *Book) add(e Entry) {
	b.entries = append(b.entries, e)
	b.bytes[e.Layer] += int64(e.Bytes)
}

// Entries are a view of the account: read them only.
func (b *Book) Entries() []Entry { return b.entries }

// Bytes is what the whole conversation has.
func (b *Book) Bytes() int64 {
	n := int64(0)
	for _, v := range b.bytes {
		n += v
	}
	return n
}

// Layer is what one layer has, in bytes.
func (b *Book) Layer(l Layer) int64 { return b.bytes[l] }

// BytesTo is what the first n parts have.
func (b *Book) BytesTo(n int) int64 {
	sum := int64(0)
	for i := range b.entries[:n] {
		sum += int64(b.entries[i].Bytes)
	}
	return sum
}

// pointer begins the line by which a spilled result names the file that holds
// all of it.
const pointer = "\nfull output: /workspace/"

// pointerOf returns that line of a result's text, without line feeds; "" = none.
// It stands at the end, or is none of ours.
func pointerOf(text string) string {
	const within = 512
	tail := text[max(len(text)-within, 0):]
	i := strings.Index(tail, pointer)
	for i >= 0 {
		tail = tail[i+1:]
		if i = strings.Index(tail, pointer); i < 0 {
			line, _, _ := strings.Cut(tail, "\n")
			return line
		}
	}
	return ""
}

// frame is what a result's message has besides the text that can be cut.
func frame(m *model.Message) int {
	const braces = len(`{"call_id":"","content":[{"text":"","type":"text"}],"role":"tool"}`)
	n := braces + len(m.CallID) + maxMarker
	if line := pointerOf(model.TextOf(m.Items)); line != "" {
		n += len(line) + len(`\n`)
	}
	return n
}
