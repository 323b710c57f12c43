//go:build mutants

package mutant

import "os"

var chosen = os.Getenv("HARNESSBENCH_MUTANT")

// Is reports whether the mutant of that name is in force.
func Is(name string) bool { return chosen == name }
