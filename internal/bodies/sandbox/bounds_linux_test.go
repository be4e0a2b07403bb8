package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// tree returns the processes below this one, as PID and state.
func tree(t *testing.T) map[int]string {
	t.Helper()
	found, parents := map[int]string{}, map[int]int{}
	entries, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(e)
		if err != nil {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(e)))
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		parents[pid], _ = strconv.Atoi(fields[1])
		found[pid] = fields[0]
	}
	for pid := range found {
		at := pid
		for at > 1 && at != os.Getpid() {
			at = parents[at]
		}
		if at != os.Getpid() || pid == os.Getpid() {
			delete(found, pid)
		}
	}
	return found
}

// quiet waits until no process below this one is left.
func quiet(t *testing.T) {
	t.Helper()
	wait.Until(t, "no process is left", func() bool { return len(tree(t)) == 0 })
}

func TestBombs(t *testing.T) {
	o := options(t)
	o.Memory, o.CPU, o.Processes, o.Output = 256<<20, time.Second, 16, 1<<20
	bounded, other := newPool(t, o), newPool(t, options(t))
	if !bounded.Isolation().Full {
		t.Skipf("this system lacks %q", bounded.Isolation().Missing)
	}
	for _, bomb := range []struct{ name, body, want string }{
		{"processes", "n = 0\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(600)\n        n += 1\nexcept BlockingIOError: return 'stopped " +
			"%s' % (n < 16)", "stopped True"},
		{"processes that fork", "while True:\n    try: os.fork()\n    except BlockingIOError: pass", "processor time"},
		{"threads", "import threading\nn = 0\ntry:\n    while True:\n        threading.Thread(target=time.sleep, args=(600,), daemon=True).start(); n += 1\nexcept " +
			"RuntimeError: return 'stopped %s' % (n < 16)", "stopped True"},
		{"memory", "x = bytearray(1 << 30); return 'in'", "MemoryError: the code needs more than the memory limit"},
		{"memory bit by bit", "x = []\nwhile True: x.append('x' * 100000 + str(len(x)))", "MemoryError"},
		{"shared memory", "import mmap\nm = mmap.mmap(-1, 600 << 20)\nfor i in range(0, 600 << 20, 4096): m[i] = 1\ntime.sleep(600)", "memory"},
		{"memory of children", "for i in range(8):\n    if os.fork() == 0:\n        x = bytearray(100 << 20)\n        for j in range(0, len(x), 4096): x[j] = 1\n " +
			"       time.sleep(600)\ntime.sleep(600)", "of memory"},
		{"a loop", "while True: pass", "more than 1s of processor time"},
		{"a loop in a child", "if os.fork() == 0:\n    while True: pass\ntime.sleep(600)", "more than 1s of processor time"},
		{"one file", "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))", "File too large"},
		{"many files", "for n in range(1 << 30):\n    open('f%d' % n, 'wb').write(b'x' * (10 << 20))", "the code wrote more than"},
		{"small files", "for n in range(1 << 30):\n    open('g%d' % n, 'wb').close()", "its worker was killed"},
		{"a large result", "return 'x' * (2 << 20)", "the limit is 1048576"},
		{"a crash", "ctypes.string_at(0)", "segmentation fault"},
		{"exit", "os._exit(3)", "exit status 3"},
		{"sys.exit", "sys.exit('bye')", "SystemExit: bye"},
		{"recursion", "def g(): g()\ng()", "RecursionError"},
		{"damaged frames", "for n in range(3, 64):\n    try: os.write(n, b'\\xff' * 64)\n    except OSError: pass\ntime.sleep(600)", "not a reply"},
	} {
		t.Run(bomb.name, func(t *testing.T) {
			got, err := run(t, bounded, bomb.body)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, bomb.want) {
				t.Errorf("got %q, want %q", got, bomb.want)
			}
			if got, err := run(t, other, "return 'alive'"); got != "alive" || err != nil {
				t.Error("another sandbox:", got, err)
			}
			wait.Until(t, "the next call works", func() bool {
				got, err := run(t, bounded, "return 'alive'")
				return got == "alive" && err == nil
			})
		})
	}
	bounded.Close()
	other.Close()
	quiet(t)
}

// A process that a call leaves may not go on at the expense of others.
func TestLoopsAfterACallEnd(t *testing.T) {
	o := options(t)
	o.CPU = 200 * time.Millisecond
	p := newPool(t, o)
	if got, err := run(t, p, "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()\nreturn 'left'"); got !=
		"left" || err != nil {
		t.Fatal(got, err)
	}
	quiet(t)
	if got, err := run(t, p, "return 'alive'"); got != "alive" || err != nil {
		t.Error(got, err)
	}
}

func TestPrintsAreBounded(t *testing.T) {
	var logged lockedBuffer
	o := options(t)
	o.Log = slog.New(slog.NewTextHandler(&logged, nil))
	o.Env, o.Secrets = []string{"TOKEN=tok-12345"}, []string{"tok-12345"}
	p := newPool(t, o)
	got, err := run(t, p, "print(os.environ['TOKEN'])\nfor i in range("+megabytes()+
		"): sys.stdout.write('x' * (1 << 20))\nfor i in range(100000): print(i)\nreturn 'done'")
	if got != "done" || err != nil {
		t.Fatal(got, err)
	}
	p.Close()
	text := logged.String()
	if len(text) > 64<<10 || !strings.Contains(text, "more than is logged") || strings.Contains(text, "tok-12345") || !strings.Contains(text, "***") {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
}

// megabytes is how much is printed: 1 GiB in the tests that take long.
func megabytes() string {
	if os.Getenv("SPICED_LARGE") != "" {
		return "1024"
	}
	return "100"
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestKilledWorkersAreReplaced(t *testing.T) {
	var logged lockedBuffer
	o := options(t)
	o.Log = slog.New(slog.NewTextHandler(&logged, nil))
	p := newPool(t, o)
	ended := make(chan error)
	go func() {
		_, err := run(t, p, "print('it runs', flush=True); time.sleep(600)")
		ended <- err
	}()
	wait.Until(t, "the call runs", func() bool { return strings.Contains(logged.String(), "it runs") })
	for pid := range tree(t) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "a worker of sandbox test ended during a call (signal: killed") {
		t.Error(err)
	}
	if got, err := run(t, p, "return 'alive'"); got != "alive" || err != nil {
		t.Error(got, err)
	}
	p.Close()
	quiet(t)
}

func TestCancelledCallsEndAtOnce(t *testing.T) {
	o := options(t)
	p := newPool(t, o)
	source := "import time, subprocess\ndef f():\n    subprocess.Popen(['sleep', '600'])\n    time.sleep(600)"
	batch := batchOf(t)
	f := function(t, source, arrow.BinaryTypes.String, batch)
	if err := p.Load(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := p.Call(ctx, f, batch); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	quiet(t)
}

func TestClose(t *testing.T) {
	temp := t.TempDir()
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	p := newPool(t, options(t))
	if got, err := run(t, p, "open('file', 'w').write('x'); os.mkdir('d'); os.symlink('/', 'd/root'); return 'wrote'"); got != "wrote" || err != nil {
		t.Fatal(got, err)
	}
	p.Close()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if _, err := run(t, p, "return 'alive'"); err == nil {
		t.Error("a closed pool runs calls")
	}
	quiet(t)
}

// Workers end with this process, however it ends.
func TestWorkersEndWithTheRuntime(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_RUNTIME") != "" {
		p := newPool(t, options(t))
		fmt.Println("started")
		run(t, p, "while True: pass")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestWorkersEndWithTheRuntime$", "-test.v")
	cmd.Env = append(os.Environ(), "SANDBOX_TEST_RUNTIME=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids map[int]string
	wait.Until(t, "a worker runs", func() bool {
		pids = tree(t)
		delete(pids, cmd.Process.Pid)
		for pid := range pids {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if !bytes.Contains(text, []byte("jazzmine")) {
				delete(pids, pid)
			}
		}
		return len(pids) > 0
	})
	cmd.Process.Kill()
	cmd.Wait()
	wait.Until(t, "its workers have ended", func() bool {
		for pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	})
}

func TestCrashLoopsBackOff(t *testing.T) {
	o := options(t)
	o.Command = []string{"/bin/false"}
	p := newPool(t, o)
	var last error
	for range 3 {
		_, last = run(t, p, "return 'x'")
	}
	if last == nil || !strings.Contains(last.Error(), "do not start; the next attempt is in") || !strings.Contains(last.Error(), "exit status 1") {
		t.Error(last)
	}
}

// A caller who has gone before a worker starts for it does not delay the others.
func TestCancelledCallsAreNoFailedStarts(t *testing.T) {
	p := newPool(t, options(t))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	batch := batchOf(t)
	f := function(t, "def f(): return 'x'", arrow.BinaryTypes.String, batch)
	if _, err := p.Call(gone, f, batch); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got, err := run(t, p, "return 'x'"); got != "x" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRequiredIsolationIsRefused(t *testing.T) {
	o := options(t)
	o.Required = true
	_, err := sandbox.NewWithout(o, sandbox.Files)
	var bare *sandbox.NotIsolatedError
	if !errors.As(err, &bare) || !strings.Contains(err.Error(), "it lacks Landlock (Linux 6.2 or later") {
		t.Error(err)
	}
}

// What a call leaves cannot answer the next one.
func TestCallsGetTheirOwnResult(t *testing.T) {
	p := newPool(t, options(t))
	for _, c := range []struct{ name, body, want string }{
		{"a fork", "os.fork()\nreturn 'own'", "own"},
		{"a fork without hooks", "ctypes.CDLL(None).fork()\nreturn 'own'", "own"},
		{"a fork whose parent ends", "if os.fork() == 0:\n    os.fork()\n    os._exit(0)\nreturn 'own'", "own"},
		{
			"a frame after the reply",
			"import struct, __main__\ndef twice(kind, call, payload):\n    os.write(__main__.replies, 2 * (struct.pack('<IBQ', len(payload), kind, call) + " +
				"payload))\n__main__.send = twice\nreturn 'own'", "own",
		},
		{
			"a frame of another call", "import struct, __main__\nos.write(__main__.replies, struct.pack('<IBQ', 0, 2, 7))\nreturn 'own'",
			"not a reply: a frame of another call",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := run(t, p, c.body)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for i := range 4 {
				want := fmt.Sprint("call ", i)
				if got, err := run(t, p, "return '"+want+"'"); got != want || err != nil {
					t.Errorf("call %d after it: %q %v", i, got, err)
				}
			}
		})
	}
}

// The error of a call shows what that call printed, not what another one did.
func TestErrorsShowWhatTheirCallPrinted(t *testing.T) {
	p := newPool(t, options(t))
	for range 5 {
		if got, err := run(t, p, "for i in range(30): print('of another call', i)\nreturn 'printed'"); got != "printed" || err != nil {
			t.Fatal(got, err)
		}
		if _, err := run(t, p, "os._exit(3)"); err == nil || !strings.Contains(err.Error(), "(exit status 3)") {
			t.Error(err)
		}
	}
	run(t, p, "print('of another call')\nreturn 'printed'")
	if _, err := run(t, p, "print('of this call')\nos._exit(3)"); err == nil || !strings.Contains(err.Error(), "(exit status 3; it printed last: of this call)") {
		t.Error(err)
	}
}

// Processes that a call leaves end with its worker, before the next call.
func TestProcessesThatACallLeavesEnd(t *testing.T) {
	p := newPool(t, options(t))
	if got, err := run(t, p, "import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nreturn 'left'"); got != "left" || err != nil {
		t.Fatal(got, err)
	}
	quiet(t)
	if got, err := run(t, p, "return 'alive'"); got != "alive" || err != nil {
		t.Error(got, err)
	}
}
