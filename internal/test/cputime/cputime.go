// Package cputime bounds the CPU time that a test uses. Unlike elapsed time, it
// does not depend on how busy the machine is.
//
//	defer cputime.Limit(t, 5*time.Second)()
package cputime

import (
	"syscall"
	"testing"
	"time"
)

// Limit returns a function that reports an error if the process has used more
// than limit of CPU time since the call of Limit. Parallel tests of the same
// process count too.
func Limit(t testing.TB, limit time.Duration) func() {
	t.Helper()
	start := Used(t)
	return func() {
		t.Helper()
		if took := Used(t) - start; took > limit {
			t.Errorf("it took %s of CPU time, want at most %s", took, limit)
		}
	}
}

// Used returns the CPU time of the process: getrusage(2).
func Used(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
