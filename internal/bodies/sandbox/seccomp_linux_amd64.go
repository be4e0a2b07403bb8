package sandbox

import "golang.org/x/sys/unix"

// seccompArch is the architecture whose system calls the filter judges.
const seccompArch = unix.AUDIT_ARCH_X86_64

// deniedHere are the system calls that only this architecture has.
var deniedHere = []uintptr{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL,
	unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_INOTIFY_INIT, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_LOOKUP_DCOOKIE,
}

var ignoredHere = []uintptr{unix.SYS_CHMOD, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}

var forks = []uintptr{unix.SYS_FORK, unix.SYS_VFORK}

// opens open files; the argument with the flags is the one after their position here.
var opens = []uintptr{unix.SYS_OPEN, unix.SYS_OPENAT}
