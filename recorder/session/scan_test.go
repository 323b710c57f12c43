package session

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/harnessbench/harnessbench/loop/model"
)

var scanCases = []string{
	`{}`, `{"a":1}`, `{"a":[1,2,{"b":null}],"c":"x"}`, `{"a":-0.5e+10,"b":0,"c":true,"d":false}`,
	`{"a":"\u00e9\n\"\\\/\b\f\r\t"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d"}`, `{"a":"\ud83dx"}`, `{"a":"\ude00"}`,
	`{"a":"\ud83d\u0041"}`, `{"a":"\u12"}`, `{"a":"\x"}`, `{"a":"`, `{"a":"\`, `{"a"`, `{"a":`, `{`, ``, `[]`, `1`,
	`{"a":1,}`, `{,}`, `{"a":1 }`, `{"a":.5}`, `{"a":1.}`, `{"a":1e}`, `{"a":-}`, `{"a":00}`, `{"a":+1}`, `{"a":nul}`,
	`{"a":nullx}`, `{"a":1}x`, `{"a":1}{}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"":1,"":2}`, `{a:1}`, `{"a":'x'}`,
	"{\"a\":\"\x00\"}", "{\"a\":\"\x1f\"}", "{\"a\":\"\x7f\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}",
	`{"a":"12345678"}`, `{"a":"1234567\"8"}`, `{"a":[[[[]]]],"b":{"c":{"d":{}}}}`, `{"a":"ÿÿÿÿÿÿÿÿ"}`,
	`{"a":{"b":1,"c":{"b":1}},"b":2}`, `{"a":[],"b":[{}]}`, `{"a":]}`, `{"a":[1}`, `{"a":[1]]}`,
}

// oracle says the same with another parser.
func oracle(b []byte) bool {
	v := jsontext.Value(bytes.Clone(b))
	if len(b) == 0 || b[0] != '{' || !v.IsValid() {
		return false
	}
	return v.Compact() == nil && bytes.Equal(v, b)
}

func TestScanAgainstJSONText(t *testing.T) {
	var s scanner
	for _, c := range scanCases {
		if err := s.scan([]byte(c)); (err == nil) != oracle([]byte(c)) {
			t.Errorf("%q: %v; the other parser says %v", c, err, oracle([]byte(c)))
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, c := range scanCases {
		f.Add([]byte(c))
	}
	var s scanner
	f.Fuzz(func(t *testing.T, b []byte) {
		err := s.scan(b)
		if bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) > MaxDepth {
			return // the other parser has another bound
		}
		if (err == nil) != oracle(b) {
			t.Fatalf("%q: %v; the other parser says %v", b, err, oracle(b))
		}
		if err != nil {
			return
		}
		// What the value functions see is what the scanner saw.
		i := 0
		err = members(b, func(key string, v []byte) error {
			f := s.top[i]
			if string(b[f.vs:f.ve]) != string(v) {
				t.Fatalf("%q: member %d is %q, and %q", b, i, b[f.vs:f.ve], v)
			}
			if k, err := unquote(b[f.ks-1 : f.ke+1]); err != nil || k != key {
				t.Fatalf("%q: key %q, %q, %v", b, k, key, err)
			}
			i++
			return nil
		})
		if err != nil || i != len(s.top) {
			t.Fatalf("%q: %d members of %d, %v", b, i, len(s.top), err)
		}
	})
}

// FuzzQuote compares the fast quoting with the plain one, and takes it back.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", strings.Repeat("long enough to be copied in runs ", 3), "\x00\x1f\b\f\n\r\t\"\\/\x7f\u2028\u00e9 and so on, and so on", "\xff\xed\xa0\x80 and so on, and so on, and so on"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		// The error only says that bytes were replaced.
		want, _ := jsontext.AppendQuote(nil, s)
		if got := model.AppendString(nil, s); string(got) != string(want) {
			t.Fatalf("%q: got %s, want %s", s, got, want)
		}
		if got := model.AppendText(nil, []byte(s)); string(got) != string(want) {
			t.Fatalf("%q: got %s, want %s", s, got, want)
		}
		if back, err := unquote(want); err != nil || back != Repair(s) {
			t.Fatalf("%q: came back as %q, %v", s, back, err)
		}
		if !equalText(want, Repair(s)) || equalText(want, s+"x") || equalText(want, "") != (s == "") {
			t.Fatalf("%q: texts compare wrongly", s)
		}
	})
}

func TestParseInt(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "-1": -1, "9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63,
	} {
		if got, ok := parseInt([]byte(in)); !ok || got != want {
			t.Errorf("%s: %d, %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "-", "1.0", "1e3", "9223372036854775808", "-9223372036854775809", `"1"`, "null", strings.Repeat("9", 30)} {
		if got, ok := parseInt([]byte(in)); ok {
			t.Errorf("%s passes as %d", in, got)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	line := []byte(`{"seq":1,"t":"tool.result","id":"call_0123456789ab","outcome":"success","text":"` +
		strings.Repeat(`some text of a line of source code, about this long\n`, 20) + `","took_us":1000,"h":"0123456789abcdef0123456789abcdef"}`)
	var s scanner
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if err := s.scan(line); err != nil {
			b.Fatal(err)
		}
	}
}
