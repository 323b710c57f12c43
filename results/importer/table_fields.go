package importer

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// field is what a column of a table can be.
type field int

const (
	fScenario field = iota
	fRepetition
	fPassed
	fScore
	fModel
	fArm
	fCost
	fTokens
	fDuration
	fErrored
	fHarms
	nFields
)

// tableField is a field with the names that its column may have, the most
// telling first. Letter case, spaces and hyphens do not count.
type tableField struct {
	name    string
	aliases []string
}

var tableFields = [nFields]tableField{
	fScenario:   {"scenario", []string{"scenario_id", "task_id", "task", "sample_id", "instance_id", "problem_id", "question_id", "doc_id", "test_id", "case", "id"}},
	fRepetition: {"repetition", []string{"rep", "trial", "epoch", "attempt", "run", "seed", "repeat"}},
	fPassed:     {"passed", []string{"pass", "success", "successful", "correct", "resolved", "solved", "verdict", "ok"}},
	fScore:      {"score", []string{"reward", "accuracy", "value"}},
	fModel:      {"model", []string{"model_name", "model_id", "provider"}},
	fArm:        {"arm", []string{"harness", "agent", "variant", "config", "configuration", "condition", "treatment"}},
	fCost:       {"cost_usd", []string{"cost", "total_cost", "total_cost_usd", "usd"}},
	fTokens:     {"tokens", []string{"total_tokens", "tokens_total", "token_count"}},
	fDuration:   {"duration_s", []string{"duration", "duration_seconds", "seconds", "total_time", "latency_s"}},
	fErrored:    {"errored", []string{"is_error"}},
	fHarms:      {"harms", nil},
}

// TableFields lists the fields of a table of trials.
func TableFields() []string {
	var out []string
	for _, f := range tableFields {
		out = append(out, f.name)
	}
	return out
}

// TableAliases gives the other names that a field's column may have.
func TableAliases(name string) []string {
	f, _ := fieldOf(name)
	return slices.Clone(tableFields[f].aliases)
}

func fieldOf(name string) (field, bool) {
	for f := range nFields {
		if tableFields[f].name == name {
			return f, true
		}
	}
	return 0, false
}

var plainName = strings.NewReplacer(" ", "_", "-", "_", ".", "_")

// rank says how well a column's name tells the field; -1: not at all.
func (f *tableField) rank(column string) int {
	name := plainName.Replace(strings.ToLower(strings.TrimSpace(column)))
	if name == f.name {
		return 0
	}
	if i := slices.Index(f.aliases, name); i >= 0 {
		return i + 1
	}
	return -1
}

func describe(f field, column string) string {
	if column == tableFields[f].name {
		return column
	}
	return fmt.Sprintf("%s (column %s)", tableFields[f].name, clip(column))
}

func mapKeys[V any](m map[string]V) iter.Seq[string]      { return maps.Keys(m) }
func mapValues[V cmp.Ordered](m map[string]V) iter.Seq[V] { return maps.Values(m) }

// kind is the type of a cell.
type kind byte

const (
	kNull kind = iota
	kText
	kNumber // text holds the number as it was written, or num its value
	kFloat
	kInt
	kBool
	kNested
)

// cell is one value of a table.
type cell struct {
	kind kind
	text []byte // of kText and kNumber; valid until the next row
	num  float64
	int  int64
	bool bool
}

// void reports whether a cell says nothing.
func (c *cell) void() bool {
	if c.kind == kText {
		switch strings.ToLower(string(trim(c.text))) {
		case "", "null", "none", "nan", "na", "n/a":
			return true
		}
		return false
	}
	return c.kind == kNull || c.kind == kFloat && math.IsNaN(c.num)
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

var errNested = errors.New("is a list or an object; make a column of one plain value first")

// set puts a cell into its field of the row.
func (b *tableBuilder) set(r *TableRow, f field, c *cell) (err error) {
	if c.kind == kNested {
		return errNested
	}
	switch f {
	case fScenario:
		if r.Scenario, err = b.name(c); err == nil && r.Scenario == "" {
			return errors.New("is empty; every row needs one")
		}
	case fModel:
		r.Model, err = b.name(c)
	case fArm:
		r.Arm, err = b.name(c)
	case fRepetition:
		r.Repetition, err = c.whole()
		if err == nil && r.Repetition < 0 {
			return errors.New("is empty; every row needs one, or the table no such column")
		}
	case fPassed:
		r.Verdict, err = c.verdict()
	case fErrored:
		var v int8
		v, err = c.verdict()
		r.Errored = v == TablePass
	case fHarms:
		var v int8
		v, err = c.verdict()
		r.Harms = v == TablePass
	case fScore:
		if r.Score, err = c.amount(); err == nil && r.Score > 1 {
			return fmt.Errorf("is %v; a score is 0 to 1: divide it by its maximum", r.Score)
		}
	case fCost:
		r.CostUSD, err = c.amount()
	case fTokens:
		r.Tokens, err = c.whole()
	case fDuration:
		r.DurationS, err = c.amount()
	}
	return err
}

// name is a cell's text; empty when it says nothing.
func (b *tableBuilder) name(c *cell) (string, error) {
	switch c.kind {
	case kNull:
		return "", nil
	case kInt:
		return b.intern(strconv.AppendInt(nil, c.int, 10)), nil
	case kFloat:
		if math.IsNaN(c.num) {
			return "", nil
		}
		return b.intern(strconv.AppendFloat(nil, c.num, 'g', -1, 64)), nil
	case kBool:
		return b.intern(strconv.AppendBool(nil, c.bool)), nil
	}
	text := trim(c.text)
	if len(text) > maxTableName {
		return "", fmt.Errorf("is a name of %d bytes; at most %d", len(text), maxTableName)
	}
	if !utf8.Valid(text) {
		return "", errors.New("is no UTF-8")
	}
	return b.intern(text), nil
}

// verdict reads yes or no.
func (c *cell) verdict() (int8, error) {
	if c.void() {
		return TableUngraded, nil
	}
	switch c.kind {
	case kBool:
		return yes(c.bool), nil
	case kInt, kFloat, kNumber:
		switch v, err := c.float(); {
		case err != nil:
			return 0, err
		case v == 0 || v == 1:
			return yes(v == 1), nil
		default:
			return 0, fmt.Errorf("is %v; want true or false, 1 or 0: a fraction is a score (--columns score=NAME)", v)
		}
	}
	switch s := strings.ToLower(string(trim(c.text))); s {
	case "true", "t", "1", "1.0", "pass", "passed", "yes", "y", "correct", "success":
		return TablePass, nil
	case "false", "f", "0", "0.0", "fail", "failed", "no", "n", "incorrect", "failure":
		return TableFail, nil
	case "ungraded":
		return TableUngraded, nil
	default:
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return 0, fmt.Errorf("is %s; want true or false, 1 or 0: a fraction is a score (--columns score=NAME)", s)
		}
		return 0, fmt.Errorf("is %q; want true, false, 1, 0, pass, fail, yes or no, or nothing when it was not graded", clip(s))
	}
}

func yes(v bool) int8 {
	if v {
		return TablePass
	}
	return TableFail
}

// float is a number of any kind.
func (c *cell) float() (float64, error) {
	switch c.kind {
	case kInt:
		return float64(c.int), nil
	case kFloat:
		return c.num, nil
	case kBool:
		if c.bool {
			return 1, nil
		}
		return 0, nil
	}
	v, err := strconv.ParseFloat(string(trim(c.text)), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("is %q; want a number", clip(string(c.text)))
	}
	return v, nil
}

// amount is a finite number >= 0; NaN when the cell says nothing.
func (c *cell) amount() (float64, error) {
	if c.void() {
		return math.NaN(), nil
	}
	v, err := c.float()
	if err == nil && !(v >= 0 && v <= math.MaxFloat64) {
		err = fmt.Errorf("is %v; want a finite number >= 0", v)
	}
	return v, err
}

// whole is a whole number >= 0; -1 when the cell says nothing.
func (c *cell) whole() (int64, error) {
	if c.void() {
		return -1, nil
	}
	if c.kind == kText || c.kind == kNumber {
		if v, err := strconv.ParseInt(string(trim(c.text)), 10, 64); err == nil {
			c = &cell{kind: kInt, int: v}
		}
	}
	if c.kind == kInt {
		if c.int < 0 {
			return 0, fmt.Errorf("is %d; want a whole number >= 0", c.int)
		}
		return c.int, nil
	}
	v, err := c.float()
	if err != nil {
		return 0, err
	}
	if v != math.Trunc(v) || v < 0 || v >= 1<<53 {
		return 0, fmt.Errorf("is %v; want a whole number >= 0", v)
	}
	return int64(v), nil
}
