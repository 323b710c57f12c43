package recorder_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder"
	"github.com/harnessbench/harnessbench/recorder/internal/sample"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// The size budget: what a turn and a call may add to what was said in them.
const (
	turnBudget = 500
	callBudget = 400
)

// TestSizeBudget records turns with one and with four calls: a session has the
// bytes that were said (answers, arguments, raw and rewritten results, feedback)
// and at most the budget beyond. Escaping counts as said.
func TestSizeBudget(t *testing.T) {
	text := strings.Repeat("a line of a result, as they are\n", 12)
	args := `{"path":"/workspace/src/internal/report.md"}`
	write := `{"content":"` + strings.Repeat("written by the model ", 30) + `","path":"/workspace/report.md"}`
	read := sample.Call{Name: "read_file", Args: args, Resources: []string{"/workspace/src/internal/report.md"}, Text: text, Took: 50 * time.Millisecond}
	cut := read
	cut.Rewrite = "a line\n[cut: 380 bytes]"
	save := sample.Call{Name: "write_file", Args: write, Resources: []string{"/workspace/report.md"}, Text: "wrote 630 bytes to /workspace/report.md", Took: time.Millisecond,
		Delta: []event.Delta{{Op: "write", Path: "report.md", Before: model.SumString("x"), After: model.SumString("y"), Size: 630, Mode: 0o644, Content: []byte(strings.Repeat("written by the model ", 30))}}}
	for name, c := range map[string]struct {
		calls []sample.Call
		said  int // rewritten results
	}{
		"one read":   {[]sample.Call{read}, 0},
		"four reads": {[]sample.Call{read, read, read, read}, 0},
		"one write":  {[]sample.Call{save}, 0},
		"rewritten":  {[]sample.Call{cut}, len(cut.Rewrite)},
	} {
		t.Run(name, func(t *testing.T) {
			const turns = 1000
			size := func(n int) int {
				return len(record(t, func(s event.Sink) error {
					talk := sample.New(s, event.MainLane)
					talk.Open()
					for talk.Turn = 1; talk.Turn <= n; talk.Turn++ {
						talk.Ask()
						talk.Answer("I look.", c.calls...)
						talk.Close()
					}
					talk.End(event.TurnLimit, "")
					return talk.Err
				}))
			}
			said := len("I look.") + c.said
			for _, call := range c.calls {
				said += len(call.Name) + len(quoted(call.Args)) + len(quoted(call.Text))
			}
			got := (size(turns) - size(0)) / turns
			limit := said + turnBudget + callBudget*len(c.calls)
			t.Logf("%d bytes a turn, %d of them said; budget %d", got, said, limit)
			if c.said > 0 {
				limit += callBudget // a guard's firing and a part of its own
			}
			if got > limit {
				t.Errorf("%d bytes a turn, budget %d", got, limit)
			}
		})
	}
}

func quoted(s string) []byte { return model.AppendString(nil, s) }

// BenchmarkRecordTurn is what the lines of a turn with one call cost to record,
// without a loop and a disk.
func BenchmarkRecordTurn(b *testing.B) {
	for _, size := range []int{200, 1024, 4096, 24 << 10} {
		b.Run(itoa(size), func(b *testing.B) {
			events := turn(size)
			rec, err := recorder.New(session.NewWriter(io.Discard), sample.Header(), recorder.Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, ev := range events {
					if err := rec.Emit(ev); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func itoa(n int) string {
	if n >= 1024 {
		return string(rune('0'+n/1024/10)) + string(rune('0'+n/1024%10)) + "KiB"
	}
	return "200B"
}

// turn returns the events of one turn with one call, parts and digests ready.
func turn(size int) []event.Event {
	var out []event.Event
	sink := sinkFunc(func(ev event.Event) error {
		out = append(out, ev)
		return nil
	})
	if err := sample.Many(sink, 2, size); err != nil {
		panic(err)
	}
	last := -1
	for i, ev := range out {
		if ev.Header().Turn == 2 && ev.Kind() != event.KindEnd {
			if last < 0 {
				last = i
			}
		}
	}
	return out[last : len(out)-1]
}

// BenchmarkEncodeTurn is what a replay adds to the loop: encoding the events of a
// turn, to be compared with what was recorded.
func BenchmarkEncodeTurn(b *testing.B) {
	events := turn(1024)
	enc := recorder.NewEncoder(recorder.Options{})
	b.ReportAllocs()
	for b.Loop() {
		for _, ev := range events {
			if _, _, err := enc.Encode(ev); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkRead streams sessions back: checked only, and with everything decoded
// that a replay serves.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{200, 1024, 4096} {
		s := record(b, func(s event.Sink) error { return sample.Many(s, 300, size) })
		run := func(name string, each func(l *session.Line) error) {
			b.Run(itoa(size)+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(s)))
				b.ReportAllocs()
				for b.Loop() {
					r := session.NewReader(bytes.NewReader(s))
					for {
						l, err := r.Next()
						if err == io.EOF {
							break
						}
						if err == nil {
							err = each(l)
						}
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
		run("verify", func(*session.Line) error { return nil })
		run("inputs-decoded", decodeInputs)
	}
}

// decodeInputs decodes what a replay has to serve.
func decodeInputs(l *session.Line) (err error) {
	switch l.Type {
	case session.TypeResponse:
		_, err = l.Response()
	case session.TypeToolResult:
		_, err = l.ToolResult()
	}
	return err
}
