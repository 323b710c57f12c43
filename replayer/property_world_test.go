package replayer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/harnessbench/harnessbench/loop/guard"
	modelfault "github.com/harnessbench/harnessbench/loop/model/fault"
	toolfault "github.com/harnessbench/harnessbench/loop/tool/fault"
	"github.com/harnessbench/harnessbench/scenarios"
)

// A case of the property test is a seed and a list of knobs, each "key=value".
// What no knob names is as plain as can be: every guard off, a model that errs
// nowhere, wide limits. So a case is made smaller by leaving knobs out, and what
// is left of a failing one says what it takes.
//
//	GUARD=MODE, GUARD.PARAM=VALUE    as suites spell them
//	world=N                          scenario: files, tools and their faults, checks, permissions, seals
//	case.turns, calls, tokens, window, max_tokens, micro_usd, wall   the scenario's limits
//	case.fallback=A+B                models for fallback
//	case.cache=filled                it is run again with a response cache that the first run filled
//	case.clock=real                  the model takes real time (within a synctest bubble)
//	case.cancel=N                    the operator cancels after N events; the session is resumed
//	case.cut=N                       the finished session is cut after N lines and resumed
//	case.offline=N                   it is cut after N lines and driven on without a model: cancelled
//	model.mood=NAME                  what it asks for
//	model.errors=N, blank=N, late=N, odd=N   one in N answers is such
//	model.fault=KIND/TURN/ATTEMPT    injected in front of the model
//	tools.hostile=N                  one in N results is changed into what no tool should say
type knobs []string

func (k knobs) String() string { return strings.Join(k, ",") }

// moods are what a model of the property test is bent on.
var moods = []string{"mixed", "loop", "abab", "poll", "fail", "wander", "big", "busy", "quit"}

// worlds is the number of scenarios; a few, since what is compiled from them is
// kept.
const worlds = 150

// drawKnobs draws the knobs of a case.
func drawKnobs(seed uint64) knobs {
	rnd := rand.New(rand.NewPCG(seed, 1))
	one := func(n int) bool { return rnd.IntN(n) == 0 }
	k := knobs{fmt.Sprintf("world=%d", rnd.IntN(worlds)), "model.mood=" + moods[rnd.IntN(len(moods))]}
	k = append(k, drawGuards(rnd)...)
	turns := 1 + rnd.IntN(90)
	if one(40) {
		turns = 200
	}
	add := func(n int, key string, value any) {
		if one(n) {
			k = append(k, fmt.Sprint(key, "=", value))
		}
	}
	add(1, "case.turns", turns)
	add(6, "case.calls", 1+rnd.IntN(150))
	add(10, "case.tokens", 1+rnd.IntN(100000))
	add(8, "case.micro_usd", 1+rnd.IntN(200000))
	add(4, "case.window", []int{500, 4000, 16000, 100000}[rnd.IntN(4)])
	add(3, "case.max_tokens", []int{1, 64, 1000}[rnd.IntN(3)])
	add(6, "case.wall", time.Duration(1+rnd.IntN(7200))*time.Second)
	add(4, "model.errors", 2+rnd.IntN(40))
	add(3, "model.blank", 2+rnd.IntN(40))
	add(8, "model.late", 2+rnd.IntN(90))
	add(3, "model.odd", 2+rnd.IntN(20))
	kinds := modelfault.Kinds()
	add(5, "model.fault", fmt.Sprintf("%s/%d/%d", kinds[rnd.IntN(len(kinds))], 1+rnd.IntN(6), 1+rnd.IntN(2)))
	add(4, "tools.hostile", 2+rnd.IntN(20))
	switch rnd.IntN(20) {
	case 0, 1:
		add(1, "case.cancel", 1+rnd.IntN(60))
	case 2:
		add(1, "case.cut", 2+rnd.IntN(60))
	case 3:
		add(1, "case.offline", 4+rnd.IntN(60))
	}
	add(20, "case.clock", "real")
	add(3, "case.fallback", "weak+strong+weak")
	add(6, "case.cache", "filled")
	return k
}

// drawGuards puts every guard of the table into a random mode, some with random
// parameters.
func drawGuards(rnd *rand.Rand) (k knobs) {
	modes := []guard.Mode{guard.Off, guard.Shadow, guard.Enforce, guard.Enforce}
	for i := range guard.Table {
		d := &guard.Table[i]
		mode := modes[rnd.IntN(len(modes))]
		if d.Stays {
			mode = guard.Enforce
		}
		if mode == guard.Off {
			continue
		}
		k = append(k, d.Name+"="+string(mode))
		for j := range d.Params {
			if p := &d.Params[j]; rnd.IntN(2) == 0 {
				k = append(k, d.Name+"."+p.Name+"="+p.Format(drawValue(rnd, p)))
			}
		}
	}
	return k
}

// drawValue draws a value of a parameter: at its bounds, near its default, small,
// or of any size.
func drawValue(rnd *rand.Rand, p *guard.Param) int64 {
	unit := int64(1)
	if p.Unit == guard.Duration {
		unit = int64(time.Microsecond)
	}
	v, kind := p.Default, rnd.IntN(16)
	switch {
	case kind == 0:
		v = p.Min
	case kind == 1:
		v = p.Max
	case kind < 8 && p.Unit == guard.Count && p.Max < 1<<30: // where it matters in a short session
		v = p.Min + rnd.Int64N(12)
	case kind < 10:
		v = p.Default/2 + rnd.Int64N(p.Default+1)
	case kind < 12:
		v = p.Min + rnd.Int64N(p.Max-p.Min+1)>>rnd.IntN(40)
	}
	v -= v % unit
	return min(max(v, p.Min), p.Max)
}

var worldsMade struct {
	sync.Mutex
	list map[int]*scenarios.Scenario
}

// someKey has the shape of a secret.
const someKey = "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2"

// world returns scenario number n.
func world(n int) (*scenarios.Scenario, error) {
	w := &worldsMade
	w.Lock()
	defer w.Unlock()
	if w.list[n] == nil {
		text := worldText(n)
		sc, err := scenarios.LoadTxtar(fmt.Sprintf("world-%d.txtar", n), []byte(text))
		if err != nil {
			return nil, fmt.Errorf("%w\n%s", err, text)
		}
		if w.list == nil {
			w.list = map[int]*scenarios.Scenario{}
		}
		w.list[n] = sc
	}
	return w.list[n], nil
}

// worldTools are the mock tools of every world.
const worldTools = `- read_file
- list_dir
- grep
- write_file
- edit_file
- {name: poll, kind: mock, description: Says how far it is., takes: 5s, responses: [{text: queued}, {text: running}, {text: "running, 50 %%"}, {text: done}]}
- {name: same, kind: mock, description: Says the same thing., responses: [{text: nothing new}]}
- {name: fails, kind: mock, description: Never works., responses: [{error: "E1: no such thing\nat line 4"}]}
- name: fetch
  kind: mock
  description: Fetches a page.
  schema: {type: object, properties: {id: {type: integer, minimum: 0}}, required: [id], additionalProperties: false}
  takes: 300ms
  responses:
  - {when: {id: '^[0-3]$'}, text: 'page ${id} é'}
  - {when: {id: '^[4-7]$'}, generate: {lines: %d, line: 'é {n:5} {hex:8} {pick:ü|ß|x}', seed: 7}}
  - {text: "no page ${id}", takes: 10m}
- {name: put, kind: mock, description: Writes a file., effect: write, paths: [to], takes: 20ms,
   schema: {type: object, properties: {to: {type: string}}, required: [to]}, responses: [{text: 'put ${to}', files: [{path: '${to}', content: "put\n"}]}]}
- {name: pay, kind: mock, description: Pays., effect: external, takes: 1s, parallel: %t, responses: [{text: paid}, {error: declined}]}
`

// worldText is the text of scenario number n.
func worldText(n int) string {
	rnd := rand.New(rand.NewPCG(uint64(n), 77))
	var b strings.Builder
	fmt.Fprintf(&b, "-- scenario.yaml --\nschema: harnessbench/scenario/v1\nid: world-%d\nsummary: one of many\ntools:\n", n)
	fmt.Fprintf(&b, worldTools, []int{3, 40, 900, 4000}[rnd.IntN(4)], rnd.IntN(2) == 0)
	var faults []string
	tools := []string{"read_file", "write_file", "grep", "poll", "same", "fetch", "put", "pay"}
	for range rnd.IntN(5) {
		kinds := toolfault.Kinds()
		f := fmt.Sprintf("{tool: %s, kind: %s", tools[rnd.IntN(len(tools))], kinds[rnd.IntN(len(kinds))])
		if rnd.IntN(4) > 0 {
			f += fmt.Sprintf(", at_call: [%d, %d]", 1+rnd.IntN(4), 5+rnd.IntN(4))
		}
		faults = append(faults, f+"}")
	}
	list := func(key string, items []string) {
		if len(items) > 0 {
			fmt.Fprintf(&b, "%s: [%s]\n", key, strings.Join(items, ", "))
		}
	}
	some := func(items ...string) (out []string) {
		for _, it := range items {
			if rnd.IntN(3) == 0 {
				out = append(out, it)
			}
		}
		return out
	}
	list("faults", faults)
	list("acceptance", some("{file_exists: out.txt}", "{type: contains, want: done}", "{type: file_contains, path: a.txt, want: x}"))
	list("seals", some("'sealed/**'", "a.txt"))
	if rnd.IntN(3) == 0 {
		fmt.Fprintf(&b, "permissions: {read: [%s], write: [%s], deny: [%s]}\n", strings.Join(some("'**'", "a.txt", "'sub/**'"), ", "),
			strings.Join(some("out.txt", "'sub/**'"), ", "), strings.Join(some("'sealed/**'", "put.txt"), ", "))
	}
	if rnd.IntN(2) == 0 {
		fmt.Fprintf(&b, "approvals: [{tool: %s, decide: %s, takes: %s, reason: because}, {tool: write_file, when: {path: 'out'}, decide: %s, takes: 15m}]\n",
			[]string{"pay", "put"}[rnd.IntN(2)], []string{"allow", "deny", "expire"}[rnd.IntN(3)], []string{"30s", "9m", "2h"}[rnd.IntN(3)], []string{"allow", "deny"}[rnd.IntN(2)])
	}
	if rnd.IntN(2) == 0 {
		b.WriteString("user: {script: [{when: 'done', say: 'And the other file?'}, {say: 'My key is " + someKey + "'}]}\n")
	}
	b.WriteString("graders: [{type: file_exists, path: out.txt}]\ngenerate: [{path: big.log, lines: ")
	b.WriteString([]string{"700", "90", "90", "90", "90", "90", "90", "90"}[n%8] + ", line: 'é {n:6} {hex:24}', seed: 3}]\n") // a large file is a blob of its own
	b.WriteString("-- instruction.md --\nMake out.txt of what you find.\n-- workspace/a.txt --\na\n-- workspace/sub/b.txt --\nb é " + someKey + "\n-- workspace/sealed/c.txt --\nc\n")
	return b.String()
}
