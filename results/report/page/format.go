package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/harnessbench/harnessbench/results/report"
)

// clean makes a text safe to read: control characters, characters that turn the
// direction of writing or cannot be seen, and bytes that are no UTF-8 are written
// visibly (\u202e). It is cut to n characters. It does not escape markup.
func clean(s string, n int) string {
	var b strings.Builder
	for count := 0; len(s) > 0; count++ {
		if count >= n {
			b.WriteString("…")
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\u200d' || r == '\u200c': // scripts and emoji need them
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		s = s[size:]
	}
	return b.String()
}

func name(s string) string     { return clean(s, maxName) }
func sentence(s string) string { return clean(s, maxText) }

// modelName labels a simulated model wherever it stands.
func modelName(s string, simulated bool) string {
	if simulated {
		return name(s) + " (simulated)"
	}
	return name(s)
}

const dash = "–"

// minus writes numbers with a true minus sign, so that it cannot be read as a dash.
func minus(s string) string { return strings.ReplaceAll(s, "-", "−") }

func rate(v *float64) string { return number(v, "%.2f") }
func diff(v *float64) string { return number(v, "%+.2f") }

func number(v *float64, format string) string {
	if v == nil || math.IsNaN(*v) {
		return dash
	}
	return minus(fmt.Sprintf(format, *v))
}

// between prints an interval; "" where there is none.
func between(e report.Estimate, format string) string {
	if e.Value == nil || e.Lo == nil && e.Hi == nil {
		return ""
	}
	end := func(v *float64) string {
		if v == nil {
			return "no limit"
		}
		return minus(fmt.Sprintf(format, *v))
	}
	return "[" + end(e.Lo) + ", " + end(e.Hi) + "]"
}

// pValue prints a p value with two digits that matter.
func pValue(v *float64) string {
	switch {
	case v == nil:
		return dash
	case *v < 0.0001:
		return "< 0.0001"
	case *v < 0.1:
		return strconv.FormatFloat(*v, 'f', 1-int(math.Floor(math.Log10(*v))), 64)
	}
	return fmt.Sprintf("%.2f", *v)
}

// usd prints an amount with three digits that matter and no exponent.
func usd(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return dollars(*v)
}

func dollars(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "$0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	return "$" + minus(strconv.FormatFloat(v, 'f', min(max(digits, 0), 9), 64))
}

// money prints an amount in one of its states.
func money(v *float64, state string) string {
	switch state {
	case report.Infinite:
		return "infinite"
	case report.Nothing:
		return dash
	}
	return usd(v)
}

// factor prints a ratio: "×1.25".
func factor(v *float64) string {
	if v == nil {
		return dash
	}
	if *v >= 100 {
		return "×" + thousands(int64(math.Round(min(*v, 1e15))))
	}
	return "×" + strconv.FormatFloat(*v, 'f', 2, 64)
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

func count(n int) string { return thousands(int64(n)) }

// letter names note i: a..z, then aa, ab, ...
func letter(i int) string {
	s := ""
	for ; i >= 0; i = i/26 - 1 {
		s = string(rune('a'+i%26)) + s
	}
	return s
}

// list joins words as a sentence does.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// finite returns v, or nil where it is no number to draw.
func finite(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

// parts cuts a name where a line may break: after what joins its words.
func parts(s string) (out []string) {
	from := 0
	for i, r := range s {
		if strings.ContainsRune("_-/. ", r) {
			out = append(out, s[from:i+1])
			from = i + 1
		}
	}
	return append(out, s[from:])
}
