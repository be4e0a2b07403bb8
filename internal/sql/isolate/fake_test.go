package isolate_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// fakes are workers that do what none should: what they do at their start, or
// after the first statement has come.
var fakes = map[string]func() int{
	"ends at once": func() int {
		fmt.Fprintln(os.Stderr, "it cannot be")
		return 3
	},
	"says its memory": func() int {
		fmt.Println(isolate.DefaultMemory(2))
		return 0
	},
	"says nothing":         func() int { drain(); return 0 },
	"says rubbish":         func() int { fmt.Println(strings.Repeat("rubbish ", 100)); drain(); return 0 },
	"has no memory":        func() int { begin(); fmt.Fprintln(os.Stderr, "fatal error: runtime: out of memory"); return 2 },
	"is killed":            func() int { begin(); signal(os.Getpid(), os.Kill); drain(); return 0 },
	"has a fault":          func() int { begin(); return 4 },
	"begins twice":         func() int { begin(); send(isolate.KindReady, nil); drain(); return 0 },
	"has no columns":       func() int { begin(); send(isolate.KindColumns, []engine.Column{}); drain(); return 0 },
	"ends without columns": func() int { begin(); send(isolate.KindEnd, map[string]any{}); drain(); return 0 },
	"has a bad type": func() int {
		begin()
		send(isolate.KindColumns, []engine.Column{{Name: "v", Type: &engine.Type{ID: engine.Array, Size: 1 << 40}}})
		drain()
		return 0
	},
	"has an unknown kind": func() int { begin(); send('?', nil); drain(); return 0 },
	"has bad rows": func() int {
		begin()
		columns()
		send(isolate.KindRows, bytes.Repeat([]byte{1}, 1000))
		drain()
		return 0
	},
	"has rows of zeros": func() int { begin(); columns(); send(isolate.KindRows, make([]byte, 1000)); drain(); return 0 },
	"announces much": func() int {
		begin()
		columns()
		var header [5]byte
		binary.LittleEndian.PutUint32(header[:], 1<<32-1)
		header[4] = byte(isolate.KindRows)
		os.Stdout.Write(header[:])
		drain()
		return 0
	},
	"leaves a child": func() int {
		begin()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), workerVariable+"=is a child")
		child.Stderr = os.Stderr
		_ = child.Start()
		return 4
	},
	"is a child": func() int { linger(); return 0 },
	"does not read": func() int {
		_, _, _ = isolate.ReadFrame(os.Stdin)
		send(isolate.KindReady, nil)
		linger()
		return 0
	},
	"reads no answer": func() int {
		begin()
		columns()
		send(isolate.KindCall, map[string]any{"Number": 1, "ID": 1, "Handler": "long"})
		send(isolate.KindEnd, map[string]any{})
		linger()
		return 0
	},
	"calls much": func() int {
		begin()
		columns()
		for i := range 10 * isolate.MaxCalls {
			send(isolate.KindCall, map[string]any{"Number": 1, "ID": i, "Handler": "hold"})
		}
		drain()
		return 0
	},
	"calls for another": func() int {
		begin()
		columns()
		send(isolate.KindCall, map[string]any{"Number": 2, "ID": 1, "Handler": "tell"})
		drain()
		return 0
	},
	"is busy": func() int {
		begin()
		columns()
		send(isolate.KindEnd, map[string]any{"Busy": true})
		drain()
		return 0
	},
}

// fifoVariable names what linger reads.
const fifoVariable = "SPICED_TEST_FIFO"

// linger waits until the test ends it, not the parent.
func linger() { _, _ = os.ReadFile(os.Getenv(fifoVariable)) }

// lingering is fake for those that linger, until the end of the test.
func lingering(t *testing.T, kind string) (option func(*isolate.Options), end func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	option = func(o *isolate.Options) {
		o.Env = []string{workerVariable + "=" + kind, fifoVariable + "=" + path}
	}
	return option, func() { fifo.Close() }
}

func send(k byte, v any) { isolate.SendFrame(os.Stdout, k, v) }

func columns() {
	send(isolate.KindColumns, []engine.Column{{Name: "v", Type: &engine.Type{ID: engine.BigInt}}})
}

// begin acts as a proper worker until a statement comes.
func begin() {
	_, _, _ = isolate.ReadFrame(os.Stdin)
	send(isolate.KindReady, nil)
	_, _, _ = isolate.ReadFrame(os.Stdin)
}

// drain ignores the parent until it is gone.
func drain() {
	for {
		if _, _, err := isolate.ReadFrame(os.Stdin); err != nil {
			return
		}
	}
}

func fake(kind string) func(*isolate.Options) {
	return func(o *isolate.Options) { o.Env = []string{workerVariable + "=" + kind} }
}

func TestAWorkerThatDoesWhatNoneShouldFailsItsStatement(t *testing.T) {
	for kind, want := range map[string]string{
		"has no memory":        "limit_exceeded: the statement ",
		"is killed":            "limit_exceeded: the statement's worker was killed from outside, as the system does when memory is short; it used up to ",
		"has a fault":          "execution_error: the statement ended its worker: exit status 4",
		"begins twice":         "execution_error: the worker was killed: it sent an invalid message",
		"has no columns":       "execution_error: the worker was killed: it sent an invalid message",
		"ends without columns": "execution_error: the worker was killed: it sent an invalid message",
		"has a bad type":       "execution_error: the worker was killed: it sent an invalid message",
		"has an unknown kind":  "execution_error: the worker was killed",
		"has bad rows":         "execution_error: the worker was killed: it sent an invalid message",
		"has rows of zeros":    "execution_error: the worker was killed: it sent an invalid message",
		"announces much":       "execution_error: the worker",
		"calls much":           "execution_error: the worker was killed: it sent an invalid message",
		"calls for another":    "execution_error: the worker was killed: it sent an invalid message",
		"ends at once":         "internal: no worker could be started: the worker ended: exit status 3",
		"says rubbish":         "internal: no worker could be started: the worker",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, fake(kind))
			w.Handle("hold", hold)
			w.Handle("tell", func(context.Context, string) (string, error) {
				t.Error("it was called for the wrong statement")
				return "", nil
			})
			got := w.isolated("SELECT 1 AS v", 10*time.Second)
			if text := fmt.Sprintf("%s: %v", got.code(), got.Err); !strings.HasPrefix(text, want) {
				t.Errorf("got %q, want it to begin with %q", text, want)
			}
		})
	}
}

func TestAWorkerThatGoesOnAfterTheEndIsKilled(t *testing.T) {
	w := newWorld(t, fake("is busy"))
	for n := 1; n <= 2; n++ {
		if got := w.isolated("SELECT 1 AS v", 10*time.Second); got.JSON != "[]" {
			t.Errorf("got %+v", got)
		}
		if s := w.pool.Stats(); s.Killed != n {
			t.Errorf("got %+v, want %d killed", s, n)
		}
	}
}

func TestAChildThatKeepsTheStandardErrorIsNotWaitedFor(t *testing.T) {
	option, end := lingering(t, "leaves a child")
	defer end()
	w := newWorld(t, option)
	if got := w.isolated("SELECT 1 AS v", wait.Limit); got.Err == nil || got.Err.Message != "the statement ended its worker: exit status 4" {
		t.Fatalf("got %+v", got)
	}
	w.pool.Close()
}

func TestAWorkerThatReadsNothingIsKilled(t *testing.T) {
	long := strings.Repeat("x", 1<<19) // more than a pipe holds
	for kind, sql := range map[string]string{
		"does not read":   "SELECT '" + long + "' AS v",
		"reads no answer": "SELECT 1 AS v",
	} {
		t.Run(kind, func(t *testing.T) {
			option, end := lingering(t, kind)
			defer end()
			w := newWorld(t, option)
			w.Handle("long", func(context.Context, string) (string, error) { return long, nil })
			wait.Until(t, "one killed", func() bool {
				w.isolated(sql, 100*time.Millisecond)
				return w.pool.Stats().Killed > 0
			})
			wait.Until(t, "the end of the statements", func() bool { return w.Stats() == engine.Stats{} })
			w.pool.Close()
		})
	}
}

func TestCloseEndsAWorkerThatSaysNothing(t *testing.T) {
	w := newWorld(t, fake("says nothing"))
	got := w.isolated("SELECT 1 AS v", 100*time.Millisecond)
	if got.code() != errcode.Timeout {
		t.Errorf("got %+v, want a timeout", got)
	}
	w.pool.Close()
	if s := w.pool.Stats(); s.Workers > 0 {
		t.Errorf("after Close there are %+v", s)
	}
	if got := w.isolated("SELECT 1 AS v", 0); got.code() != errcode.Cancelled {
		t.Errorf("after Close: got %+v", got)
	}
}
