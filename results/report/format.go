package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/harnessbench/harnessbench/results/stats"
)

// painter colours text, or leaves it as it is.
type painter struct{ on bool }

func (c painter) wrap(code, s string) string {
	if !c.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (c painter) bold(s string) string { return c.wrap("1", s) }
func (c painter) dim(s string) string  { return c.wrap("2", s) }

// effect is green above 0, red below.
func (c painter) effect(s string, v float64) string {
	switch {
	case v > 0:
		return c.wrap("32", s)
	case v < 0:
		return c.wrap("31", s)
	}
	return s
}

// clean makes a text from a row safe to print: control characters, characters
// that turn the direction of writing, and invalid UTF-8 become "?", and it is
// cut to n characters.
func clean(s string, n int) string {
	r := []rune(strings.ToValidUTF8(s, "?"))
	if len(r) > n {
		r = append(r[:n-2], '.', '.')
	}
	for i, c := range r {
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Zl, c) || unicode.Is(unicode.Zp, c) {
			r[i] = '?'
		}
	}
	return string(r)
}

// markup escapes what Markdown and HTML would take for theirs.
var markup = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "#", "\\#", "!", "\\!",
)

func (p *printer) safe(s string, n int) string {
	s = clean(s, n)
	if p.markdown {
		return markup.Replace(s)
	}
	return s
}

func (p *printer) text(s string) string { return p.safe(s, maxCell) }
func (p *printer) name(s string) string { return p.safe(s, max(maxName, p.names)) }

// distinct returns how many characters of names are needed to tell them apart:
// long arm names of a design differ in their ends.
func distinct(names []string) int {
	for n := maxName; n < maxArm; n += 4 {
		seen := make(map[string]bool, len(names))
		for _, name := range names {
			seen[clean(name, n)] = true
		}
		if len(seen) == len(names) {
			return n
		}
	}
	return maxArm
}

// model names a model; a simulated one is labelled wherever it appears.
func (p *printer) model(s string, simulated bool) string {
	s = p.safe(s, maxModel)
	if simulated {
		s += " (simulated)"
	}
	return s
}

// difference prints an estimate of a difference, with "~" where its interval
// includes 0.
func (p *printer) difference(e Estimate) string {
	s := p.interval(e, "%+.2f")
	if e.Lo != nil && e.Hi != nil && *e.Lo <= 0 && *e.Hi >= 0 {
		return s + " ~"
	}
	return s + "  "
}

// tested prints an estimate of a difference with its adjusted p value.
func (p *printer) tested(e Estimate, t P) string {
	s := p.interval(e, "%+.2f")
	if t.Adjusted != nil && e.Value != nil {
		s += fmt.Sprintf(" %-7s", pValue(*t.Adjusted, ""))
	}
	return s
}

// models names the model of a comparison, or both.
func (p *printer) models(c *Contrast) string {
	if c.BaseModel == "" {
		return p.model(c.Model, c.Simulated)
	}
	return p.model(p.safe(c.Model, maxModel/2)+" against "+p.safe(c.BaseModel, maxModel/2), c.Simulated)
}

// interval prints value, interval and the code of the method.
func (p *printer) interval(e Estimate, format string) string {
	if e.Value == nil {
		return "-"
	}
	s := fmt.Sprintf(format, *e.Value)
	if e.Lo != nil && e.Hi != nil {
		s += fmt.Sprintf(" ["+format+", "+format+"] %-2s", *e.Lo, *e.Hi, p.method(e.Method))
	}
	return s
}

// methodCode is the short name of an interval's method.
func methodCode(m string) string {
	switch m {
	case stats.MethodT:
		return "t"
	case stats.MethodWilson:
		return "W"
	case stats.MethodWilsonEffective:
		return "We"
	case stats.MethodTango:
		return "T"
	case stats.MethodMN:
		return "MN"
	}
	return ""
}

func rate(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *v)
}

// number prints a number that can be missing.
func number(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}

// duration prints the mean time of a trial.
func duration(t Time, trials int) string {
	if t.ModelUS == nil || t.ToolUS == nil || t.WaitUS == nil || trials == 0 {
		return unknownIf(trials)
	}
	s := (float64(*t.ModelUS) + float64(*t.ToolUS) + float64(*t.WaitUS)) / 1e6 / float64(trials)
	if s >= 600 {
		return fmt.Sprintf("%.1f min", s/60)
	}
	return fmt.Sprintf("%.2f s", s)
}

// usd prints an amount with three significant digits and no exponent.
func usd(v *float64, unknown string) string {
	if v == nil {
		return unknown
	}
	if *v == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(*v))))
	return strconv.FormatFloat(*v, 'f', min(max(digits, 0), 9), 64)
}

func amount(m Money) string {
	switch m.Text {
	case Infinite:
		return "inf"
	case Nothing:
		return "-"
	}
	return usd(m.USD, "?")
}

func moneys(c *Contrast) string { return amount(c.A.CostOfPass) + " -> " + amount(c.B.CostOfPass) }

// perTrial prints a mean number of tokens: "980", "12.3k", "4.56M".
func perTrial(total *int64, trials int) string {
	if total == nil || trials == 0 {
		return unknownIf(trials)
	}
	v := float64(*total) / float64(trials)
	switch {
	case v >= 999_500:
		return fmt.Sprintf("%#.3gM", v/1e6)
	case v >= 999.5:
		return fmt.Sprintf("%#.3gk", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return thousands(int64(n)) + " " + word
}

// thousands prints 1234567 as "1,234,567".
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// letter names note i: a..z, then aa, ab, ...
func letter(i int) string {
	s := ""
	for ; i >= 0; i = i/26 - 1 {
		s = string(rune('a'+i%26)) + s
	}
	return s
}

// fold joins parts into lines of at most n characters.
func fold(parts []string, sep string, n int) []string {
	var out []string
	for _, s := range parts {
		if last := len(out) - 1; last >= 0 && len(out[last])+len(sep)+len(s) <= n {
			out[last] += sep + s
		} else {
			out = append(out, s)
		}
	}
	return out
}
