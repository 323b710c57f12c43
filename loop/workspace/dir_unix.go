//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps the opening of a FIFO from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// hasExecBit says whether files keep an executable bit.
const hasExecBit = true

// links returns how many names a file has.
func links(_ *os.File, fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
