//go:build !unix

package parquet

import "time"

// cpuTime is unknown here.
func cpuTime() time.Duration { return 0 }
