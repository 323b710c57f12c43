//go:build !unix

package scenarios

import "io/fs"

// hardLinked cannot be told here.
func hardLinked(fs.FileInfo) bool { return false }
