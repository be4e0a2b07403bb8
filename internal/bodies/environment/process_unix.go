//go:build unix

package environment

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process and its children in a process group, which Cancel kills.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
