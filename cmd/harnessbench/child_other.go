//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// forwarded are the signals that the command gets when we get them.
var forwarded = []os.Signal{os.Interrupt}

// separate is for systems that have process groups.
func separate(*exec.Cmd) bool { return false }

func killAll(*exec.Cmd) bool { return false }

// passSignal: the console has told the command too.
func passSignal(*exec.Cmd, os.Signal, bool) {}
