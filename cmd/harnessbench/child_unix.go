//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// forwarded are the signals that the command gets when we get them.
var forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// separate gives a command that is not started yet a process group of its own.
func separate(c *exec.Cmd) bool {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return true
}

// killAll kills a command's group and reports whether there was one.
func killAll(c *exec.Cmd) bool { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) == nil }

// passSignal hands a signal on, to the whole group where the command has one.
func passSignal(c *exec.Cmd, s os.Signal, group bool) {
	pid := c.Process.Pid
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, s.(syscall.Signal)) // it may have ended
}
