package faultserver

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// Fault is one thing that goes wrong with one request.
type Fault string

// None leaves a request alone.
const None Fault = ""

// Faults that give no answer.
const (
	RateLimit     Fault = "rate_limit"      // 429, Retry-After in seconds
	RateLimitDate Fault = "rate_limit_date" // 429, Retry-After as an HTTP date
	Quota         Fault = "quota"           // 429 insufficient_quota
	ServerError   Fault = "server_error"    // 500
	Unavailable   Fault = "unavailable"     // 503, an HTML page as proxies send it
	Overloaded    Fault = "overloaded"      // 529
	Closed        Fault = "closed"          // the connection ends before an answer
	Hang          Fault = "hang"            // silence until the client leaves
	Reset         Fault = "reset"           // half an answer, then a reset of the connection
	Cut           Fault = "cut"             // half an answer, then a proper end
	Stall         Fault = "stall"           // half an answer, then silence until the client leaves
	BadJSON       Fault = "bad_json"        // a 200 whose JSON is wrong; in a stream its second event
	WrongType     Fault = "wrong_type"      // a 200 that is an HTML page
	ErrorObject   Fault = "error_object"    // an error object in a 200; in a stream after half of it
)

// Faults under which the answer arrives whole.
const (
	Drip        Fault = "drip"         // in fifty pieces with pauses
	SplitUTF8   Fault = "split_utf8"   // writes end within UTF-8 sequences
	SplitFrames Fault = "split_frames" // writes of seven bytes
	CRLF        Fault = "crlf"         // streams only: lines end in CR LF
	Comments    Fault = "comments"     // streams only: comments and pings between events
	Gzip        Fault = "gzip"         // compressed, when the client takes it
	Big         Fault = "big"          // 10 MB: white space before the JSON, comments in a stream
	NoDone      Fault = "no_done"      // streams only: [DONE] does not come
)

// harmful and harmless are all faults, in the order in which rates are drawn.
var (
	harmful = []Fault{RateLimit, RateLimitDate, Quota, ServerError, Unavailable, Overloaded, Closed, Hang, Reset, Cut, Stall,
		BadJSON, WrongType, ErrorObject}
	harmless = []Fault{Drip, SplitUTF8, SplitFrames, CRLF, Comments, Gzip, Big, NoDone}
)

// Harmful returns the faults that give no answer.
func Harmful() []Fault { return append([]Fault(nil), harmful...) }

// Harmless returns the faults under which the answer arrives whole.
func Harmless() []Fault { return append([]Fault(nil), harmless...) }

// Mixed returns the rates of a storm: total (0..1) shared equally by the faults
// that pass with a retry. Those that wait for the client to leave, and quota,
// which does not pass, are not among them.
func Mixed(total float64) map[Fault]float64 {
	passing := []Fault{RateLimit, RateLimitDate, ServerError, Unavailable, Overloaded, Closed, Reset, Cut}
	rates := map[Fault]float64{}
	for _, f := range passing {
		rates[f] = total / float64(len(passing))
	}
	return rates
}

// Plan says which request meets which fault. The zero Plan is a server without
// any.
type Plan struct {
	// Script gives the faults of the first requests in the order they come. After
	// it, and with a nil one, the rates count.
	Script []Fault
	// Rates are probabilities (0..1) whose sum is at most 1. The draw depends on
	// Seed, the request's body and how often the same body came before.
	Rates map[Fault]float64
	Seed  uint64
	// RetryAfter is what a 429 says; rounded up to whole seconds in Retry-After,
	// with retry-after-ms beside it where that lost something. 0 = 1 s.
	RetryAfter time.Duration
	// PerSecond limits requests by a token bucket that holds Burst (0 = 1): one
	// too many is a 429 that says how long until the next. 0 = no limit.
	PerSecond float64
	Burst     int
	// Pause is between the pieces of Drip; 0 = 1 ms.
	Pause time.Duration
}

// picker draws the faults of a plan.
type picker struct {
	plan   Plan
	mu     sync.Mutex
	n      int
	seen   map[[32]byte]uint64
	tokens float64
	last   time.Time
}

func newPicker(p Plan) *picker {
	sum := 0.0
	for f, rate := range p.Rates {
		if rate < 0 {
			panic(fmt.Sprintf("faultserver: rate of %s is negative", f))
		}
		sum += rate
	}
	if sum > 1+1e-9 {
		panic(fmt.Sprintf("faultserver: rates sum to %g, which is more than 1", sum))
	}
	if p.RetryAfter == 0 {
		p.RetryAfter = time.Second
	}
	if p.Pause == 0 {
		p.Pause = time.Millisecond
	}
	p.Burst = max(p.Burst, 1)
	return &picker{plan: p, seen: map[[32]byte]uint64{}, tokens: float64(p.Burst)}
}

// take takes a token of the bucket; wait > 0 = there was none.
func (p *picker) take(now time.Time) (wait time.Duration) {
	if p.plan.PerSecond <= 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.IsZero() {
		p.tokens = min(p.tokens+now.Sub(p.last).Seconds()*p.plan.PerSecond, float64(p.plan.Burst))
	}
	p.last = now
	if p.tokens < 1 {
		return max(time.Duration((1-p.tokens)/p.plan.PerSecond*float64(time.Second)), time.Millisecond)
	}
	p.tokens--
	return 0
}

// pick draws the fault of a request.
func (p *picker) pick(body []byte) Fault {
	sum := sha256.Sum256(body)
	p.mu.Lock()
	n, again := p.n, p.seen[sum]
	p.n++
	if len(p.plan.Rates) > 0 {
		p.seen[sum]++
	}
	p.mu.Unlock()
	if n < len(p.plan.Script) {
		return p.plan.Script[n]
	}
	if len(p.plan.Rates) == 0 {
		return None
	}
	at := draw(p.plan.Seed, sum, again)
	for _, list := range [][]Fault{harmful, harmless} {
		for _, f := range list {
			if at -= p.plan.Rates[f]; at < 0 {
				return f
			}
		}
	}
	return None
}

// draw is a number in [0, 1) that depends on its arguments alone.
func draw(seed uint64, body [32]byte, again uint64) float64 {
	b := binary.BigEndian.AppendUint64(nil, seed)
	b = binary.BigEndian.AppendUint64(append(b, body[:]...), again)
	sum := sha256.Sum256(b)
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}
