package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
	"github.com/harnessbench/harnessbench/loop/model/sim"
	"github.com/harnessbench/harnessbench/loop/redact"
	"github.com/harnessbench/harnessbench/recorder/session"
	"github.com/harnessbench/harnessbench/recorder/wire"
	"github.com/harnessbench/harnessbench/recorder/wire/canon"
	"github.com/harnessbench/harnessbench/recorder/wire/tape"
)

// wireFlags say what answers behind an endpoint; serve, record and replay --serve
// share them.
type wireFlags struct {
	model     string // sim/NAME, replay/PATH, or empty: an upstream
	upstream  string
	scenarios []string
	normalise []string
	speed     float64
	out       string // folder of recordings; empty: nothing is recorded
	name      string // of the recording, without its suffix
	derived   bool   // the name may get a number
	overwrite bool
	report    string
}

func (f *wireFlags) modelFlags(fl *pflag.FlagSet) {
	fl.StringVar(&f.upstream, "upstream", "", "pass requests on to this base URL (default: that of OPENAI_BASE_URL or ANTHROPIC_BASE_URL, else the provider's own)")
	fl.StringArrayVar(&f.scenarios, "scenario", nil, "with simulated models: a scenario folder or .txtar to know beside the embedded ones; repeatable")
	fl.BoolVar(&f.overwrite, "overwrite", false, "replace a recording of that name")
}

func (f *wireFlags) replayFlags(fl *pflag.FlagSet) {
	fl.Float64Var(&f.speed, "speed", 0, "0 waits for nothing, 1 keeps the recorded or declared times, N is N times faster")
	fl.StringVar(&f.report, "report", "", "write the verdict of a replay as JSON to this file")
}

func (f *wireFlags) normaliseFlag(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.normalise, "normalise", nil, "what does not count in a request: home, cwd, tmp, host, date, uuid, result-order, NAME=REGEX, drop=/POINTER, or a preset: "+strings.Join(canon.Presets(), ", ")+"; repeatable")
}

// station is what answers behind an endpoint.
type station struct {
	handler http.Handler
	dummy   bool // clients need no key of their own
	replay  *wire.Replay
	proxy   *wire.Proxy
	record  *wire.Record
	tape    *tape.Recorder
	path    string // of the recording
	aside   string // where the recording that it replaces lies meanwhile
}

// station makes what the flags say.
func (f *wireFlags) station(a *app) (*station, error) {
	if f.speed < 0 {
		return nil, cli.Usagef("use 0, 1 or more", "--speed %g", f.speed)
	}
	if cli.IsSession(f.report) {
		return nil, cli.Usagef("name another file", "--report %s would be written over a session", f.report)
	}
	secrets := redact.New(secretsOf(os.Environ())...)
	s := &station{dummy: f.model != ""}
	head := tape.Head{Redact: secrets, Upstream: f.model}
	var err error
	switch {
	case f.model != "" && f.upstream != "":
		err = cli.Usagef("leave one out", "--model answers here, --upstream elsewhere")
	case strings.HasPrefix(f.model, "replay/"):
		if f.out != "" {
			err = cli.Usagef("leave out --record", "a replay is not recorded again")
			break
		}
		err = f.openReplay(s, strings.TrimPrefix(f.model, "replay/"), secrets)
	case f.model != "":
		err = f.openSim(s)
	default:
		head.Upstream, err = f.openProxy(a, s, secrets)
	}
	if err != nil || f.out == "" {
		return s, err
	}
	normalisers, err := f.normalisers(nil)
	if err != nil {
		return nil, err
	}
	for _, n := range normalisers {
		head.Normalisers = append(head.Normalisers, n.String())
	}
	if err := f.create(s, head); err != nil {
		return nil, err
	}
	s.record = wire.NewRecord(s.handler, s.tape, wire.RecordOptions{Redact: secrets, Normalisers: normalisers, Log: a.logger()})
	s.handler = s.record
	return s, nil
}

// logger says what happens behind an endpoint on stderr, whoever says it.
func (a *app) logger() func(string) {
	var mu sync.Mutex
	return func(s string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(a.stderr, "harnessbench: %s\n", cli.SanitizeLine(s))
	}
}

func (f *wireFlags) openReplay(s *station, path string, secrets *redact.Redactor) error {
	t, err := tape.Load(path)
	if err != nil {
		return loadError(err)
	}
	normalisers, err := f.normalisers(t.Header.Normalisers)
	if err == nil {
		err = unrecorded(normalisers, t.Header.Normalisers)
	}
	if err != nil {
		return err
	}
	s.replay = wire.NewReplay(tape.NewPlayer(t), wire.ReplayOptions{Normalisers: normalisers, Redact: secrets, Speed: wire.Speed(f.speed)})
	s.handler = s.replay
	return nil
}

// loadError says what a recording that cannot be loaded means.
func loadError(err error) error {
	var many *tape.ManyError
	switch {
	case errors.Is(err, os.ErrNotExist):
		return cli.Usagef("name a recording, or a folder that holds one", "%w", err)
	case errors.As(err, &many), errors.Is(err, tape.ErrNotWire):
		return cli.WithCode(cli.Wrong, err)
	}
	return cli.WithCode(cli.CannotJudge, err)
}

// normalisers are the recorded ones and those of the flags.
func (f *wireFlags) normalisers(recorded []string) ([]canon.Normaliser, error) {
	names := slices.Clone(recorded)
	for _, arg := range f.normalise {
		list := []string{arg}
		if !strings.Contains(arg, "=") {
			list = strings.Split(arg, ",")
		}
		for _, name := range list {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	list, err := canon.Normalisers(names, surroundings())
	return list, cli.WithCode(cli.Wrong, err)
}

// unrecorded refuses normalisers that would make requests unequal to a recording
// that was made without them: it has the texts that they replace. Members that
// it never had can be dropped, and results sorted that are in order there.
func unrecorded(list []canon.Normaliser, recorded []string) error {
	for _, n := range list {
		decl := n.String()
		if !slices.Contains(recorded, decl) && !strings.HasPrefix(decl, "drop=") && decl != "result-order" {
			return cli.Usagef("record again with it", "--normalise %s: the recording was made without it and holds what it replaces", decl)
		}
	}
	return nil
}

func (f *wireFlags) openSim(s *station) error {
	if p, ok := sim.Lookup(f.model); !ok || p.Name != f.model {
		return cli.Usagef("harnessbench models lists the simulated ones; a recording is replay/PATH", "--model %s is no model that answers here", f.model)
	}
	known, err := newCatalogue(f.scenarios)
	if err != nil {
		return err
	}
	s.handler = wire.NewSim(wire.SimOptions{Profile: f.model, Find: known.find, New: known.model, Speed: wire.Speed(f.speed)})
	return nil
}

// openProxy returns the upstream for the recording's header too.
func (f *wireFlags) openProxy(a *app, s *station, secrets *redact.Redactor) (string, error) {
	if len(f.scenarios) > 0 || f.speed != 0 {
		return "", cli.Usagef("add --model sim/NAME", "--scenario and --speed are for simulated models")
	}
	openai := cmp.Or(f.upstream, os.Getenv("OPENAI_BASE_URL"), os.Getenv("OPENAI_API_BASE"), wire.DefaultOpenAI)
	anthropic := cmp.Or(f.upstream, os.Getenv("ANTHROPIC_BASE_URL"), wire.DefaultAnthropic)
	var up wire.Upstream
	var err error
	if up.OpenAI, err = wire.ParseUpstream(openai); err == nil {
		up.Anthropic, err = wire.ParseUpstream(anthropic)
	}
	if err != nil {
		return "", cli.WithCode(cli.Wrong, err)
	}
	if inCI() && !up.Local() {
		return "", cli.Usagef("record where CI is not set, and replay here; or use --model sim/NAME", "CI is set: nothing goes out to %s", up.OpenAI.Host)
	}
	log := a.logger()
	s.proxy = wire.NewProxy(up, func(text string) { log(secrets.Text(text)) })
	s.handler = s.proxy
	if f.upstream == "" {
		return openai + " " + anthropic, nil
	}
	return f.upstream, nil
}

// create begins the recording.
func (f *wireFlags) create(s *station, head tape.Head) error {
	if f.name != filepath.Base(f.name) || strings.HasPrefix(f.name, ".") {
		return cli.Usagef("the folder is named apart", "--name %q is no name of a file", f.name)
	}
	stem := filepath.Join(f.out, f.name)
	s.path = stem + session.Suffix
	for i := 2; f.derived && !f.overwrite && (exists(s.path) || exists(s.path+session.PartialSuffix)); i++ {
		s.path = fmt.Sprintf("%s-%d%s", stem, i, session.Suffix)
	}
	if exists(s.path) {
		if !f.overwrite {
			return cli.Usagef("name another with --name, or add --overwrite", "the recording %s exists", s.path)
		}
		s.aside = s.path + ".replaced"
		if err := os.Rename(s.path, s.aside); err != nil {
			return cli.WithCode(cli.Wrong, err)
		}
	}
	var err error
	if s.tape, err = tape.Create(s.path, head); err != nil {
		s.restore()
		return cli.WithCode(cli.Wrong, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// restore puts back the recording that was to be replaced.
func (s *station) restore() {
	if s.aside != "" {
		_ = os.Rename(s.aside, s.path) // it stays aside under a name that says so
	}
}

// close ends the recording when no request is on its way any more, and says what
// became of it. One without any model request is taken away.
func (s *station) close(a *app) error {
	if s.proxy != nil {
		s.proxy.Close()
	}
	if s.record == nil {
		return nil
	}
	err := errors.Join(s.record.Err(), s.tape.Close())
	if err != nil {
		if !exists(s.path) {
			s.restore()
		}
		return &cli.Exit{Code: cli.Errored, Err: fmt.Errorf("the recording is not complete: %w", err)}
	}
	n := s.record.Asked()
	if n == 0 {
		_ = os.Remove(s.path)
		s.restore()
		return &cli.Exit{Code: cli.CannotJudge, Err: errors.New("no model request came: nothing was recorded"),
			Hint: "the client must take its base URL from OPENAI_BASE_URL, OPENAI_API_BASE or ANTHROPIC_BASE_URL"}
	}
	if s.aside != "" {
		_ = os.Remove(s.aside)
	}
	fmt.Fprintf(a.stderr, "recorded: %s (%s)\n", s.path, cli.Count(n, "model request"))
	return nil
}

// judge writes the verdict of a replay where it is wanted, and returns its code.
func (f *wireFlags) judge(r *tape.Report) (cli.Code, error) {
	if f.report == "" {
		return cli.Code(r.Verdict.Exit()), nil
	}
	file, err := os.Create(f.report)
	if err == nil {
		err = errors.Join(cli.WriteJSON(file, r), file.Close())
	}
	return cli.Code(r.Verdict.Exit()), cli.WithCode(cli.Wrong, err)
}
