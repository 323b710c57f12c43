package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
)

// chunk is the number of suites that share a random stream.
const chunk = 250

// share counts how often something happened.
type share struct{ n, hits int }

func (s *share) add(hit bool) {
	s.n++
	if hit {
		s.hits++
	}
}

func (s share) value() float64 { return float64(s.hits) / float64(s.n) }

// se is the Monte Carlo standard error of a share whose true value is p.
func (s share) se(p float64) float64 { return math.Sqrt(p * (1 - p) / float64(s.n)) }

// mean adds up values.
type mean struct {
	n        int
	sum, sq2 float64
}

func (m *mean) add(x float64) { m.n, m.sum, m.sq2 = m.n+1, m.sum+x, m.sq2+x*x }

func (m mean) value() float64 { return m.sum / float64(m.n) }

// se is the Monte Carlo standard error of the mean.
func (m mean) se() float64 {
	v := m.value()
	return math.Sqrt(max(0, m.sq2/float64(m.n)-v*v) / float64(m.n))
}

// tally is what the suites of one cell gave, by the index of what was counted.
type tally struct {
	shares [16]share
	means  [4]mean
	flat   int // intervals without width
}

func (t *tally) join(o *tally) {
	for i := range t.shares {
		t.shares[i].n += o.shares[i].n
		t.shares[i].hits += o.shares[i].hits
	}
	for i := range t.means {
		t.means[i].n += o.means[i].n
		t.means[i].sum += o.means[i].sum
		t.means[i].sq2 += o.means[i].sq2
	}
	t.flat += o.flat
}

// job is one cell to be simulated: what one suite adds to a tally.
type job struct {
	name  string // says which random streams are its own
	suite func(r *rand.Rand, number uint64, t *tally)
}

// simulate runs all jobs over all cores and returns one tally a job. Chunks have
// random streams of their own and are added up in their order: the result depends
// on the seed alone.
func simulate(jobs []job, suites int, seed uint64) []tally {
	perJob := (suites + chunk - 1) / chunk
	parts := make([]tally, len(jobs)*perJob)
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for k := range next {
				j, c := jobs[k/perJob], k%perJob
				r := stream(seed, j.name, c)
				for i := c * chunk; i < min(suites, (c+1)*chunk); i++ {
					j.suite(r, uint64(i), &parts[k])
				}
			}
		})
	}
	for k := range parts {
		next <- k
	}
	close(next)
	wg.Wait()
	out := make([]tally, len(jobs))
	for k := range parts {
		out[k/perJob].join(&parts[k])
	}
	return out
}

// stream is the random stream of a chunk. Both words of its seed are hashed:
// neighbours among the seeds of this generator would be too much alike.
func stream(seed uint64, name string, c int) *rand.Rand {
	h := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", seed, c, name))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:])))
}
