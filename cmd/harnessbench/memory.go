package main

import (
	"os"
	"runtime/debug"
)

// readerMemory is what the garbage collector lets a command grow to that reads
// sessions one line at a time, in bytes. It is no bound on what is needed: a line
// may have 64 MiB. It keeps what is not needed any more from standing beside it.
const readerMemory = 160 << 20

// frugal tells the garbage collector to hold the memory of a reading command
// down, unless GOMEMLIMIT says what to do.
func frugal() { limitMemory(readerMemory) }

// limitMemory is the same for any bound, in bytes.
func limitMemory(n int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(n)
	}
}
