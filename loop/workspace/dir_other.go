//go:build !unix && !windows

package workspace

import (
	"io/fs"
	"os"
)

// nonblock is not known here.
const nonblock = 0

// hasExecBit says whether files keep an executable bit.
const hasExecBit = false

// links returns how many names a file has, as far as the platform tells.
func links(*os.File, fs.FileInfo) uint64 { return 1 }
