package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// lineEvery is how often progress is said where no line can be redrawn.
const lineEvery = 5 * time.Second

// drawEvery is how often a terminal's line is redrawn.
const drawEvery = 100 * time.Millisecond

// Progress says on stderr how far long work is: counts, rate, cost and time
// left. On a terminal one line is redrawn; elsewhere a plain line is printed at
// most every five seconds, and one at the end if any was. It is safe for use by
// several goroutines. A nil Progress says nothing.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	what  string // "trials", "sessions"
	total int
	done  int
	drawn int // of done, what the bar knows
	tally map[string]int
	order []string // of tally
	cost  float64
	costs bool // some cost is known
	began time.Time
	last  time.Time
	said  bool
	now   func() time.Time
	bar   *progressbar.ProgressBar // nil off a terminal
}

// NewProgress starts to report on work of total pieces (0 = unknown). labels are
// the names that Done may count, in the order to show them.
func NewProgress(w io.Writer, term Term, what string, total int, labels ...string) *Progress {
	return newProgress(w, term, what, total, time.Now, labels)
}

func newProgress(w io.Writer, term Term, what string, total int, now func() time.Time, labels []string) *Progress {
	p := &Progress{w: w, what: what, total: total, tally: map[string]int{}, order: labels, now: now}
	p.began = now()
	p.last = p.began
	if term.TTY {
		size := total
		if total <= 0 {
			size = -1
		}
		p.bar = progressbar.NewOptions(size,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString(what),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(24),
			progressbar.OptionEnableColorCodes(term.Color),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// Done counts one finished piece under a label ("" = none) and adds what it
// cost in USD (nil = unknown).
func (p *Progress) Done(label string, cost *float64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if label != "" {
		p.tally[label]++
	}
	if cost != nil {
		p.cost, p.costs = p.cost+*cost, true
	}
	every, draw := lineEvery, p.line
	if p.bar != nil {
		every, draw = drawEvery, p.draw
	}
	if t := p.now(); t.Sub(p.last) >= every {
		p.last = t
		draw(t)
	}
}

// draw redraws the terminal's line.
func (p *Progress) draw(time.Time) {
	_ = p.bar.Add(p.done - p.drawn) // drawing cannot matter to the work
	p.drawn = p.done
	p.bar.Describe(p.what + p.tallies())
}

// Note prints a line without disturbing the progress line.
func (p *Progress) Note(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.w, SanitizeLine(fmt.Sprintf(format, args...)))
	if p.bar != nil {
		_ = p.bar.RenderBlank()
	}
}

// Close ends the report.
func (p *Progress) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		_ = p.bar.Exit()
	} else if p.said {
		p.line(p.now())
	}
}

// line prints a plain line.
func (p *Progress) line(t time.Time) {
	p.said = true
	elapsed := t.Sub(p.began)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", p.what, p.done)
	if p.total > 0 {
		fmt.Fprintf(&b, "/%d (%d%%)", p.total, 100*p.done/p.total)
	}
	b.WriteString(p.tallies())
	if s := elapsed.Seconds(); s > 0 {
		fmt.Fprintf(&b, ", %.1f/s", float64(p.done)/s)
	}
	if left := p.total - p.done; left > 0 && p.done > 0 {
		d := time.Duration(float64(elapsed) / float64(p.done) * float64(left))
		fmt.Fprintf(&b, ", %s left", d.Round(time.Second))
	}
	fmt.Fprintln(p.w, b.String())
}

// tallies shows the counts by label, and the cost.
func (p *Progress) tallies() string {
	var b strings.Builder
	for _, l := range p.order {
		if p.tally[l] > 0 {
			fmt.Fprintf(&b, ", %d %s", p.tally[l], l)
		}
	}
	if p.costs && p.cost > 0 {
		fmt.Fprintf(&b, ", $%.2f", p.cost)
	}
	return b.String()
}
