package sandbox

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unprivileged is the user and the group of workers where this process is root: the limit of
// processes does not hold for root.
const unprivileged = 65534

// confinement is what a worker does before it executes the command. It travels in
// a variable of its environment, and has no secret.
type confinement struct {
	Probe    bool // only try the parts: see Probe
	Command  []string
	ReadOnly []string
	Scratch  string
	On       layer
	Landlock int
	User     int // to become; 0: stay
	Network  bool
	Memory   int64
	CPU      time.Duration

	Processes int
}

// confinementVariable is the name of the variable.
const confinementVariable = "SPICED_SANDBOX"

// probes has the results of Probe by command.
var probes sync.Map

// Probe measures how this system can isolate the workers that a command starts: it runs the
// command with namespaces, if the system has them, and has it confine itself.
func Probe(shim []string) Isolation {
	if len(shim) == 0 {
		return Isolation{}.judged()
	}
	key := strings.Join(shim, "\x00")
	if found, ok := probes.Load(key); ok {
		return found.(Isolation)
	}
	i := Isolation{landlock: landlockVersion()}
	for _, try := range []layer{
		layerSpaces | layerPIDs | layerUser, layerSpaces | layerPIDs, layerSpaces | layerUser,
		layerSpaces, 0,
	} {
		root := try&layerUser != 0
		if root && os.Geteuid() != 0 {
			continue
		}
		if on, ok := confines(shim, try, i.landlock); ok {
			i.on, i.root = on|try|layerLimits|layerMeter|layerEnv, root
			break
		}
	}
	i = i.judged()
	probes.Store(key, i)
	return i
}

// confines runs a command with namespaces, and returns which parts of the confinement it could
// apply to itself. It reports false if the system refuses the namespaces.
func confines(shim []string, spaces layer, landlock int) (on layer, ok bool) {
	cmd := exec.Command(shim[0], shim[1:]...)
	text, err := json.Marshal(confinement{Probe: true, On: spaces, Landlock: landlock})
	if err != nil {
		return 0, false
	}
	cmd.Env = []string{confinementVariable + "=" + string(text)}
	cmd.SysProcAttr = attributes(spaces, spaces&layerUser != 0, false)
	_ = cmd.Run() // the status is what matters, if there is one
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < probed {
		return 0, false
	}
	return layer(cmd.ProcessState.ExitCode() - probed), true
}

// probed is added to the layers in the exit status of a probe.
const probed = 128

// attributes are those of the process of a worker.
func attributes(on layer, root, network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if on&layerSpaces == 0 {
		return a
	}
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if on&layerPIDs != 0 {
		a.Cloneflags |= unix.CLONE_NEWPID
	}
	uid, gid := os.Geteuid(), os.Getegid()
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	if root {
		other := syscall.SysProcIDMap{ContainerID: unprivileged, HostID: unprivileged, Size: 1}
		a.UidMappings, a.GidMappings = append(a.UidMappings, other), append(a.GidMappings, other)
		a.GidMappingsEnableSetgroups = true
	}
	return a
}

// command returns the command of a worker that executes argv in a scratch folder.
func (p *Pool) command(argv []string, scratch string) (*exec.Cmd, error) {
	i, o := p.isolation, &p.o
	c := confinement{
		Command: argv, ReadOnly: o.ReadOnly, Scratch: scratch, On: i.on, Landlock: i.landlock,
		Network: o.Network, Memory: o.Memory, CPU: o.CPU, Processes: o.Processes,
	}
	if i.root {
		c.User = unprivileged
		if err := os.Chown(scratch, unprivileged, unprivileged); err != nil {
			return nil, err
		}
	}
	if len(o.Shim) == 0 {
		return plainCommand(o, argv, scratch), nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(o.Shim[0], o.Shim[1:]...)
	cmd.Env = append(environment(o, scratch), confinementVariable+"="+string(text))
	cmd.Dir = scratch
	cmd.SysProcAttr = attributes(i.on, i.root, o.Network)
	return cmd, nil
}

// lockParent keeps the thread that is the parent of a process, which ends with it.
func lockParent() (unlock func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// pipeBytes is the size of the pipes: a batch and its results fit in.
const pipeBytes = 1 << 20

func enlargePipe(f *os.File) {
	if f == nil {
		return
	}
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes) })
	}
}

// unread is how many bytes wait in a pipe.
func unread(f *os.File) (n int) {
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return n
}

// Read reads from the pipe, and counts what it takes at the same time.
func (o *output) Read(p []byte) (n int, err error) {
	c, err := o.pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := c.Read(func(fd uintptr) (done bool) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for {
			switch n, err = unix.Read(int(fd), p); err {
			case unix.EINTR:
			case unix.EAGAIN:
				return false
			default:
				n = max(n, 0)
				o.taken += int64(n)
				return true
			}
		}
	})
	switch {
	case closed != nil:
		return 0, closed
	case n == 0 && err == nil:
		return 0, io.EOF
	}
	return n, err
}

// systemFolders are what programs need to start. Those that do not exist are left out.
var systemFolders = []string{
	"/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local/lib",
	"/bin", "/usr/bin", "/usr/local/bin", "/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives",
	"/usr/share/zoneinfo", "/usr/share/locale", "/usr/share/i18n", "/nix/store",
}

// networkFiles are what names and certificates are looked up in.
var networkFiles = []string{
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/host.conf", "/etc/services",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
	"/usr/share/ca-certificates",
	"/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf",
}

// realPaths adds where links lead.
func realPaths(paths []string) []string {
	var all []string
	for _, p := range paths {
		all = append(all, p)
		if real, err := filepath.EvalSymlinks(p); err == nil && real != p {
			all = append(all, real)
		}
	}
	return all
}
