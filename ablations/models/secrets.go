package models

import (
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// keyShapes are the forms of keys that are known by sight.
var keyShapes = regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:sk-[\w-]{12,}|(?:gsk|hf|ghp|gho|ghs|ghu|xai|nvapi|csk|fw|r8|pplx)[_-][\w-]{16,}|github_pat_\w{16,}|` +
	`AIza[\w-]{20,}|xox[abeprs]-[\w-]{10,}|AKIA[A-Z0-9]{12,}|eyJ[\w-]{8,}\.[\w-]{8,})|(?i:bearer)\s+[^\s$]{8,}`)

// looksLikeKey reports whether a text holds something of a key's known shape.
func looksLikeKey(s string) bool { return keyShapes.MatchString(s) }

// runs are texts without any separator, as random ones are.
var runs = regexp.MustCompile(`[A-Za-z0-9]{20,}`)

// looksRandom reports whether a text holds a long run of letters and digits
// without a separator. Names of models have such runs too, so it is asked only
// of what can be a secret.
func looksRandom(s string) bool {
	return slices.ContainsFunc(runs.FindAllString(s, -1), func(r string) bool {
		return strings.ContainsAny(r, "0123456789") && strings.Trim(r, "0123456789") != ""
	})
}

// refuseKeys looks at every text of the file. The error does not repeat it.
func refuseKeys(n *strictyaml.Node) error {
	if n.Kind == strictyaml.String && looksLikeKey(n.Value) {
		return n.Errorf("take it out, put it into an environment variable and write that variable's NAME into key_env, or ${NAME} into a header; if the file was shared, revoke the key",
			"this looks like an API key")
	}
	for _, list := range [][]*strictyaml.Node{n.Keys, n.Items} {
		for _, it := range list {
			if err := refuseKeys(it); err != nil {
				return err
			}
		}
	}
	return nil
}

// reserved headers are the adapter's own.
var reserved = []string{"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Transfer-Encoding"}

// checkHeaders takes plain values and ${NAME}; a header that carries secrets
// takes them from the environment alone.
func (p *Provider) checkHeaders(n *strictyaml.Node) error {
	if n == nil || n.Kind != strictyaml.Map {
		return nil
	}
	for i, k := range n.Keys {
		name, value := textproto.CanonicalMIMEHeaderKey(k.Value), n.Items[i]
		switch {
		case len(name) > 100 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" || name == "":
			return k.Errorf("use letters, digits and dashes", "this is no name of a header")
		case slices.Contains(reserved, name):
			return k.Errorf("leave it out", "the header %s is set by the program", name)
		case name == "Authorization" && p.KeyEnv != "":
			return k.Errorf("leave out one of the two", "the key of key_env is sent as the header Authorization")
		case strings.ContainsFunc(value.Value, func(r rune) bool { return r < ' ' || r >= 0x7f }):
			return value.Errorf("use printable ASCII", "this value cannot stand in a header")
		case strings.Contains(variable.ReplaceAllString(value.Value, ""), "${"):
			return value.Errorf("write ${NAME}, the name of an environment variable", "this value has a ${ without a name")
		}
		rest := strings.TrimSpace(variable.ReplaceAllString(value.Value, ""))
		if looksRandom(rest) || secretName(name) && !slices.Contains([]string{"", "bearer", "basic", "token"}, strings.ToLower(rest)) {
			return value.Errorf("write ${NAME} and put the secret into that environment variable", "the header %s can carry a secret, which does not belong into this file", name)
		}
	}
	return nil
}

// secretQuery reports whether a URL's query can carry a secret; a version does
// not.
func secretQuery(u *url.URL) bool {
	q, err := url.ParseQuery(u.RawQuery)
	for name, values := range q {
		if secretName(name) || slices.ContainsFunc(values, looksRandom) {
			return true
		}
	}
	return err != nil
}

// secretName reports whether a header's or parameter's purpose is to carry a
// secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, w := range []string{"authorization", "cookie", "key", "token", "secret", "password"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Expand replaces ${NAME} by the environment's values. missing are the names
// that have none, in order.
func Expand(s string, getenv func(string) string) (out string, missing []string) {
	out = variable.ReplaceAllStringFunc(s, func(ref string) string {
		name := ref[2 : len(ref)-1]
		v := getenv(name)
		if v == "" {
			missing = append(missing, name)
		}
		return v
	})
	return out, missing
}

func isEnvName(s string) bool {
	return len(s) <= 100 && variable.FindString("${"+s+"}") == "${"+s+"}"
}
