package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// drawn makes n obviously made-up characters that look drawn: "Ab1Ab1...". Keys
// are put together here, so that none stands in the file.
func drawn(n int) string { return strings.Repeat("Ab1", n/3+1)[:n] }

func low(n int) string { return strings.ToLower(drawn(n)) }

// samples has a key of each shape, in the parts that stay and go.
var samples = [][2]string{
	{"sk-", drawn(48)},
	{"sk-", low(32)}, // DeepSeek
	{"sk-", "proj-" + drawn(40) + "_" + drawn(20) + "-" + drawn(9)},
	{"sk-", "or-v1-" + low(64)},
	{"sk-" + "ant-", "api03-" + drawn(40) + "-" + drawn(40)},
	{"sk_" + "live_", drawn(24)}, {"rk_" + "live_", drawn(24)},
	{"AI" + "za", drawn(35)},
	{"AK" + "IA", strings.ToUpper(drawn(16))}, {"AS" + "IA", strings.ToUpper(drawn(16))},
	{"gh" + "p_", drawn(36)}, {"gh" + "o_", drawn(36)}, {"gh" + "u_", drawn(36)}, {"gh" + "s_", drawn(36)}, {"gh" + "r_", drawn(36)},
	{"github" + "_pat_", drawn(22) + "_" + drawn(59)},
	{"gl" + "pat-", drawn(20)},
	{"gs" + "k_", drawn(52)}, {"xa" + "i-", drawn(80)}, {"h" + "f_", drawn(34)}, {"nv" + "api-", drawn(64)},
	{"xo" + "xb-", "123456789012-" + drawn(24)}, {"xo" + "xp-", drawn(30)}, {"xo" + "xa-", drawn(30)}, {"xo" + "xe-", drawn(30)},
	{"xo" + "xo-", drawn(30)}, {"xo" + "xr-", drawn(30)}, {"xo" + "xs-", drawn(30)}, {"xa" + "pp-", "1-" + drawn(30)},
	{"ey" + "J", drawn(20) + ".ey" + "J" + drawn(30) + "." + drawn(43)},
	{"Bearer ", drawn(30) + "=="}, {"bearer ", low(30) + "/~" + "x"},
}

func TestShapes(t *testing.T) {
	r := New()
	for i, s := range samples {
		key, want := s[0]+s[1], s[0]+strings.Repeat("*", len(s[1]))
		for _, around := range []string{"%s", "key: %s;", `{"k":"%s"}`, `"\n%s\n"`, `\u000a%s`, "KEY=%s\nNEXT", "(%s)", "é%s€", "%%20%s", "<b>%s</b>"} {
			in, out := fmt.Sprintf(around, key), fmt.Sprintf(around, want)
			if got := r.Text(in); got != out {
				t.Errorf("sample %d: %s\n got %s\nwant %s", i, in, got, out)
			}
		}
		for _, inside := range []string{"x" + key, "x_" + key, "1" + key} {
			if got := r.Text(inside); got != inside && !strings.Contains(s[1], "-") && !strings.Contains(s[1], ".") {
				t.Errorf("sample %d: in the middle of a word: %s became %s", i, inside, got)
			}
		}
	}
	if r.Count() != len(samples)*10 {
		t.Errorf("%d counted, want %d", r.Count(), len(samples)*10)
	}
}

func TestPrivateKeys(t *testing.T) {
	head, foot := "-----BEGIN RSA PRIVATE"+" KEY-----", "-----END RSA PRIVATE"+" KEY-----"
	body := "\n" + drawn(64) + "\n" + drawn(20) + "\n"
	r := New()
	if got, want := r.Text("a "+head+body+foot+" b"), "a "+head+strings.Repeat("*", len(body))+foot+" b"; got != want {
		t.Errorf("got %s", got)
	}
	in, _ := json.Marshal(map[string]string{"k": head + body + foot})
	out := r.Bytes(in)
	if !json.Valid(out) || bytes.Contains(out, []byte("Ab1")) {
		t.Errorf("got %s", out)
	}
	for _, not := range []string{
		head + body,
		head + `","x":"` + body + foot,
		strings.ReplaceAll(head, "PRIVATE", "PUBLIC") + body + foot,
		"-----BEGIN CERTIFICATE-----" + body + "-----END CERTIFICATE-----",
	} {
		if got := r.Text(not); got != not {
			t.Errorf("%s became %s", not, got)
		}
	}
}

// Ordinary texts that a careless rule would harm.
func TestWhatIsNoKey(t *testing.T) {
	r := New()
	for _, s := range []string{
		"risk-assessment-of-something-very-long-2", "sk-learn", "sk-something-that-is-long-enough-1", "sk-" + strings.Repeat("x", 40), "sk-1234",
		"the task-based approach", "Bearer authentication is required", "Bearer $OPENAI_API_KEY", "AKIA", "AKIAIOSFODNN7EXAMPLES12", "eyJhbGciOiJIUzI1NiJ9",
		"eyJhbGciOiJIUzI1NiJ9." + drawn(30) + "." + drawn(30), "hf_hub_download_from_repository_x", "xai-org/grok", "github_pat_", "ghp_short1",
		"AIzaSy", "https://example.test/sk-/x", "BEGIN PRIVATE KEY", "**********", "gsk_" + strings.Repeat("a", 60),
		"123e4567-e89b-12d3-a456-426614174000", "sha256:" + strings.Repeat("0a", 32),
	} {
		if got := r.Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
		if b := []byte(s); &r.Bytes(b)[0] != &b[0] {
			t.Errorf("%q: a copy though nothing was found", s)
		}
	}
	if r.Count() != 0 {
		t.Errorf("%d counted", r.Count())
	}
}

func TestExactSecrets(t *testing.T) {
	const secret = "pä\"ss\\w/ord\t+x"
	r := New(" "+secret+"\n", "short", "")
	stars := func(s string) string { return strings.Repeat("*", len(s)) }
	once, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(once))
	inner := func(b []byte, n int) string { return string(b[n : len(b)-n]) }
	for _, form := range []string{
		secret, inner(once, 1), inner(twice, 3), strings.ReplaceAll(secret, "/", `\/`), strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
	} {
		if got := r.Text("a" + form + "b"); got != "a"+stars(form)+"b" {
			t.Errorf("%s became %s", form, got)
		}
	}
	for lead := range 4 {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
			whole := enc.EncodeToString([]byte(strings.Repeat("u", lead) + secret + ":tail"))
			got := r.Text("Basic " + whole)
			if len(got) != len("Basic ")+len(whole) || strings.Count(got, "*") < len(secret)*4/3-3 {
				t.Errorf("%d before: %s became %s", lead, whole, got)
			}
		}
	}
	if got := r.Text("short is no secret"); got != "short is no secret" {
		t.Error(got)
	}
	var none *Redactor
	if none.Text(secret) != secret || string(none.Bytes([]byte(secret))) != secret || none.Count() != 0 {
		t.Error("the nil Redactor does something")
	}
}

// A secret that begins with a word of JSON's escapes must not leave half of one.
func TestEscapesStayWhole(t *testing.T) {
	r := New("nsecret-1", "00e9secret", `secret-2\`)
	for _, in := range []string{`"a\nsecret-1"`, `"a\\nsecret-1"`, `"a\u00e9secret"`, `"\u00e9secret-2\\n"`, `"secret-2\n"`} {
		out := r.Bytes([]byte(in))
		if !json.Valid(out) || len(out) != len(in) {
			t.Errorf("%s became %s", in, out)
		}
	}
}

// Who knows a key exactly and who knows only its shape write the same.
func TestDeclaredAndShapedAgree(t *testing.T) {
	for i, s := range samples {
		key := s[0] + s[1]
		in := "x " + key + " y " + key
		if a, b := New(key).Text(in), New().Text(in); a != b {
			t.Errorf("sample %d: declared %s, by shape %s", i, a, b)
		}
	}
	long := "user " + samples[0][0] + samples[0][1] + " tail"
	if got := New(long).Text(long); strings.Contains(got, "user") || strings.Contains(got, "tail") {
		t.Error(got)
	}
}

func TestConcurrentUse(t *testing.T) {
	r := New()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			secret := fmt.Sprintf("secret-number-%d", i)
			r.Add(secret)
			if got := r.Text(secret); strings.Contains(got, "secret") {
				t.Error(got)
			}
		})
	}
	wg.Wait()
	if r.Count() != 8 {
		t.Errorf("%d counted", r.Count())
	}
}

// FuzzRedactor: the length is kept, no declared secret remains, twice is once,
// UTF-8 stays UTF-8 and JSON stays JSON.
func FuzzRedactor(f *testing.F) {
	for _, s := range samples {
		f.Add("key "+s[0]+s[1], "password")
		f.Add(s[0]+s[1]+s[0]+s[1], s[1])
	}
	f.Add(`{"a":"\npassword"}`, "password")
	f.Add("aaaaaaaaaaaaaaaaa", "aaaaaaaa")
	f.Add("********", "********")
	f.Fuzz(func(t *testing.T, in, secret string) {
		r := New(secret)
		out := r.Text(in)
		if len(out) != len(in) {
			t.Fatalf("%q became %q", in, out)
		}
		secret = strings.TrimSpace(secret)
		if len(secret) >= MinSecret && utf8.ValidString(secret) && strings.Trim(secret, "*") != "" && strings.Contains(out, secret) {
			t.Fatalf("%q remains in %q", secret, out)
		}
		if again := r.Text(out); again != out {
			t.Fatalf("%q became %q, then %q", in, out, again)
		}
		if utf8.ValidString(in) && !utf8.ValidString(out) {
			t.Fatalf("%q became %q", in, out)
		}
		if got := string(r.Bytes([]byte(in))); got != out {
			t.Fatalf("bytes %q, text %q", got, out)
		}
		quoted, _ := json.Marshal(in)
		if out := r.Bytes(quoted); !json.Valid(out) && !strings.ContainsAny(secret, `"\`) {
			t.Fatalf("%s became %s", quoted, out)
		}
	})
}

func BenchmarkRedactor(b *testing.B) {
	text := []byte(strings.Repeat("The task asks for a basic review of the headers; keys are given as Bearer tokens, e.g. in main.go:12.\n", 10000))
	for name, r := range map[string]*Redactor{"shapes": New(), "two-secrets": New("correct horse battery", "staple-and-more")} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Bytes(text)
			}
		})
	}
}
