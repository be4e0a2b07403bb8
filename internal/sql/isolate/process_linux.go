package isolate

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// prSetNoNewPrivs is PR_SET_NO_NEW_PRIVS of prctl(2), which package syscall
// does not name.
const prSetNoNewPrivs = 38

// startProcess starts a command that cannot gain privileges, whatever it executes. A
// process inherits that from the thread that starts it. Since the thread cannot
// undo it, the thread ends with its goroutine.
func startProcess(cmd *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
			done <- os.NewSyscallError("prctl", errno)
			return
		}
		done <- cmd.Start()
	}()
	return <-done
}

// preferOOMKill makes this process the first to be killed when the machine runs out
// of memory.
func preferOOMKill() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

// dataBytes is the memory that counts towards RLIMIT_DATA, see proc_pid_statm(5); 0
// if unknown.
func dataBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 6 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[5]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// machineMemory is the memory of the machine in bytes, 0 if unknown.
func machineMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
