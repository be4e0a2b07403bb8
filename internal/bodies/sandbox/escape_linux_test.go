package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
)

// run runs statements of Python in a pool and returns what f returns, a text, or the error.
func run(t *testing.T, p *sandbox.Pool, body string) (string, error) {
	t.Helper()
	source := "import os, sys, socket, ctypes, signal, time\ndef f():\n" + indent(body)
	got, err := call(t, p, source, arrow.BinaryTypes.String)
	return strings.Trim(strings.Trim(got, "[]"), `"`), err
}

// attack is code that must fail in a sandbox, and that works without the layers.
type attack struct {
	name    string
	body    string // returns "in" when it works
	want    string // part of the error, or of the value, of the attack that failed
	without []int  // the layers whose absence lets it in, each group on its own; nil: not tried
}

// helper is a process of the same user that attacks aim at.
func helper(t *testing.T) *os.Process {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process
}

func listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("in"))
			c.Close()
		}
	}()
	return l.Addr().String()
}

func udp(t *testing.T) (port int, received func() bool) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.LocalAddr().(*net.UDPAddr).Port, func() bool {
		c.SetReadDeadline(time.Now().Add(time.Second))
		_, _, err := c.ReadFrom(make([]byte, 16))
		return err == nil
	}
}

func attacks(t *testing.T) []attack {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("in"), 0o666); err != nil {
		t.Fatal(err)
	}
	os.Chmod(secret, 0o666)
	os.Chmod(filepath.Dir(dir), 0o755)
	tcp := listen(t, "tcp", "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(tcp)
	unix := filepath.Join(dir, "socket")
	listen(t, "unix", unix)
	os.Chmod(unix, 0o777)
	udpPort, _ := udp(t)
	victim := helper(t)
	self := strconv.Itoa(os.Getpid())
	files, spaces, pids, calls := int(sandbox.Files|sandbox.User), int(sandbox.Spaces), int(sandbox.PIDs), int(sandbox.Calls)
	return []attack{
		{"read a file", fmt.Sprintf("return open(%q).read()", secret), "PermissionError", []int{files}},
		{"write a file", fmt.Sprintf("open(%q, 'w').write('x'); return 'in'", filepath.Join(dir, "new")), "PermissionError", []int{files}},
		{"truncate a file", fmt.Sprintf("os.truncate(%q, 2); return 'in'", secret), "PermissionError", []int{files}},
		{"list a folder", fmt.Sprintf("return 'in' if 'secret' in os.listdir(%q) else ''", dir), "PermissionError", []int{files}},
		{"follow a link", fmt.Sprintf("os.symlink(%q, 'link'); return open('link').read()", secret), "PermissionError", []int{files}},
		{"link a file", fmt.Sprintf("os.link(%q, 'hard'); return open('hard').read()", secret), "Error", nil},
		{"/etc/passwd", "return 'in' if 'root' in open('/etc/passwd').read() else ''", "PermissionError", []int{files}},
		{"/proc of the runtime", "return 'in' if open('/proc/" + self + "/cmdline').read() else ''", "PermissionError", []int{files}},
		{"TCP", "s = socket.create_connection(('127.0.0.1', " + port + "), 5); return s.recv(2).decode()", "Error", []int{calls | spaces | files}},
		{
			"UDP", fmt.Sprintf("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', %d)); return 'in'", udpPort), "Error",
			[]int{calls | spaces},
		},
		{"DNS", "socket.getaddrinfo('example.com', 80); return 'in'", "Errno", nil},
		{"a unix socket", fmt.Sprintf("s = socket.socket(socket.AF_UNIX); s.connect(%q); return s.recv(2).decode()", unix), "PermissionError", []int{calls}},
		{
			"a datagram from a pair", fmt.Sprintf("a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.connect(%q); return 'in'", unix),
			"PermissionError", nil,
		},
		{"signal the runtime", "os.kill(" + self + ", 0); return 'in'", "Error", []int{files | spaces | pids | calls}},
		{"signal a process", fmt.Sprintf("os.kill(%d, 0); return 'in'", victim.Pid), "Error", []int{files | spaces | pids | calls}},
		{"signal all", "os.kill(-1, signal.SIGCONT); return 'in'", "Error", nil},
		{
			"ptrace", "l = ctypes.CDLL(None, use_errno=True)\nif l.ptrace(0, 0, 0, 0) < 0: raise OSError(ctypes.get_errno(), 'ptrace')\nreturn 'in'", "PermissionError",
			[]int{calls},
		},
		{"setuid", "os.setuid(0); return 'in'", "PermissionError", nil},
		{
			"unshare", "l = ctypes.CDLL(None, use_errno=True)\nif l.unshare(0x10000000) < 0: raise OSError(ctypes.get_errno(), 'unshare')\nreturn 'in'",
			"PermissionError",
			[]int{calls},
		},
		{
			"mount", "l = ctypes.CDLL(None, use_errno=True)\nif l.mount(b'none', b'/', None, 4096, None) < 0: raise OSError(ctypes.get_errno(), 'mount')\nreturn 'in'",
			"PermissionError", nil,
		},
		{"io_uring", "l = ctypes.CDLL(None, use_errno=True)\nb = ctypes.create_string_buffer(256)\nif l.syscall(425, 1, b) < 0: raise OSError(ctypes.get_errno(), " +
			"'io_uring')\nreturn 'in'", "Errno 38", nil},
		{"a memory file", "os.memfd_create('x'); return 'in'", "PermissionError", []int{calls}},
		{
			"outlive the runtime", "l = ctypes.CDLL(None, use_errno=True)\nif l.prctl(1, 0, 0, 0, 0) < 0: raise OSError(ctypes.get_errno(), 'prctl')\nreturn 'in'",
			"PermissionError",
			[]int{calls},
		},
		{"descriptors", "import stat\nleft = []\nfor n in range(3, 256):\n    try:\n        s = os.fstat(n)\n    except OSError:\n        continue\n    if not " +
			"stat.S_ISFIFO(s.st_mode): left.append(n)\nreturn str(left)", "[]", nil},
		{"the environment", "return str('SPICED_TEST_PARENT' in os.environ) + str('SPICED_SANDBOX' in os.environ)", "FalseFalse", nil},
		{"the user", "return 'in' if os.getuid() == 0 else 'no'", "no", nil},
	}
}

func TestEscapes(t *testing.T) {
	t.Setenv("SPICED_TEST_PARENT", "secret")
	o := options(t)
	p := newPool(t, o)
	if !p.Isolation().Full {
		t.Skipf("this system lacks %q", p.Isolation().Missing)
	}
	all, without := t, map[int]*sandbox.Pool{}
	for _, a := range attacks(t) {
		t.Run(a.name, func(t *testing.T) {
			got, err := run(t, p, a.body)
			if err != nil {
				got = err.Error()
			}
			if got == "in" || !strings.Contains(got, a.want) {
				t.Errorf("got %q, want %q", got, a.want)
			}
			for _, off := range a.without {
				weak := without[off]
				if weak == nil {
					var err error
					if weak, err = sandbox.NewWithout(o, sandbox.Layer(off)); err != nil {
						t.Fatal(err)
					}
					all.Cleanup(func() { weak.Close() })
					without[off] = weak
				}
				if got, err := run(t, weak, a.body); got != "in" {
					t.Errorf("without the layers %b it does not work either: %q %v", off, got, err)
				}
			}
		})
	}
	if got, err := run(t, p, "return 'alive'"); got != "alive" || err != nil {
		t.Error(got, err)
	}
}

// Where namespaces are refused, the other parts stop the same attacks.
func TestEscapesWithoutNamespaces(t *testing.T) {
	p, err := sandbox.NewWithout(options(t), sandbox.Spaces|sandbox.PIDs|sandbox.User)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if !p.Isolation().Full {
		t.Skipf("this system lacks %q", p.Isolation().Missing)
	}
	for _, a := range attacks(t) {
		got, err := run(t, p, a.body)
		if err != nil {
			got = err.Error()
		}
		if a.name != "the user" && (got == "in" || !strings.Contains(got, a.want)) {
			t.Errorf("%s: got %q, want %q", a.name, got, a.want)
		}
	}
	if got, err := run(t, p, "os.fork(); return 'in'"); got == "in" || err == nil {
		t.Error("a process was started:", got, err)
	}
	if got, err := run(t, p, "import threading\nx = threading.Thread(target=print); x.start(); x.join(); return 'ok'"); got != "ok" {
		t.Error("threads:", got, err)
	}
}
