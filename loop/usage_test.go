package loop

import (
	"testing"

	"github.com/harnessbench/harnessbench/loop/model"
)

// What a provider does not tell has no price, though the model has one.
func TestUnknownUsageHasNoPrice(t *testing.T) {
	c := Config{s: Settings{Prices: map[string]Prices{"p/m": {Output: 5}}}}
	if pico, known := c.cost("p/m", model.Usage{Output: 2}); pico != 10 || !known {
		t.Errorf("%d %v", pico, known)
	}
	if _, known := c.cost("p/m", model.Usage{Output: 2, Unknown: true}); known {
		t.Error("an unknown usage has a price")
	}
}
