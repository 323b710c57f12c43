//go:build unix

package scenarios

import (
	"io/fs"
	"syscall"
)

// hardLinked reports whether a file has another name somewhere, perhaps outside
// the scenario.
func hardLinked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}
