package arch

import (
	"fmt"
	"slices"
	"strings"
)

const module = "github.com/harnessbench/harnessbench"

// pkg is what the rules see of a package. Paths are relative to the module for
// its own packages ("loop/guard") and as imported for all others.
type pkg struct {
	path    string
	imports []string // direct ones, without those of tests
	deps    []string // those and theirs
	dir     string
	files   []string // Go files without tests
}

// row allows a package its arrows within the module.
type row struct {
	pkg   string // the package, and those below it that have no row of their own
	may   string // space-separated; x/... is x and all below; - is none
	cause string
}

// allowed is the direction of dependencies: model <- event <- tool, guard <-
// loop <- ablations/trial <- replayer, ablations; session <- recorder, replayer,
// graders; results and scenarios import none of them.
var allowed = []row{
	{"loop/model", "-", "the vocabulary everything else is built on"},
	{"loop/model/openai", "loop/model", "an adapter knows the vocabulary and its provider"},
	{"loop/model/anthropic", "loop/model", "an adapter knows the vocabulary and its provider"},
	{"loop/model/fault", "loop/model loop/clock", "a decorator of any model"},
	{"loop/model/sim", "loop/model loop/model/fault scenarios/strictyaml", "a simulated model sees only its request; its scripts are strict YAML"},
	{"loop/model/modeltest", "loop/model loop/clock", "one conformance suite for any model"},
	{"loop/model/modeltest/faultserver", "loop/model loop/model/modeltest", "a faulty provider on loopback, and the conformance suite over it"},
	{"loop/model/limit", "loop/model loop/clock", "a decorator of any model"},
	{"loop/model/cache", "loop/model loop/redact", "a decorator of any model, and stores of answers"},
	{"loop/model/cache/cachetest", "loop/model loop/model/cache", "one conformance suite for any store"},
	{"loop/clock", "-", "time is a leaf"},
	{"loop/redact", "-", "takes secrets out of texts: a leaf"},
	{"loop/event", "loop/model", "events speak the model's vocabulary and stand under guards and loop"},
	{"loop/workspace", "loop/model loop/event loop/workspace/...", "a tree reports its changes as events do"},
	{"loop/sandbox", "loop/model loop/event loop/workspace", "runs commands, knows no loop"},
	{"loop/tool", "loop/model loop/event loop/tool/internal/...", "a tool is described in events"},
	{"loop/tool/internal", "-", "helpers of the tools"},
	{"loop/tool/builtin", "loop/model loop/event loop/tool loop/tool/internal/... loop/workspace loop/sandbox", "tools work on a workspace"},
	{"loop/tool/fault", "loop/model loop/clock loop/event loop/tool", "a decorator of any tool"},
	{"loop/tool/mock", "loop/model loop/event loop/tool loop/tool/fault loop/tool/internal/... loop/workspace", "tools work on a workspace"},
	{"loop/internal/mutant", "-", "wrong builds for tests; nothing in an ordinary one"},
	{"loop/guard/repair", "-", "makes JSON of what is almost JSON: a leaf"},
	{"loop/guard", "loop/model loop/event loop/internal/mutant loop/guard/repair", "guards are pure folds over events"},
	{"loop/prompt", "loop/model loop/event", "assembles requests"},
	{"loop/approval", "loop/model loop/event loop/tool", "decides on operations"},
	{"loop/output", "loop/model loop/event", "structured answers"},
	{"loop/middleware", "loop/model loop/event loop/tool loop/clock", "wraps models and tools"},
	{"loop", "loop/model loop/event loop/clock loop/tool loop/workspace loop/guard loop/prompt loop/approval loop/output loop/middleware loop/redact loop/internal/mutant",
		"control flow over interfaces: no adapter, no recorder, no scenario"},
	{"loop/subagent", "loop loop/model loop/event loop/clock loop/tool loop/workspace loop/guard", "imports loop, never the reverse"},

	{"recorder/session", "loop/model loop/event", "the format is a leaf that readers can use without the loop"},
	{"recorder/internal", "loop/model loop/event recorder/session", "what the recorder's tests share"},
	{"recorder", "loop/model loop/event recorder/session recorder/internal/...", "a sink that writes sessions"},
	{"recorder/wire", "loop/model loop/model/... loop/event loop/clock loop/redact recorder recorder/session recorder/wire/... replayer", "the endpoint over recorder and replayer"},
	{"recorder/wire/dialect", "loop/model", "the shapes of the wire APIs, no network"},
	{"recorder/wire/canon", "loop/model recorder/wire/dialect loop/redact", "canonical requests of any API"},
	{"recorder/wire/tape", "loop/model loop/event recorder recorder/session recorder/wire/dialect recorder/wire/canon loop/redact replayer", "recorded traffic as a session, and its strict replay"},
	{"recorder/verify", "loop/model loop/event loop/redact recorder/session", "checks files and runs nothing"},
	{"replayer/internal/patch", "loop/model", "changes values within a line's JSON"},
	{"replayer/mutate", "loop/model loop/event loop/workspace recorder/session replayer replayer/internal/patch", "changes sessions and replays them"},
	{"replayer/minimise", "loop/model loop/event loop/workspace recorder/session replayer replayer/internal/patch", "makes sessions smaller and replays them"},
	{"replayer", "loop/... recorder recorder/session ablations/trial graders graders/check", "drives the loop from a session, and grades what that left"},

	{"scenarios", "graders/check scenarios/...", "pure data: no loop, no session"},
	{"scenarios/builtin", "scenarios scenarios/strictyaml", "the embedded scenarios"},
	{"scenarios/strictyaml", "-", "a leaf"},
	{"graders/check", "-", "a leaf that acceptance and graders share"},
	{"graders", "graders/check recorder/session", "grades a finished session"},

	{"results", "results/internal/...", "rows are plain data: no loop, no session, no scenario"},
	{"results/internal", "results results/parquet", "generates the columns' documentation"},
	{"results/stats", "-", "formulas over numbers"},
	{"results/stats/calibrate", "results/stats", "simulates what the tests and intervals promise"},
	{"results/pricing", "scenarios/strictyaml", "prices over counts; price files are strict YAML"},
	{"results/parquet", "results", "rows to tables"},
	{"results/report", "results results/stats results/pricing", "rows to summaries"},
	{"results/report/page", "results/report", "a summary as one HTML file"},
	{"results/importer", "results results/parquet results/pricing recorder/session loop/model loop/event graders", "other tools' sessions and tables become ours"},

	{"ablations/trial", "loop/... recorder recorder/session graders graders/check scenarios scenarios/... results results/pricing",
		"scenario + arm + model -> a ready loop"},
	{"ablations/models", "loop/model loop/model/limit scenarios/strictyaml results/pricing", "the models file: data, no adapter"},
	{"ablations/design", "ablations/trial ablations/models loop/guard recorder/session scenarios scenarios/... results results/pricing", "says what is to be measured, and runs nothing"},
	{"ablations", "ablations/design ablations/models ablations/trial loop loop/model loop/model/cache loop/event recorder/session replayer graders " +
		"scenarios scenarios/... results results/...", "runs plans"},
	{"ablations/check", "ablations ablations/design ablations/trial loop/... recorder/session graders graders/check scenarios scenarios/... results", "proves scenarios by running trials"},

	{"cmd/harnessbench", "...", "the program ties everything together"},
	{"cmd/harnessbench/internal/cli", "-", "helpers of the commands know no domain"},
	{"cmd/harnessbench/internal/arch", "-", "rules about packages import none"},
	{"cmd/harnessbench/internal/expr", "-", "conditions over named numbers"},
	{"cmd/harnessbench/internal/compare", "cmd/harnessbench/internal/cli results/importer results/pricing results/report results/stats", "tables of trials to comparisons"},
	{"cmd/harnessbench/internal/render", "cmd/harnessbench/internal/cli replayer recorder/wire/tape results/report", "reports of replays and runs for people and CI systems"},
}

// ban forbids imports from outside the module.
type ban struct {
	pkgs    string // the packages it binds; x/... as in row
	except  string
	imports string // what they may not import directly; x/... likewise
	cause   string
}

const outside = "net/http net/rpc"

var forbidden = []ban{
	{"loop loop/guard", "-", "os os/... net net/... math/rand math/rand/v2 encoding/json syscall", "the loop and its guards are pure: no machine, no randomness, one canonical JSON"},
	{"...", "loop/model/openai loop/model/anthropic loop/model/modeltest/faultserver recorder/wire cmd/harnessbench/...", outside, "only adapters, the wire endpoint and commands reach the network"},
	{"loop loop/guard loop/event loop/model loop/tool loop/prompt recorder/session graders/check", "-", "math/rand math/rand/v2 crypto/rand", "ids and jitter come from seeds"},
}

// unreachable lists what packages may not import by any detour either, so that
// what is said to work offline has nothing in it that could go out.
var unreachable = []ban{
	{"loop/... recorder recorder/session replayer ablations/trial ablations/design ablations/models graders/... results results/stats results/pricing results/report scenarios/...",
		"loop/model/openai loop/model/anthropic loop/model/modeltest/faultserver", outside, "loop, recorder and replayer are offline; only adapters reach the network"},
	// The tables' library imports net/http for itself.
	{"loop/... recorder recorder/session replayer ablations ablations/... graders/... results/... scenarios/...", "loop/model/openai loop/model/anthropic",
		"github.com/sashabaranov/go-openai/... github.com/anthropics/anthropic-sdk-go/... " + module + "/loop/model/openai " + module + "/loop/model/anthropic",
		"models are given to what runs them"},
}

// sole names the only importer of a dependency.
type sole struct{ dependency, importer, cause string }

var soleImporters = []sole{
	{"github.com/parquet-go/parquet-go/...", "results/parquet", "tables are written in one place"},
	{"github.com/sashabaranov/go-openai/...", "loop/model/openai", "one adapter per SDK"},
	{"github.com/anthropics/anthropic-sdk-go/...", "loop/model/anthropic", "one adapter per SDK"},
	{"gonum.org/v1/gonum/...", "results/stats", "statistics stay behind our own functions"},
	{"github.com/spf13/cobra/...", "cmd/harnessbench/...", "command lines belong to commands"},
	{"github.com/schollz/progressbar/v3/...", "cmd/harnessbench/internal/cli", "progress belongs to commands"},
}

// topLevel is the fixed list of folders at the root.
var topLevel = []string{"cmd", "loop", "ablations", "scenarios", "recorder", "replayer", "graders", "results", ".ci", "docs", "testdata", "examples"}

// check returns every breach of the import rules, sorted.
func check(pkgs []pkg) []string {
	var bad []string
	for _, p := range pkgs {
		bad = append(bad, checkArrows(p)...)
		bad = append(bad, checkForbidden(p)...)
		bad = append(bad, checkSole(p)...)
		bad = append(bad, checkReach(p)...)
	}
	slices.Sort(bad)
	return bad
}

func checkArrows(p pkg) (bad []string) {
	r, ok := rowOf(p.path)
	if !ok {
		return []string{fmt.Sprintf("%s: has no row in the table of allowed imports", orRoot(p.path))}
	}
	for _, imp := range p.imports {
		to, ok := internal(imp)
		if ok && !covers(r.may, to) && !(within(p.path, r.pkg) && to == r.pkg && p.path != r.pkg) {
			bad = append(bad, fmt.Sprintf("%s must not import %s: %s", p.path, to, r.cause))
		}
	}
	return bad
}

func checkForbidden(p pkg) (bad []string) {
	for _, b := range forbidden {
		if !covers(b.pkgs, p.path) || covers(b.except, p.path) {
			continue
		}
		for _, imp := range p.imports {
			if covers(b.imports, imp) {
				bad = append(bad, fmt.Sprintf("%s must not import %s: %s", p.path, imp, b.cause))
			}
		}
	}
	return bad
}

func checkSole(p pkg) (bad []string) {
	for _, s := range soleImporters {
		for _, imp := range p.imports {
			if covers(s.dependency, imp) && !covers(s.importer, p.path) {
				bad = append(bad, fmt.Sprintf("%s must not import %s, only %s may: %s", p.path, imp, s.importer, s.cause))
			}
		}
	}
	return bad
}

// checkReach names the first breach of each rule alone: the others follow from it.
func checkReach(p pkg) (bad []string) {
	for _, b := range unreachable {
		if !covers(b.pkgs, p.path) || covers(b.except, p.path) {
			continue
		}
		for _, dep := range p.deps {
			if covers(b.imports, dep) {
				to, ok := internal(dep)
				if !ok {
					to = dep
				}
				bad = append(bad, fmt.Sprintf("%s must not reach %s: %s", p.path, to, b.cause))
				break
			}
		}
	}
	return bad
}

// rowOf returns the row with the longest path that the package lies in.
func rowOf(path string) (best row, ok bool) {
	for _, r := range allowed {
		if within(path, r.pkg) && len(r.pkg) > len(best.pkg) {
			best, ok = r, true
		}
	}
	return best, ok
}

// within reports whether a path is another or lies below it.
func within(path, parent string) bool { return path == parent || strings.HasPrefix(path, parent+"/") }

// covers reports whether a list of patterns names a path.
func covers(patterns, path string) bool {
	for _, p := range strings.Fields(patterns) {
		if base, ok := strings.CutSuffix(p, "..."); ok {
			if base = strings.TrimSuffix(base, "/"); base == "" || within(path, base) {
				return true
			}
		} else if p == path {
			return true
		}
	}
	return false
}

// internal strips the module from an import of its own.
func internal(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func orRoot(path string) string {
	if path == "" {
		return "the module's root"
	}
	return path
}
