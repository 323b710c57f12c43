package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestSumString(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 1024, 5000} {
		s := strings.Repeat("ab\xff", n)[:n]
		if got, want := SumString(s), Digest(sha256.Sum256([]byte(s))); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
}

func TestDigestForms(t *testing.T) {
	d := Sum([]byte("abc"))
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, appendix B.1
	if d.String() != want || d.Short() != want[:32] || string(d.AppendShort([]byte("x"))) != "x"+want[:32] {
		t.Errorf("%s %s", d, d.Short())
	}
	if d.IsZero() || !(Digest{}).IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestParseDigest(t *testing.T) {
	good := Sum(nil).String()
	if d, err := ParseDigest(good); err != nil || d != Sum(nil) {
		t.Errorf("%v, %v", d, err)
	}
	for _, bad := range []string{"", good[:63], good + "0", good[:62] + "zz", strings.Repeat("\u00e9", 32), good[:32]} {
		if d, err := ParseDigest(bad); err == nil || !d.IsZero() {
			t.Errorf("%q: %v, %v", bad, d, err)
		}
	}
}

func FuzzParseDigest(f *testing.F) {
	f.Add("")
	f.Add(Sum(nil).String())
	f.Add(strings.ToUpper(Sum(nil).String()))
	f.Add(strings.Repeat("g", 64))
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDigest(s)
		_, herr := hex.DecodeString(s)
		if good := herr == nil && len(s) == 64; good != (err == nil) {
			t.Fatalf("%q: %v", s, err)
		}
		if err == nil && d.String() != strings.ToLower(s) {
			t.Fatalf("%q came back as %s", s, d)
		}
	})
}
