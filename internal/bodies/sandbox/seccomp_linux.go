package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the data that a filter judges.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// Actions.
const (
	actAllow = unix.SECCOMP_RET_ALLOW
	actKill  = unix.SECCOMP_RET_KILL_PROCESS
	// actIgnore does not execute the call and reports success: copies of files set modes
	// and times, which is not needed.
	actIgnore = unix.SECCOMP_RET_ERRNO
)

func fails(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// denied are the system calls of every architecture that fail with EPERM.
var denied = []uintptr{
	// other processes
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PROCESS_MRELEASE,
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_KCMP, unix.SYS_MOVE_PAGES,
	unix.SYS_MIGRATE_PAGES,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM,
	unix.SYS_SCHED_SETATTR,
	// users and namespaces
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID,
	unix.SYS_SETGROUPS,
	unix.SYS_SETFSUID, unix.SYS_SETFSGID, unix.SYS_CAPSET, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_PERSONALITY,
	// file systems
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_SWAPON,
	unix.SYS_SWAPOFF,
	unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR,
	unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	// the kernel
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_ACCT, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
	unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	// memory that no limit counts
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET,
}

// absent are the system calls that fail with ENOSYS: programs then use older ones.
var absent = []uintptr{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_OPENAT2,
}

// ignored are the system calls that do nothing and succeed.
var ignored = []uintptr{unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_UTIMENSAT}

// program is a filter under construction.
type program []unix.SockFilter

func (p *program) add(code uint16, jt, jf uint8, k uint32) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (p *program) load(offset uint32)  { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }
func (p *program) ret(action uint32)   { p.add(unix.BPF_RET|unix.BPF_K, 0, 0, action) }
func (p *program) mask(bits uint32)    { p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0, 0, bits) }
func (p *program) argument(number int) { p.load(dataArgs + 8*uint32(number)) }

// skip skips n instructions unless the loaded value is k.
func (p *program) skip(k uint32, n uint8) { p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, n, k) }

// call gives a system call an action.
func (p *program) call(action uint32, numbers ...uintptr) {
	for _, n := range numbers {
		p.skip(uint32(n), 1)
		p.ret(action)
	}
}

// where gives a system call an action by the low bits of an argument: hit if one of values
// equals the masked argument, else miss.
func (p *program) where(number uintptr, argument int, bits uint32, values []uint32, hit, miss uint32) {
	p.skip(uint32(number), uint8(2*len(values)+3))
	p.argument(argument)
	p.mask(bits)
	for _, v := range values {
		p.skip(v, 1)
		p.ret(hit)
	}
	p.ret(miss)
}

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

const all32 = 1<<32 - 1

// filter is the program for a worker.
func (c *confinement) filter(self int) program {
	var p program
	eperm := fails(unix.EPERM)
	p.load(dataArch)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, seccompArch)
	p.ret(actKill)
	p.load(dataNumber)
	p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 0, 1, 0x40000000) // x32
	p.ret(actKill)
	p.call(eperm, denied...)
	p.call(eperm, deniedHere...)
	p.call(fails(unix.ENOSYS), absent...)
	p.call(actIgnore, ignored...)
	p.call(actIgnore, ignoredHere...)
	p.where(unix.SYS_PRCTL, 0, all32, []uint32{unix.PR_SET_PDEATHSIG, unix.PR_SET_MM}, eperm, actAllow)
	p.where(unix.SYS_IOCTL, 1, all32, []uint32{unix.TIOCSTI, unix.TIOCLINUX}, eperm, actAllow)
	p.sockets(c.Network)
	p.processes(c.has(layerSpaces|layerPIDs), uint32(self))
	if c.Landlock < leastLandlock {
		p.call(eperm, unix.SYS_TRUNCATE)
		for i, number := range opens {
			p.where(number, i+1, unix.O_TRUNC|unix.O_ACCMODE, []uint32{unix.O_TRUNC}, eperm, actAllow)
		}
	}
	p.ret(actAllow)
	return p
}

// sockets permits pairs of sockets that can only reach each other, and with a network
// those of the internet. Sockets in the file system are those of other programs.
func (p *program) sockets(network bool) {
	eperm := fails(unix.EPERM)
	if network {
		p.where(unix.SYS_SOCKET, 0, all32, []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}, actAllow, eperm)
	} else {
		p.call(eperm, unix.SYS_SOCKET)
	}
	const kinds = 0xf // without SOCK_NONBLOCK, SOCK_CLOEXEC
	p.where(unix.SYS_SOCKETPAIR, 1, kinds, []uint32{unix.SOCK_STREAM}, actAllow, eperm)
}

// processes permits no new namespaces. Where others' processes are visible, the program
// has one process, and reaches no other.
func (p *program) processes(alone bool, self uint32) {
	eperm := fails(unix.EPERM)
	if alone {
		p.where(unix.SYS_CLONE, 0, newNamespaces, []uint32{0}, actAllow, eperm)
		return
	}
	p.where(unix.SYS_CLONE, 0, newNamespaces|unix.CLONE_THREAD, []uint32{unix.CLONE_THREAD}, actAllow, eperm)
	p.call(eperm, forks...)
	p.call(eperm, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO)
	for _, number := range []uintptr{unix.SYS_KILL, unix.SYS_TGKILL} {
		p.where(number, 0, all32, []uint32{self}, actAllow, eperm)
	}
	for _, number := range []uintptr{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY} {
		p.where(number, 0, all32, []uint32{0, self}, actAllow, eperm)
	}
}

// filterCalls installs the filter for this thread.
func (c *confinement) filterCalls() error {
	p := c.filter(os.Getpid())
	f := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		0, uintptr(unsafe.Pointer(&f))); errno != 0 {
		return fmt.Errorf("a filter of %d instructions: %w", len(p), errno)
	}
	runtime.KeepAlive(p)
	return nil
}
