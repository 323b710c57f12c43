package provider

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/harnessbench/harnessbench/ablations/models"
	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/loop/model/modeltest/faultserver"
)

// Over real HTTP, adapter and account together: trials that retry as the loop
// does, against a rate limit that is declared as users declare it, and 20 % faults
// of all kinds. Everyone is served, but for the few in a thousand that meet four
// faults in a row. How much of the limit is used is logged here and tested on
// virtual time by package limit, also where the limit is not declared.
func TestStorm(t *testing.T) {
	const trials, calls, perSecond = 100, 3, 200
	rates := faultserver.Mixed(0.2)
	rates[faultserver.RateLimit] += rates[faultserver.RateLimitDate]
	delete(rates, faultserver.RateLimitDate) // whole seconds: the test would only wait
	server := faultserver.New(nil, faultserver.Plan{Rates: rates, Seed: 1, PerSecond: perSecond, Burst: perSecond, RetryAfter: 20 * time.Millisecond})
	defer server.Close()
	f := &models.File{Schema: models.Schema, Providers: []models.Provider{{ID: "a", BaseURL: server.URL + "/v1", AnyModel: true,
		Limits: models.Limits{Concurrency: 32, RPM: 57 * perSecond}}}}
	p, err := New(f, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	for i := range trials {
		m, err := p.Model("a/echo", uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for j := range calls {
				if err := persist(t, m, r, strconv.Itoa(i)+"."+strconv.Itoa(j)); err != nil {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	s, c := p.Accounts()[0], server.Counts()
	allowed := perSecond*(took-s.Paused).Seconds() + perSecond
	t.Logf("%s, %d of %d calls failed, %d requests of %.0f, %+v, %+v", took, failed, trials*calls, c.Requests, allowed, c, s)
	if failed > trials*calls/50 {
		t.Errorf("%d calls got no answer in four attempts", failed)
	}
	if int64(c.Requests) != s.Calls {
		t.Errorf("the server saw %d requests, the account let %d through", c.Requests, s.Calls)
	}
}

// persist asks with the retries of the loop's policy.
func persist(t *testing.T, m model.Model, r *rand.Rand, text string) (err error) {
	for attempt := range 4 {
		req := ask("a/echo")
		req.Parts = []*model.Part{model.NewTextPart(model.User, text)}
		if _, err = m.Generate(t.Context(), req, nil); err == nil {
			return nil
		}
		var e *model.Error
		if !errors.As(err, &e) {
			t.Error(err)
			return err
		}
		time.Sleep(max(time.Duration(r.Int64N(int64(200*time.Millisecond)<<attempt)), e.RetryAfter))
	}
	return err
}
