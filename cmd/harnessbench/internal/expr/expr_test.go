package expr

import (
	"errors"
	"strings"
	"testing"
)

func known(name string, args []float64) error {
	switch {
	case name == "hat" && len(args) == 1, len(args) == 0 && strings.Contains(" a b c none ", " "+name+" "):
		return nil
	}
	return errors.New("there is no such name")
}

func get(name string, args []float64) (float64, bool) {
	switch name {
	case "a":
		return 1, true
	case "b":
		return 2, true
	case "c":
		return -0.05, true
	case "hat":
		return args[0], true
	}
	return 0, false
}

func TestEval(t *testing.T) {
	for _, c := range []struct {
		src  string
		want Truth
	}{
		{"a < b", True}, {"a>b", False}, {"a <= 1", True}, {"a >= 1.0", True}, {"a == 1e0", True}, {"a != b", True}, {"c < -0.04", True}, {"c == -5e-2", True},
		{"0<a", True}, {"1 < 2", True}, {"+1 < 2", True}, {"hat(3) == 3", True}, {"-1 < a", True},
		{"a < b && b < a", False}, {"a < b || b < a", True},
		{"a > b && a > b || a < b", True},    // && binds more than ||
		{"a < b || a > b && a > b", True},    //
		{"(a < b || a > b) && a > b", False}, //
		{"!a < b", False},                    // ! takes the whole comparison
		{"!a > b && a < b", True},            // and no more
		{"!(a > b || b > a)", False},         //
		{"!!a < b", True},                    //
		{"none < 1", Unknown},                //
		{"!none < 1", Unknown},               //
		{"none < 1 && a > b", False},         // what is unknown cannot change it
		{"none < 1 && a < b", Unknown},       //
		{"none < 1 || a < b", True},          //
		{"none < 1 || a > b", Unknown},       //
		{"known(none) && none < 1", False},   //
		{"known(a) && a == 1", True},         //
		{"!known(none) || none > 1", True},   //
		{"known(hat(2)) && hat( 2 ) > 1", True},
	} {
		x, err := Parse(c.src, known)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if got := x.Eval(get); got != c.want {
			t.Errorf("%s is %v, want %v", c.src, got, c.want)
		}
	}
	x, err := Parse("a < b && hat(3) > none && a > 0", known)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := x.Values(get), "a = 1, b = 2, hat(3) = 3, none = unknown"; got != want {
		t.Errorf("values %q, want %q", got, want)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		src    string
		column int
		want   string
	}{
		{"", 1, "want a name or a number"},
		{"a", 2, "want a comparison"},
		{"a <", 4, "want a name or a number"},
		{"a < b <= 2", 7, "not chained"},
		{"a < b b", 7, "want && or ||"},
		{"a < b & b", 7, "want && or ||"},
		{"a = b", 3, "want a comparison"},
		{"x < 1", 1, "no such name"},
		{"a < 1 && hat < 1", 10, "no such name"},
		{"(a < b", 7, "want ) for the ( at column 1"},
		{"a < 1..2", 5, "is no number"},
		{"a < 5%", 6, "5 % is 0.05"},
		{"hat(x) < 1", 5, "want a name or a number"},
		{"known a", 7, "want ( and a name"},
		{"known(3)", 7, "want a name"},
		{"known(a", 8, "want )"},
		{"a < b || ", 10, "want a name or a number"},
		{"a < 'b'", 5, "want a name or a number"},
		{strings.Repeat("(", 200), 101, "nested more than 100"},
		{strings.Repeat("!", 200) + "a<b", 101, "nested more than 100"},
		{strings.Repeat(" ", 5000), 1, "longer than"},
	} {
		_, err := Parse(c.src, known)
		var s *SyntaxError
		if !errors.As(err, &s) || s.Column != c.column || !strings.Contains(s.Error(), c.want) {
			t.Errorf("%.20q: %v, want column %d and %q", c.src, err, c.column, c.want)
		}
	}
}

// What was read is judged without a fault, and reading is stable.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a < b", "!(a >= 1e3) || known(none) && hat(3) != -2", "((a<b))", "a < b && ", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := Parse(s, known)
		if err != nil {
			var e *SyntaxError
			if !errors.As(err, &e) || e.Column < 1 || e.Column > len(s)+1 {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		not, err := Parse("!("+s+")", known)
		if err != nil {
			if len(s)+3 > maxLength || strings.Contains(err.Error(), "nested") {
				return
			}
			t.Fatalf("%q reads, and its negation does not: %v", s, err)
		}
		if x.Eval(get) != -not.Eval(get) {
			t.Fatalf("%q is %v, and its negation %v", s, x.Eval(get), not.Eval(get))
		}
		x.Values(get)
	})
}
