//go:build unix

package environment

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the process and its children in a process group, which Cancel kills.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// share locks a folder together with other processes that use it, until it is closed.
func share(dir string) (*os.File, error) { return lockFolder(dir, syscall.LOCK_SH) }

// claim locks a folder that no process uses, until it is closed.
func claim(dir string) (*os.File, error) { return lockFolder(dir, syscall.LOCK_EX) }

func lockFolder(dir string, how int) (*os.File, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
