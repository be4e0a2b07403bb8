package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Main is the hidden command that a worker begins as: it confines its process as its
// environment says, and executes the interpreter or the command. It returns on an error
// only.
func Main() error {
	// The confinement is that of this thread, which the new program inherits.
	runtime.LockOSThread()
	debug.SetGCPercent(-1) // see execute
	runtime.GOMAXPROCS(1)
	text := os.Getenv(confinementVariable)
	os.Unsetenv(confinementVariable)
	var c confinement
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return fmt.Errorf("this command is for sandboxes: %s: %w", confinementVariable, err)
	}
	if c.Probe {
		os.Exit(probed + int(c.try()))
	}
	path, err := exec.LookPath(c.Command[0])
	if err != nil {
		return err
	}
	environ := os.Environ()
	limits, err := c.limits()
	if err != nil {
		return err
	}
	rules, err := c.rules(path)
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		do   func() error
		on   bool
	}{
		{"user", c.becomeUser, c.User != 0},
		{"capabilities", dropCapabilities, c.User == 0 && os.Geteuid() == 0},
		{"parent", func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) }, true},
		// children of children are seen as its own
		{"orphans", func() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }, true},
		{"privileges", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, true},
		{"files", rules.apply, c.has(layerFiles)},
		{"descriptors", func() error { return unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC) }, c.has(layerEnv)},
		{"system calls", c.filterCalls, c.has(layerCalls)},
	}
	for _, s := range steps {
		if !s.on {
			continue
		}
		if err := s.do(); err != nil {
			return fmt.Errorf("isolate a worker: %s: %w", s.name, err)
		}
	}
	return execute(path, c.Command, environ, limits)
}

// try confines this thread, and returns the layers that the system has.
func (c *confinement) try() (on layer) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0
	}
	if r := (&fileRules{version: c.Landlock}); c.Landlock > 0 && r.apply() == nil {
		on |= layerFiles
	}
	if seccompArch != 0 && c.filterCalls() == nil {
		on |= layerCalls
	}
	return on
}

func (c *confinement) has(l layer) bool { return c.On&l == l }

// becomeUser gives up root. The user may read what root may, since interpreters may be in
// folders of root's: Landlock is what bounds it.
func (c *confinement) becomeUser() error {
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return err
	}
	id := uintptr(c.User)
	// Package syscall would change every thread, with signals that the first process of a
	// namespace does not get.
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id); errno != 0 {
		return errno
	}
	dropBounding(unix.CAP_DAC_READ_SEARCH)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); errno != 0 {
		return errno
	}
	var keep uint32
	if c.has(layerFiles) {
		keep = 1 << unix.CAP_DAC_READ_SEARCH
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: keep, Permitted: keep, Inheritable: keep}}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return err
	}
	if keep == 0 {
		return nil
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_DAC_READ_SEARCH, 0, 0)
}

// dropCapabilities takes them from what root executes.
func dropCapabilities() error {
	dropBounding(unix.CAP_LAST_CAP + 1)
	return nil
}

// dropBounding drops all capabilities but one from those that programs may get. It fails for
// those that the kernel does not have, and where there are none to drop.
func dropBounding(but uintptr) {
	for capability := uintptr(0); capability <= unix.CAP_LAST_CAP; capability++ {
		if capability != but {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		}
	}
}

// Factors of the limits.
const (
	addressFactor = 2         // of the address space, which maps files and reserves memory too
	addressExtra  = 512 << 20 // and what interpreters map at least
	maxQueue      = 64 << 10  // bytes of message queues
	maxSignals    = 64        // that wait
)

// resourceLimit is a limit of the process and those that it starts.
type resourceLimit struct {
	resource int
	value    unix.Rlimit
}

// limits are the resource limits. Allocations beyond the memory fail; what they do not
// count (shared memory, several processes) is what the pool watches.
func (c *confinement) limits() ([]resourceLimit, error) {
	if !c.has(layerLimits) {
		return nil, nil
	}
	memory := uint64(c.Memory)
	values := map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_DATA: memory, unix.RLIMIT_AS: addressFactor*memory + addressExtra,
		unix.RLIMIT_FSIZE:  memory,
		unix.RLIMIT_NOFILE: maxOpenFiles, unix.RLIMIT_MEMLOCK: 0, unix.RLIMIT_MSGQUEUE: maxQueue,
		unix.RLIMIT_SIGPENDING: maxSignals,
		unix.RLIMIT_RTPRIO:     0, unix.RLIMIT_NICE: 0,
	}
	if c.has(layerSpaces) { // else it would count all of the user's processes
		values[unix.RLIMIT_NPROC] = uint64(c.Processes)
	}
	var list []resourceLimit
	for resource, value := range values {
		var now unix.Rlimit
		if err := unix.Prlimit(0, resource, nil, &now); err != nil {
			return nil, err
		}
		value = min(value, now.Max)
		list = append(list, resourceLimit{resource, unix.Rlimit{Cur: value, Max: value}})
	}
	return list, nil
}

// execute sets limits and executes a program. The Go runtime cannot go on within the limits,
// nor can the race detector: nothing here allocates memory or lets the runtime start a thread.
// No other goroutine runs meanwhile, see Main.
//
//go:norace
func execute(path string, argv, environ []string, limits []resourceLimit) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	args, err := syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return err
	}
	env, err := syscall.SlicePtrFromStrings(environ)
	if err != nil {
		return err
	}
	for i := range limits {
		l := &limits[i]
		if _, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(l.resource), uintptr(unsafe.Pointer(&l.value)),
			0, 0, 0); errno != 0 {
			return fmt.Errorf("resource %d: %w", l.resource, errno)
		}
	}
	_, _, errno := unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&args[0])),
		uintptr(unsafe.Pointer(&env[0])))
	return fmt.Errorf("execute %s: %w", path, errno)
}

// rules returns the files that the program may use.
func (c *confinement) rules(path string) (*fileRules, error) {
	read := append([]string{path}, c.ReadOnly...)
	read = append(read, systemFolders...)
	if c.Network {
		read = append(read, networkFiles...)
	}
	r := &fileRules{version: c.Landlock, network: c.Network}
	for _, p := range realPaths(read) {
		if !filepath.IsAbs(p) || strings.TrimRight(p, "/") == "" {
			return nil, fmt.Errorf("%q is not a path that code may read", p)
		}
		r.read = append(r.read, p)
	}
	r.devices = []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"}
	r.write = []string{c.Scratch}
	return r, nil
}
