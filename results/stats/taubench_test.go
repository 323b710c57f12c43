package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestTauBench compares with the table that tau-bench publishes for gpt-4o,
// airline (50 tasks x 4 trials), on the project's own recorded trials.
func TestTauBench(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "tau-bench", "gpt-4o-airline.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("no recorded trials at %s: put tau-bench's historical_trajectories/gpt-4o-airline.json there", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	var trials []struct {
		TaskID int     `json:"task_id"`
		Reward float64 `json:"reward"`
		Trial  int     `json:"trial"`
	}
	if err := json.Unmarshal(data, &trials); err != nil {
		t.Fatal(err)
	}
	byTask, byTrial := map[int]Counts{}, map[int]Counts{}
	for _, r := range trials {
		for id, m := range map[int]map[int]Counts{r.TaskID: byTask, 1000 + r.Trial: byTrial} {
			c := m[id]
			c.ID = fmt.Sprintf("%04d", id)
			c.Graded++
			if r.Reward > 0.999 {
				c.Passed++
			}
			m[id] = c
		}
	}
	var in []Counts
	successes := [5]int{}
	for _, c := range byTask {
		in = append(in, c)
		successes[c.Passed]++
	}
	if want := [5]int{14, 12, 10, 4, 10}; successes != want {
		t.Errorf("tasks by successes %v, want %v", successes, want)
	}
	for i, want := range []float64{0.42, 0.44, 0.40, 0.42} {
		near(t, fmt.Sprintf("trial %d", i), byTrial[1000+i].mean(), want, 1e-12)
	}
	r := PassRate(in)
	near(t, "rate", *r.Value, 0.42, 1e-12)
	// From the tasks by successes: sqrt(0.42 x 0.58 / 200), and the standard
	// deviation of 14 x 0, 12 x 1/4, 10 x 1/2, 4 x 3/4, 10 x 1 over the root of 50.
	near(t, "naive se", *r.SENaive, math.Sqrt(0.42*0.58/200), 1e-12)
	squares := 14*0.42*0.42 + 12*0.17*0.17 + 10*0.08*0.08 + 4*0.33*0.33 + 10*0.58*0.58
	near(t, "clustered se", *r.SEClustered, math.Sqrt(squares/49/50), 1e-12)
	near(t, "naive se, published", *r.SENaive, 0.0349, 5e-5)
	near(t, "clustered se, published", *r.SEClustered, 0.0522, 5e-5)
	near(t, "intra-class correlation", *ICC(in).Value, 0.40, 0.01)
	if r.Method != MethodT || r.Graded != 200 || r.Passed != 84 || r.Scenarios != 50 {
		t.Errorf("%+v", r)
	}
	for i, want := range []float64{0.42, 41.0 / 150, 0.22, 0.20} {
		near(t, fmt.Sprintf("pass^%d", i+1), *PassHat(in, i+1).Value, want, 1e-12)
	}
	for i, want := range []float64{0.42, 17.0 / 30, 0.66, 0.72} {
		near(t, fmt.Sprintf("pass@%d", i+1), *PassAt(in, i+1).Value, want, 1e-12)
	}
}
