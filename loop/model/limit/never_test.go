package limit

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/harnessbench/harnessbench/loop/model"
)

// A provider that has never answered is no outage to be waited for: soon calls end
// at once, and still one at a time tries, so that it is noticed when it is there.
func TestNeverThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(6)
		p.down = func(now time.Duration) bool { return now < 10*time.Minute }
		a := New(Options{Name: "acme"})
		m := a.Wrap(p)
		began := time.Now()
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() {
				for range 4 {
					_, err := m.Generate(t.Context(), ask(), nil)
					var e *model.Error
					if !errors.As(err, &e) || e.Kind != model.ErrTransport {
						t.Errorf("%v", err)
					}
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took > 30*sec {
			t.Errorf("2000 calls took %s", took)
		}
		if n := len(p.arrivals); n > 40 {
			t.Errorf("%d calls were made", n)
		}
		_, err := m.Generate(t.Context(), ask(), nil)
		if err == nil || !strings.Contains(err.Error(), "provider acme has answered none of") {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Until(began.Add(10*time.Minute + sec)))
		if _, err := m.Generate(t.Context(), ask(), nil); err != nil {
			t.Errorf("it is there now: %v", err)
		}
	})
}
