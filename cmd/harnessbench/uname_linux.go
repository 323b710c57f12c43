package main

import (
	"syscall"

	"github.com/harnessbench/harnessbench/recorder/wire/canon"
)

// uname fills in what uname says of kernel and machine.
func uname(env *canon.Env) {
	var u syscall.Utsname
	if syscall.Uname(&u) == nil {
		env.Release, env.Version, env.Machine = cString(u.Release[:]), cString(u.Version[:]), cString(u.Machine[:])
	}
}

// cString is the text before the first zero; the element's sign depends on the
// machine.
func cString[T int8 | uint8](chars []T) string {
	var b []byte
	for _, c := range chars {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}
