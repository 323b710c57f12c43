package limit

import "time"

// burst is how far a Pacer may run ahead: it makes up for timers that are late.
const burst = time.Second

// Pacer spaces requests so that no minute has more than a number of them: the
// generic cell rate algorithm (ITU-T I.371) with a tolerance of one second. An
// interval of (60 s + tolerance)/n bounds every half-open minute by n, at a cost
// of 1.6 % of the rate. Requests come evenly, as providers want that count by the
// second. The zero Pacer lets all through.
type Pacer struct {
	interval time.Duration
	next     time.Duration // when the next request would come if all came evenly
}

// NewPacer returns a pacer for n requests a minute; 0 = no limit.
func NewPacer(n int) Pacer {
	if n <= 0 {
		return Pacer{}
	}
	return Pacer{interval: (time.Minute+burst)/time.Duration(n) + 1}
}

// At is the earliest time for the next request.
func (p *Pacer) At() time.Duration { return p.next - burst }

// Take counts a request at a time.
func (p *Pacer) Take(now time.Duration) { p.next = max(p.next, now) + p.interval }

// Meter counts tokens so that no minute has more than a number of them. A token
// counts at the time at which its call began, also when it is only known later.
// The zero Meter lets all through.
type Meter struct {
	most    int64
	buckets [meterSeconds]int64 // by second, modulo
	last    int64               // the newest second
}

// meterSeconds cover every half-open minute, wherever it begins in a second.
const meterSeconds = 61

// NewMeter returns a meter of n tokens a minute; 0 = no limit.
func NewMeter(n int64) *Meter { return &Meter{most: n} }

// turn forgets what is older than the newest seconds.
func (m *Meter) turn(now time.Duration) {
	second := int64(now / time.Second)
	for n := min(second-m.last, meterSeconds); n > 0; n-- {
		m.buckets[(second-n+1)%meterSeconds] = 0
	}
	m.last = max(m.last, second)
}

// At is the earliest time, now or later, at which a call of n tokens may begin. A
// call of more than a whole minute's goes when no other is counted: whether it is
// too large is the provider's to say.
func (m *Meter) At(now time.Duration, n int64) time.Duration {
	if m.most <= 0 {
		return now
	}
	m.turn(now)
	var sum int64
	for _, b := range m.buckets {
		sum += b
	}
	left := m.most - min(n, m.most)
	for s := m.last - meterSeconds + 1; s <= m.last; s++ {
		if sum <= left {
			if s == m.last-meterSeconds+1 {
				return now
			}
			return time.Duration(s-1+meterSeconds) * time.Second
		}
		sum -= m.buckets[(s+meterSeconds)%meterSeconds]
	}
	return time.Duration(m.last+meterSeconds) * time.Second
}

// Add counts tokens of a call that began at a time; fewer than none when it took
// fewer than were reserved. What began more than a minute ago counts no more.
func (m *Meter) Add(now, began time.Duration, n int64) {
	if m.most <= 0 {
		return
	}
	m.turn(now)
	if second := int64(began / time.Second); second > m.last-meterSeconds {
		m.buckets[second%meterSeconds] += n
	}
}
