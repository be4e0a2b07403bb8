package sandbox

import "golang.org/x/sys/unix"

// seccompArch is the architecture whose system calls the filter judges.
const seccompArch = unix.AUDIT_ARCH_AARCH64

var (
	deniedHere  = []uintptr{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_LOOKUP_DCOOKIE}
	ignoredHere []uintptr
	forks       []uintptr
	// opens open files; the argument with the flags is the one after their position here.
	opens = []uintptr{absentCall, unix.SYS_OPENAT}
)

// absentCall is no system call.
const absentCall = 0x3fffffff
