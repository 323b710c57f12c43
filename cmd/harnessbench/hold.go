package main

import (
	"fmt"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/harnessbench/harnessbench/cmd/harnessbench/internal/cli"
)

// lockFile is locked by whoever changes a run folder. The lock goes with the
// process; the file stays.
const lockFile = ".lock"

// hold locks a run folder against other processes. release gives it back.
func hold(dir string) (release func(), err error) {
	l := flock.New(filepath.Join(dir, lockFile))
	got, err := l.TryLock()
	if err != nil {
		return nil, &cli.Exit{Code: cli.Errored, Err: fmt.Errorf("lock the run folder: %w", err)}
	}
	if !got {
		return nil, cli.Usagef("wait for it, or stop it", "another process is at work in %s", dir)
	}
	return func() { _ = l.Unlock() }, nil // it goes with the process at the latest
}
