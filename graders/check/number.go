package check

import (
	"math/big"
	"strconv"
	"strings"
)

// decimal is a JSON number by value: (-1)^neg x 0.digits x 10^exp, digits
// without zeros at either end. Zero has no digits, and no sign.
type decimal struct {
	neg    bool
	digits string
	exp    int
	ok     bool   // false: no number, or an exponent beyond any use
	lexeme string // as written
}

// maxExponent bounds what is computed with; maxDigits likewise. They leave room
// for every float64 and for integers of thousands of digits.
const (
	maxExponent = 1_000_000
	maxDigits   = 2_000
)

// isJSONNumber reports whether s is a number by the grammar of RFC 8259.
func isJSONNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	n := digitsAt(s)
	if n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	s = s[n:]
	if strings.HasPrefix(s, ".") {
		if n = digitsAt(s[1:]); n == 0 {
			return false
		}
		s = s[1+n:]
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if n = digitsAt(s); n == 0 {
			return false
		}
		s = s[n:]
	}
	return s == ""
}

// digitsAt counts the digits at the start of s.
func digitsAt(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// parseDecimal reads a JSON number.
func parseDecimal(lexeme string) decimal {
	d := decimal{lexeme: lexeme}
	if !isJSONNumber(lexeme) {
		return d
	}
	mantissa, exponent := lexeme, 0
	if i := strings.IndexAny(lexeme, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(lexeme[i+1:], "+"))
		if err != nil {
			e = 2 * maxExponent // out of range, in either direction
		}
		mantissa, exponent = lexeme[:i], e
	}
	d.neg = strings.HasPrefix(mantissa, "-")
	whole, frac, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	all := whole + frac
	d.digits = strings.TrimLeft(all, "0")
	d.exp = len(whole) - (len(all) - len(d.digits)) + exponent
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{lexeme: lexeme, ok: true}
	}
	d.ok = exponent >= -maxExponent && exponent <= maxExponent
	return d
}

// equal compares by value; numbers out of range are equal when they are written
// alike.
func (d decimal) equal(e decimal) bool {
	if !d.ok || !e.ok {
		return d.lexeme == e.lexeme
	}
	return d.neg == e.neg && d.digits == e.digits && d.exp == e.exp
}

// rat returns the exact value; false when it is out of the range that
// arithmetic is done in (2,000 digits before or after the point).
func (d decimal) rat() (*big.Rat, bool) {
	if !d.ok || len(d.digits) > maxDigits || d.exp > maxDigits || d.exp < -maxDigits {
		return nil, false
	}
	if d.digits == "" {
		return new(big.Rat), true
	}
	n, ok := new(big.Int).SetString(d.digits, 10)
	if !ok {
		return nil, false
	}
	if d.neg {
		n.Neg(n)
	}
	r := new(big.Rat).SetInt(n)
	shift := d.exp - len(d.digits) // value = digits x 10^shift
	pow := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	if shift >= 0 {
		return r.Mul(r, new(big.Rat).SetInt(pow)), true
	}
	return r.Quo(r, new(big.Rat).SetInt(pow)), true
}

// within reports whether |got - want| <= max(tolerance, relative x |want|). An
// empty tolerance or relative is 0. ok is false when a number is out of range.
func within(got, want, tolerance, relative string) (inside, ok bool) {
	g, ok1 := parseDecimal(got).rat()
	w, ok2 := parseDecimal(want).rat()
	t, ok3 := orZero(tolerance)
	r, ok4 := orZero(relative)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return false, false
	}
	room := r.Mul(r, new(big.Rat).Abs(w))
	if t.Cmp(room) > 0 {
		room = t
	}
	diff := g.Sub(g, w)
	return diff.Abs(diff).Cmp(room) <= 0, true
}

func orZero(lexeme string) (*big.Rat, bool) {
	if lexeme == "" {
		return new(big.Rat), true
	}
	return parseDecimal(lexeme).rat()
}

// readNumber reads a number as people write it: white space around it, a plus,
// leading zeros, and thousands separated by commas in groups of three (1,234.5).
// It returns the JSON lexeme.
func readNumber(text string) (string, bool) {
	s := strings.TrimSpace(text)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign = "-"
	}
	s = strings.TrimLeft(s, "+-")
	if len(strings.TrimSpace(text))-len(s) > 1 {
		return "", false
	}
	whole := s
	if i := strings.IndexAny(s, ".eE"); i >= 0 {
		whole = s[:i]
	}
	rest := s[len(whole):]
	if strings.Contains(whole, ",") {
		groups := strings.Split(whole, ",")
		for i, g := range groups {
			if digitsAt(g) != len(g) || i > 0 && len(g) != 3 || i == 0 && (g == "" || len(g) > 3) {
				return "", false
			}
		}
		whole = strings.Join(groups, "")
	}
	if whole == "" && strings.HasPrefix(rest, ".") {
		whole = "0"
	}
	if trimmed := strings.TrimLeft(whole, "0"); whole != "" && digitsAt(whole) == len(whole) {
		if whole = trimmed; whole == "" {
			whole = "0"
		}
	}
	lexeme := sign + whole + rest
	return lexeme, isJSONNumber(lexeme)
}
