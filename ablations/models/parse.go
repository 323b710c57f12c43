package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/harnessbench/harnessbench/scenarios/strictyaml"
)

// EnvFile is the environment variable that names the models file of commands
// that are not told one.
const EnvFile = "HARNESSBENCH_MODELS"

// maxFile bounds a models file, in bytes.
const maxFile = strictyaml.MaxBytes

// Open reads the models file that a command works with: path; when it is empty
// the one that the environment names ([EnvFile]); when there is none, [Default].
func Open(path string, getenv func(string) string) (*File, error) {
	if path == "" {
		path = getenv(EnvFile)
	}
	if path == "" {
		return Default(getenv)
	}
	return Load(path)
}

// Default is what holds without a models file: the provider openai, at
// OPENAI_BASE_URL or at OpenAI itself, with the key in OPENAI_API_KEY, and any of
// its models, at unknown prices. An endpoint of one's own needs no key.
func Default(getenv func(string) string) (*File, error) {
	p := Provider{ID: "openai", API: APIOpenAI, BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", AnyModel: true}
	if u := getenv("OPENAI_BASE_URL"); u != "" {
		if bad, fix := badURL(u); bad != "" {
			return nil, fmt.Errorf("the environment variable OPENAI_BASE_URL %s; %s", bad, fix)
		}
		p.BaseURL = trimSlash(u)
		if getenv(p.KeyEnv) == "" {
			p.KeyEnv = ""
		}
	}
	return &File{Schema: Schema, Providers: []Provider{p}}, nil
}

// Load reads a models file. See docs/models.md for its keys.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("models file: %w", err)
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("models file %s: is no regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("models file: %w", err)
	}
	return Parse(path, data)
}

// Parse reads the content of a models file; name is for errors. Defaults of api
// and name are filled in, and a base URL loses slashes at its end.
func Parse(name string, data []byte) (*File, error) {
	n, err := strictyaml.Parse(name, data)
	if err != nil {
		return nil, hush(err)
	}
	if n.Kind == strictyaml.Null {
		return nil, n.Errorf("write at least schema, providers and models", "the file is empty")
	}
	if err := refuseKeys(n); err != nil { // first: no later error may repeat one
		return nil, err
	}
	if s := n.Get("schema"); s != nil && s.Kind == strictyaml.String && s.Value != Schema {
		return nil, s.Errorf("write "+Schema, "schema is %.60q", s.Value)
	}
	var f File
	if err := decode(n, reflect.ValueOf(&f).Elem()); err != nil {
		return nil, err
	}
	if err := f.check(n); err != nil {
		return nil, err
	}
	return &f, nil
}

// hush leaves out of a syntax error what may be a piece of the file.
func hush(err error) error {
	var e *strictyaml.Error
	if errors.As(err, &e) && looksLikeKey(e.What) {
		return e.Pos.Errorf("check quotes, colons and indentation there", "the YAML cannot be read")
	}
	return err
}

// check holds what the keys alone do not, and fills in defaults.
func (f *File) check(n *strictyaml.Node) error {
	seen := map[string]bool{}
	for i := range f.Providers {
		p, at := &f.Providers[i], n.Get("providers").Items[i]
		if err := p.check(at); err != nil {
			return err
		}
		if seen[p.ID] {
			return at.Get("id").Errorf("keep one entry", "the provider %s is listed twice", p.ID)
		}
		seen[p.ID] = true
	}
	if len(f.Providers) == 0 {
		return n.Get("providers").Errorf("list at least one", "no providers")
	}
	for i := range f.Models {
		m, at := &f.Models[i], n.Get("models").Items[i]
		if err := m.check(at); err != nil {
			return err
		}
		provider, _, _ := strings.Cut(m.ID, "/")
		switch {
		case seen[m.ID]:
			return at.Get("id").Errorf("keep one entry", "the model %s is listed twice", m.ID)
		case !seen[provider]:
			return at.Get("id").Errorf("add it to providers, or correct the id", "the provider %s of model %s is not listed", provider, m.ID)
		case m.Prices != nil && f.Date == "":
			return at.Get("prices").Errorf("add date: YYYY-MM-DD at the top of the file", "there are prices, and not the day on which they were read")
		case m.Prices != nil && f.Source == "":
			return at.Get("prices").Errorf("add source at the top of the file", "there are prices, and not where they were read")
		}
		seen[m.ID] = true // no provider has a slash
	}
	if _, err := time.Parse(time.DateOnly, f.Date); err != nil && f.Date != "" {
		return n.Get("date").Errorf("write the day on which the prices were read as YYYY-MM-DD", "date is %.60q", f.Date)
	}
	return nil
}

func (p *Provider) check(n *strictyaml.Node) error {
	id := n.Get("id")
	switch {
	case p.ID == "sim" || p.ID == "replay":
		return id.Errorf("leave it out", "the models of %s need no entry", p.ID)
	case len(p.ID) > 64 || strings.Trim(p.ID, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "":
		return id.Errorf("use lower-case letters, digits, - _ .", "%.60q is no name of a provider", p.ID)
	}
	if bad, fix := badURL(p.BaseURL); bad != "" {
		return n.Get("base_url").Errorf(fix, "base_url %s", bad)
	}
	p.BaseURL = trimSlash(p.BaseURL)
	if p.API == "" {
		p.API = APIOpenAI
	}
	if p.KeyEnv != "" && (!isEnvName(p.KeyEnv) || looksRandom(p.KeyEnv)) {
		// The text is not repeated: it may be a key that is none of the known shapes.
		return n.Get("key_env").Errorf("write the NAME of an environment variable, for example OPENAI_API_KEY; a key itself does not belong into this file",
			"key_env is no name of an environment variable")
	}
	return p.checkHeaders(n.Get("headers"))
}

// badURL says what is wrong with a base URL and what to do; empty = nothing.
func badURL(s string) (bad, fix string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsFunc(s, unprintable):
		return "is no http or https URL", "write for example http://127.0.0.1:8000/v1"
	case u.User != nil:
		return "holds a user or password", "write the name of a variable into key_env, or ${NAME} into a header"
	case u.Fragment != "":
		return "has a fragment", "keep what stands before the #"
	case secretQuery(u):
		return "has a query that can carry a secret", "write the name of a variable into key_env, or ${NAME} into a header"
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return "ends in /chat/completions", "keep what stands before that"
	}
	return "", ""
}

// trimSlash takes slashes from the end of a URL without a query.
func trimSlash(s string) string {
	if strings.Contains(s, "?") {
		return s
	}
	return strings.TrimRight(s, "/")
}

func (m *Model) check(n *strictyaml.Node) error {
	if !isModel(m.ID) {
		return n.Get("id").Errorf("write provider/name, for example openai/gpt-4o-mini", "%.60q names no model", m.ID)
	}
	if provider, name, _ := strings.Cut(m.ID, "/"); provider == "sim" || provider == "replay" {
		return n.Get("id").Errorf("leave it out", "the models of %s need no entry", provider)
	} else if m.Name == "" {
		m.Name = name
	}
	if strings.ContainsFunc(m.Name, unprintable) || len(m.Name) > maxName {
		return n.Get("name").Errorf("write it as the provider does", "%.60q is no name of a model", m.Name)
	}
	at := n.Get("params")
	if p := m.Params.TopP; p != nil && *p == 0 {
		return at.Get("top_p").Errorf("use a number above 0, or leave it out", "top_p is 0")
	}
	if e := m.Params.ReasoningEffort; len(e) > 32 || strings.Trim(e, "abcdefghijklmnopqrstuvwxyz") != "" {
		return at.Get("reasoning_effort").Errorf("use a word such as low", "%.60q is no reasoning effort", e)
	}
	if err := checkFormat(at.Get("response_format")); err != nil {
		return err
	}
	return checkExtra(at.Get("extra"))
}

// checkFormat takes the two formats that adapters know.
func checkFormat(n *strictyaml.Node) error {
	if n == nil || n.Kind == strictyaml.Null {
		return nil
	}
	kind := n.Get("type")
	switch {
	case kind == nil || kind.Value != "json_object" && kind.Value != "json_schema":
		return n.Errorf("write {type: json_object}, or leave it out for text", "response_format has no type json_object or json_schema")
	case kind.Value == "json_object":
		var f struct {
			Type string `yaml:"type"`
		}
		return strictyaml.Decode(n, &f)
	}
	var f struct {
		Type string `yaml:"type"`
		Spec struct {
			Name        string           `yaml:"name"`
			Description string           `yaml:"description"`
			Strict      bool             `yaml:"strict"`
			Schema      *strictyaml.Node `yaml:"schema,required"`
		} `yaml:"json_schema,required"`
	}
	if err := strictyaml.Decode(n, &f); err != nil {
		return err
	}
	if s := f.Spec.Schema; s.Kind != strictyaml.Map {
		return s.Errorf("write a JSON Schema", "schema is no mapping")
	}
	return nil
}

// owned are the members of a request that have keys of their own here, or that
// the loop writes.
var owned = []string{"model", "messages", "tools", "tool_choice", "stream", "stream_options", "n", "metadata", "max_tokens",
	"max_completion_tokens", "temperature", "top_p", "seed", "reasoning_effort", "response_format"}

func checkExtra(n *strictyaml.Node) error {
	if n == nil || n.Kind == strictyaml.Null {
		return nil
	}
	if n.Kind != strictyaml.Map {
		return n.Errorf("write members of the request as key: value", "extra is no mapping")
	}
	for _, k := range n.Keys {
		if slices.Contains(owned, k.Value) {
			return k.Errorf("use the key of that name beside extra, or leave it to the loop", "extra cannot set %q", k.Value)
		}
	}
	return nil
}

// maxName bounds ids and names of models, in bytes.
const maxName = 200

func isModel(id string) bool {
	provider, name, ok := strings.Cut(id, "/")
	return ok && provider != "" && name != "" && len(id) <= maxName && !strings.ContainsFunc(id, unprintable)
}

func unprintable(r rune) bool { return r <= ' ' || r >= 0x7f }

var rawType = reflect.TypeFor[json.RawMessage]()

// decode is strictyaml.Decode for types with tags min, max and enum, and raw
// JSON members. It walks the mappings that it knows and leaves the rest to
// strictyaml.
func decode(n *strictyaml.Node, v reflect.Value) error {
	if _, special := v.Addr().Interface().(strictyaml.Unmarshaler); special {
		return strictyaml.Decode(n, v.Addr().Interface())
	}
	switch {
	case v.Type() == rawType:
		if n.Kind == strictyaml.Null {
			return nil
		}
		b, err := n.AppendJSON(nil)
		v.SetBytes(b)
		return err
	case v.Kind() == reflect.Struct && n.Kind == strictyaml.Map:
		return decodeStruct(n, v)
	case v.Kind() == reflect.Slice && n.Kind == strictyaml.List:
		v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
		for i, it := range n.Items {
			if it.Kind != strictyaml.Map {
				return it.Errorf("write its keys, beginning with id", "this must be a mapping, not %s", it.Kind)
			}
			if err := decode(it, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	return strictyaml.Decode(n, v.Addr().Interface())
}

func decodeStruct(n *strictyaml.Node, v reflect.Value) error {
	t := v.Type()
	var names []string
	for i := range t.NumField() {
		name, opt, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		names = append(names, name)
		if it := n.Get(name); opt == "required" && (it == nil || it.Kind == strictyaml.Null || it.Kind == strictyaml.String && it.Value == "") {
			return n.Errorf("add it", "the key %q is missing", name)
		}
	}
	for i, k := range n.Keys {
		at := slices.Index(names, k.Value)
		if at < 0 {
			return strictyaml.UnknownKey(k, names)
		}
		if err := decode(n.Items[i], v.Field(at)); err != nil {
			return err
		}
		if err := bounded(n.Items[i], v.Field(at), t.Field(at)); err != nil {
			return err
		}
	}
	return nil
}

// bounded holds a value against the min, max and enum tags of its field.
func bounded(n *strictyaml.Node, v reflect.Value, f reflect.StructField) error {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var x float64
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		x = float64(v.Int())
	case reflect.Float64:
		x = v.Float()
	case reflect.String:
		if list := f.Tag.Get("enum"); list != "" && n.Kind == strictyaml.String && !slices.Contains(strings.Split(list, "|"), n.Value) {
			return n.Errorf("use "+strings.ReplaceAll(list, "|", " or "), "%s is %.60q", f.Tag.Get("yaml"), n.Value)
		}
		return nil
	default:
		return nil
	}
	least, errMin := strconv.ParseFloat(f.Tag.Get("min"), 64)
	most, errMax := strconv.ParseFloat(f.Tag.Get("max"), 64)
	if errMin == nil && errMax == nil && n.Kind != strictyaml.Null && (x < least || x > most) {
		return n.Errorf("use "+f.Tag.Get("min")+" to "+f.Tag.Get("max"), "%s is %s", f.Tag.Get("yaml"), n.Value)
	}
	return nil
}
