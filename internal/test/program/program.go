// Package program runs the servers of others for tests: each in a folder of its own, as the
// user that it must run as. Data folders that take seconds to make are made once per machine
// and copied.
//
//	home := program.NewHome(t, "postgres")
//	home.Data("postgresql", version, func() { … })
//	process := program.Start(t, home.Command("postgres", "-D", home.Path("data")), connects)
//	t.Cleanup(func() { process.End(syscall.SIGKILL) })
package program

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/selfsigned"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// Home is the folder of a server. It is removed when the test ends.
type Home struct {
	Dir string

	t  testing.TB
	as *syscall.Credential // nil: the user of the test
}

// NewHome makes the folder. If the test runs as root, its owner is the given user, whom the
// server runs as; nil if there is no such user.
func NewHome(t testing.TB, account string) *Home {
	t.Helper()
	h := &Home{t: t}
	if os.Getuid() == 0 {
		u, err := user.Lookup(account)
		if err != nil {
			return nil
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		h.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	var err error
	if h.Dir, err = os.MkdirTemp("", "spiced-"+account+"-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(h.Dir) })
	h.own(h.Dir)
	return h
}

// Path returns the path of a file in the folder.
func (h *Home) Path(name string) string { return filepath.Join(h.Dir, name) }

// own gives a file to the user that the server runs as.
func (h *Home) own(path string) {
	h.t.Helper()
	if h.as == nil {
		return
	}
	if err := os.Chown(path, int(h.as.Uid), int(h.as.Gid)); err != nil {
		h.t.Fatal(err)
	}
}

// Certificate writes what the server needs for TLS.
func (h *Home) Certificate() (certificate, key string) {
	h.t.Helper()
	c := selfsigned.Certificate(h.t)
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		h.t.Fatal(err)
	}
	certificate, key = h.Path("server.crt"), h.Path("server.key")
	for path, block := range map[string]*pem.Block{
		certificate: {Type: "CERTIFICATE", Bytes: c.Certificate[0]},
		key:         {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			h.t.Fatal(err)
		}
		h.own(path)
	}
	return certificate, key
}

// Command returns a command that runs in the folder, as the server's user.
func (h *Home) Command(program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir, c.Env = h.Dir, []string{"LC_ALL=C.UTF-8", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: h.as}
	return c
}

// Run runs a command to its end and returns what it writes. It gets input.
func (h *Home) Run(input, program string, args ...string) string {
	h.t.Helper()
	c := h.Command(program, args...)
	c.Stdin = bytes.NewReader([]byte(input))
	out, err := c.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", filepath.Base(program), err, out)
	}
	return string(out)
}

// Data makes the folder data of the server: a copy of one that an earlier test on this
// machine made with the same recipe, which is all that decides what is in it.
func (h *Home) Data(name, recipe string, make func()) {
	h.t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "spiced", "test-data")
	sum := sha256.Sum256(fmt.Append(nil, recipe, h.as))
	kept := filepath.Join(cache, fmt.Sprintf("%s-%x", name, sum[:8]))
	if err := os.MkdirAll(cache, 0o700); err != nil {
		h.t.Fatal(err)
	}
	lock, err := os.OpenFile(kept+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		h.t.Fatal(err)
	}
	if _, err := os.Stat(kept); err == nil {
		lock.Close() // others may copy it at the same time
		h.copy(kept, h.Path("data"))
		return
	}
	make()
	os.RemoveAll(kept + ".new") // of a process that was killed
	h.copy(h.Path("data"), kept+".new")
	if err := os.Rename(kept+".new", kept); err != nil {
		h.t.Fatal(err)
	}
}

// copy copies a folder with its owners.
func (h *Home) copy(from, to string) {
	h.t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
}

// Process is a server that runs.
type Process struct{ cmd *exec.Cmd }

// Start starts a server and waits until it is ready.
func Start(t testing.TB, c *exec.Cmd, ready func() error) *Process {
	t.Helper()
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{c}
	for end := time.Now().Add(wait.Limit); ; {
		err := ready()
		if err == nil {
			return p
		}
		if time.Now().After(end) {
			p.End(syscall.SIGKILL)
			t.Fatalf("%s does not start: %v\n%s", filepath.Base(c.Path), err, &log)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// End ends the server with a signal, if it has not ended.
func (p *Process) End(signal os.Signal) {
	if p.cmd.ProcessState == nil {
		p.cmd.Process.Signal(signal)
		p.cmd.Wait()
	}
}

// Listens is a condition of Start: the server accepts connections at an address.
func Listens(address string) func() error {
	return func() error {
		c, err := net.Dial("tcp", address)
		if err == nil {
			err = c.Close()
		}
		return err
	}
}
