package main

import (
	"syscall"

	"github.com/harnessbench/harnessbench/recorder/wire/canon"
)

// uname fills in what uname says of kernel and machine.
func uname(env *canon.Env) {
	env.Release, _ = syscall.Sysctl("kern.osrelease") // unknown is not looked for
	env.Version, _ = syscall.Sysctl("kern.version")
	env.Machine, _ = syscall.Sysctl("hw.machine")
}
