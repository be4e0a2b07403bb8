package isolate

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
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

// setPipeSize is F_SETPIPE_SZ of fcntl(2), which package syscall does not name.
const setPipeSize = 1031

// pipeBytes is the capacity of the pipe of a worker's rows: that of about four frames,
// and the most that Linux permits without privileges by default. With its default of
// 64 KiB, worker and parent wait for each other several times in each frame.
const pipeBytes = 1 << 20

// enlargePipe enlarges a pipe, which works without.
func enlargePipe(pipe io.ReadCloser) {
	f, ok := pipe.(*os.File)
	if !ok {
		return
	}
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { syscall.RawSyscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeBytes) })
	}
}

// preferOOMKill makes this process the first to be killed when the machine runs out
// of memory.
func preferOOMKill() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

// statm has the memory of this process, as it is when it is read.
var statm = sync.OnceValue(func() *os.File {
	f, _ := os.Open("/proc/self/statm") // reads of nil fail
	return f
})

// dataBytes is the memory that counts towards RLIMIT_DATA, see proc_pid_statm(5); 0
// if unknown.
func dataBytes() int64 {
	var text [128]byte
	n, err := statm().ReadAt(text[:], 0)
	fields := bytes.Fields(text[:n])
	if err != nil && err != io.EOF || len(fields) < 6 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[5]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// peakMemory is the most memory, in bytes, that a process that has ended used at once.
func peakMemory(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
