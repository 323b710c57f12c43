package cache_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/cache"
	"github.com/harnessbench/harnessbench/loop/model/cache/cachetest"
)

func TestMemory(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) func() cache.Store {
		m := cache.NewMemory()
		return func() cache.Store { m = m.Reopen(); return m }
	})
}

func TestFiles(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) func() cache.Store {
		dir := filepath.Join(t.TempDir(), "new", "cache")
		return func() cache.Store { return open(t, dir) }
	})
}

func open(t *testing.T, dir string) *cache.Files {
	t.Helper()
	f, err := cache.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func say(text string) *model.Response {
	return &model.Response{Finish: model.FinishStop, Usage: model.Usage{Output: 9}, Elapsed: time.Second, Model: "m/a",
		Items: []model.Item{{Type: model.Text, Text: text}}}
}

func request(change func(*model.Request)) *model.Request {
	r := model.NewRequest(model.Params{Model: "m/a"}, nil, []model.Message{{Role: model.User, Items: []model.Item{{Type: model.Text, Text: "hello"}}}})
	r.Lane = "main"
	if change != nil {
		change(r)
	}
	return r
}

// Requests that differ in anything that decides an answer have other keys, so have
// repetitions; turn and attempt decide nothing.
func TestKey(t *testing.T) {
	seen := map[cache.Key]string{cache.KeyOf(request(nil), 1): "the request", cache.KeyOf(request(nil), 2): "another repetition"}
	if len(seen) != 2 {
		t.Fatal("repetitions share")
	}
	for name, change := range map[string]func(*model.Request){
		"occurrence": func(r *model.Request) { r.Occurrence = 1 },
		"lane":       func(r *model.Request) { r.Lane = "sub" },
		"purpose":    func(r *model.Request) { r.Purpose = model.ForSummary },
		"params":     func(r *model.Request) { r.ParamsDigest = model.Params{Model: "m/a", MaxTokens: 1}.Digest() },
		"chain":      func(r *model.Request) { r.Chains = []model.Digest{{1}} },
		"lane, purpose": func(r *model.Request) {
			r.Purpose, r.Lane = "summarymain", ""
		},
	} {
		k := cache.KeyOf(request(change), 1)
		if other, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[k] = name
	}
	if cache.KeyOf(request(func(r *model.Request) { r.Turn, r.Attempt, r.Timeout = 7, 3, time.Hour }), 1) != cache.KeyOf(request(nil), 1) {
		t.Error("the place of a request is in its key")
	}
}

// fake is a model that gives one answer, or an error.
type fake struct {
	resp  *model.Response
	err   error
	asked int
}

func (f *fake) ID() string { return "m/a" }

func (f *fake) Generate(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) {
	f.asked++
	return f.resp, f.err
}

// put is a store that counts, and fails as it is told.
type put struct {
	cache.Store
	puts     int
	get, put error
}

func (p *put) Get(k cache.Key) (*model.Response, error) {
	if p.get != nil {
		return nil, p.get
	}
	return p.Store.Get(k)
}

func (p *put) Put(k cache.Key, r *model.Response) error {
	p.puts++
	if p.put != nil {
		return p.put
	}
	return p.Store.Put(k, r)
}

func warm(t *testing.T, req *model.Request) *cache.Memory {
	m := cache.NewMemory()
	if err := m.Put(cache.KeyOf(req, 1), say("cached")); err != nil {
		t.Fatal(err)
	}
	return m.Reopen()
}

func TestHit(t *testing.T) {
	m := &fake{resp: say("live")}
	c := cache.Wrap(m, cache.Options{Store: warm(t, request(nil)), Model: "m/a", Luck: 1})
	var heard string
	r, err := c.Generate(t.Context(), request(nil), func(d model.Delta) { heard += d.Text })
	if err != nil || m.asked != 0 {
		t.Fatal(err, m.asked)
	}
	if r.Cache != model.CacheHit || r.Usage != (model.Usage{}) || r.Elapsed != 0 || r.Model != "m/a" || model.TextOf(r.Items) != "cached" || heard != "cached" {
		t.Errorf("%+v, heard %q", r, heard)
	}
	// another repetition asks the model
	c = cache.Wrap(m, cache.Options{Store: warm(t, request(nil)), Model: "m/a", Luck: 2})
	if r, _ := c.Generate(t.Context(), request(nil), nil); r != m.resp || r.Cache != "" {
		t.Errorf("%+v", r)
	}
}

func TestShadow(t *testing.T) {
	m := &fake{resp: say("live")}
	store := &put{Store: warm(t, request(nil))}
	c := cache.Wrap(m, cache.Options{Store: store, Model: "m/a", Luck: 1, Shadow: true})
	r, err := c.Generate(t.Context(), request(nil), nil)
	if err != nil || r.Cache != model.CacheKnown || model.TextOf(r.Items) != "live" || r.Usage != m.resp.Usage || m.resp.Cache != "" || store.puts != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWhatIsStored(t *testing.T) {
	late := say("late")
	late.Elapsed = time.Hour
	for _, tt := range []struct {
		name string
		resp *model.Response
		err  error
		req  func(*model.Request)
		want int
	}{
		{"an answer", say("live"), nil, nil, 1},
		{"a blank one", &model.Response{Finish: model.FinishStop}, nil, nil, 1},
		{"one that was cut", &model.Response{Finish: model.FinishLength, Items: say("half").Items}, nil, nil, 1},
		{"one that was cut and says nothing", &model.Response{Finish: model.FinishLength, Items: []model.Item{{Type: model.Reasoning, Text: "hm"}, {Type: model.Text, Text: " "}}}, nil, nil, 0},
		{"an error", nil, &model.Error{Kind: model.ErrServer}, nil, 0},
		{"neither", nil, nil, nil, 0},
		{"one that came too late", late, nil, func(r *model.Request) { r.Timeout = time.Minute }, 0},
		{"one of a fallback", say("live"), nil, func(r *model.Request) { r.Params.Model = "m/b" }, 0},
	} {
		store := &put{Store: cache.NewMemory()}
		c := cache.Wrap(&fake{resp: tt.resp, err: tt.err}, cache.Options{Store: store, Model: "m/a"})
		r, err := c.Generate(t.Context(), request(tt.req), nil)
		if store.puts != tt.want || r != tt.resp || err != tt.err {
			t.Errorf("%s: stored %d times, gives %+v, %v", tt.name, store.puts, r, err)
		}
	}
}

// A failing cache changes no answer and says so beside it.
func TestAFailingCacheChangesNothing(t *testing.T) {
	read := &fs.PathError{Op: "open", Path: "/secret/place", Err: fs.ErrPermission}
	for _, tt := range []struct {
		name     string
		get, put error
		want     string
	}{
		{"reading", read, nil, "it could not be read: permission denied"},
		{"writing", nil, &os.LinkError{Op: "rename", Old: "/a", New: "/b", Err: errors.New("no space left on device")}, "it could not be written: no space left on device"},
		{"both", read, errors.New("gone"), "it could not be read: permission denied; it could not be written: gone"},
	} {
		m := &fake{resp: say("live")}
		c := cache.Wrap(m, cache.Options{Store: &put{Store: cache.NewMemory(), get: tt.get, put: tt.put}, Model: "m/a"})
		r, err := c.Generate(t.Context(), request(nil), nil)
		if err != nil || model.TextOf(r.Items) != "live" || r.Usage != m.resp.Usage || r.Elapsed != m.resp.Elapsed || r.Cache != "" {
			t.Errorf("%s: %+v, %v", tt.name, r, err)
		}
		if r.CacheFailed != tt.want || m.resp.CacheFailed != "" {
			t.Errorf("%s: %q", tt.name, r.CacheFailed)
		}
	}
	// Before an error of the model it is said beside that.
	failing := &model.Error{Kind: model.ErrServer, Status: 503}
	c := cache.Wrap(&fake{err: failing}, cache.Options{Store: &put{get: read}, Model: "m/a"})
	_, err := c.Generate(t.Context(), request(nil), nil)
	var e *model.Error
	if !errors.As(err, &e) || e.Status != 503 || e.CacheFailed == "" || failing.CacheFailed != "" {
		t.Errorf("%+v", err)
	}
}

func TestFilesAreChecked(t *testing.T) {
	dir := t.TempDir()
	req := request(nil)
	k := cache.KeyOf(req, 1)
	if err := open(t, dir).Put(k, say("stored")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, k.String()+".json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := cache.KeyOf(req, 2)
	if err := os.WriteFile(filepath.Join(dir, other.String()+".json"), sound, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a changed byte": strings.Replace(string(sound), "stored", "changed", 1), "cut": string(sound[:len(sound)/2]), "empty": "",
		"no digest": strings.SplitAfter(string(sound), "\n")[0], "no JSON": "{\n", "more": string(sound) + "x",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := &fake{resp: say("live")}
		r, err := cache.Wrap(m, cache.Options{Store: open(t, dir), Model: "m/a", Luck: 1}).Generate(t.Context(), req, nil)
		if err != nil || model.TextOf(r.Items) != "live" || r.CacheFailed != "it could not be read: the entry is damaged" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := open(t, dir).Get(other); err == nil {
		t.Error("an entry of another key is used")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(k); err != nil {
		t.Error("a key that was not there is read:", err)
	}
	if _, err := open(t, dir).Get(k); err == nil {
		t.Error("a folder is read")
	}
}

// What a run stores it does not read, nor does a run that is taken up again: it is
// given the keys it began with.
func TestFilesAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	a, b := cache.Key{1}, cache.Key{2}
	if err := open(t, dir).Put(a, say("a")); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir)
	if err := f.Put(b, say("b")); err != nil {
		t.Fatal(err)
	}
	again := cache.OpenAt(dir, f.Keys())
	for _, s := range []*cache.Files{f, again} {
		if r, err := s.Get(b); r != nil || err != nil || !slices.Equal(s.Keys(), []cache.Key{a}) {
			t.Errorf("%+v, %v, %v", r, err, s.Keys())
		}
		if r, err := s.Get(a); r == nil || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if k := open(t, dir).Keys(); !slices.Equal(k, []cache.Key{a, b}) {
		t.Error(k)
	}
}

// What looks like a key, and what is too large, is not stored; nothing is left
// beside the entries.
func TestFilesLeaveOut(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	secret := say("the key is sk-" + strings.Repeat("aB3dE5", 8))
	for i, r := range []*model.Response{secret, say(strings.Repeat("x", cache.MaxEntry))} {
		if err := f.Put(cache.Key{byte(i)}, r); err != nil {
			t.Error(err)
		}
	}
	if err := f.Put(cache.Key{9}, say("\xff")); err == nil {
		t.Error("what is no UTF-8 is stored as something else")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	err := f.Put(cache.Key{3}, say("x"))
	if err == nil {
		t.Error("it was stored nowhere")
	}
}
