//go:build unix

package sandbox

import (
	"os/exec"
	"syscall"
)

// setGroup makes the process of a command the first of a group.
func setGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killGroup kills the processes of a worker. On Linux, a PID namespace ends with its first
// process.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
