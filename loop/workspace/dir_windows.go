package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock has no meaning here: a named pipe is no file of a folder.
const nonblock = 0

// hasExecBit says whether files keep an executable bit.
const hasExecBit = false

// links returns how many names an open file has; 1 while it is not open.
func links(f *os.File, _ fs.FileInfo) uint64 {
	if f == nil {
		return 1
	}
	var d syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &d); err != nil {
		return 1
	}
	return uint64(d.NumberOfLinks)
}
