package graders_test

import (
	"context"
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/harnessbench/harnessbench/graders"
	"github.com/harnessbench/harnessbench/graders/check"
)

func ExampleGrade() {
	var list check.Graders
	err := yaml.Unmarshal([]byte(`
- number_within: {pattern: 'total is (\S+)', want: 1234.5, tolerance: 0.1}
- trajectory: {use: [grep], forbid: [write_file], turns: {max: 5}}
`), &list)
	if err != nil {
		fmt.Println(err)
		return
	}
	overall, verdicts := graders.Grade(context.Background(), list, &graders.Finished{
		Answer: "The total is 1,234.50", Stop: "completed", Turns: 6, Attempts: 6,
		Calls: []graders.Call{{Turn: 1, Tool: "grep", Args: `{"pattern":"total"}`, Outcome: "success"}},
	})
	for _, v := range verdicts {
		fmt.Printf("%s: %s %q\n", v.Grader, v.Verdict, v.Reason)
	}
	fmt.Println(overall.Verdict, overall.Score)
	// Output:
	// number_within: pass ""
	// trajectory: fail "There were 6 turns; at most 5 are allowed."
	// fail 0.5
}
