package transcript

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/loop/event"
	"github.com/harnessbench/harnessbench/loop/model"
)

// thousands writes a count with a comma before each three digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}

// took writes a duration for people: three digits that matter.
func took(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', -1, 64) + "ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// tokens writes a usage for people.
func tokens(u model.Usage) string {
	var parts []string
	add := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, thousands(n)+" "+what)
		}
	}
	add(u.InputUncached, "in")
	add(u.CacheRead, "cached")
	add(u.CacheWrite, "written to the cache")
	out := "out"
	if u.Reasoning > 0 {
		out = fmt.Sprintf("out (%s reasoning)", thousands(u.Reasoning))
	}
	add(u.Output, out)
	return strings.Join(parts, " + ")
}

// money writes a cost for people: four digits that matter.
func money(c event.Cost) string {
	if !c.Known {
		return "unknown"
	}
	usd := float64(c.Pico) / 1e12
	if usd >= 1 || c.Pico == 0 {
		return fmt.Sprintf("$%.2f", usd)
	}
	text := strconv.FormatFloat(usd, 'f', -1, 64)
	first := strings.IndexAny(text, "123456789")
	return "$" + text[:min(len(text), first+4)]
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(int64(n)) + " " + noun + "s"
}
