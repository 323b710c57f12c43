package guard_test

import (
	"fmt"

	"github.com/harnessbench/harnessbench/loop/guard"
)

// Settings are values: a changed copy leaves what it was made from.
func ExampleSettings_WithParam() {
	base := guard.MustProfile(guard.ProfileDefault)
	strict, err := base.WithParam("stuck", "abort", "4")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(guard.Differ(base, strict), base.Get("stuck").Values, strict.Get("stuck").Values)

	_, err = base.WithParam("stuck", "abort", "1")
	fmt.Println(err)
	_, err = base.With("stuck", "on")
	fmt.Println(err)
	// Output:
	// [stuck] [3 6 2 3] [3 4 2 3]
	// guard stuck, parameter abort: 1 is outside 2..1000
	// guard stuck: no mode "on"; there are enforce, shadow, off
}

func ExampleNearest() {
	fmt.Println(guard.Nearest("readfile", []string{"grep", "read_file"}))
	fmt.Println(guard.Nearest("launch_rocket", []string{"grep", "read_file"}))
	// Output:
	// read_file true
	//  false
}
