package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
)

// ErrSkipped is in the errors of Outside for what a test would skip.
var ErrSkipped = errors.New("skipped")

// Outside runs f with the servers of tests outside of a test: in a command. What they start
// ends with f. Where a test would fail or skip, f ends and the error has the test's message.
func Outside(ctx context.Context, f func(testing.TB) error) error {
	t := &outside{ctx: ctx}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for _, cleanup := range slices.Backward(t.cleanups) {
				cleanup()
			}
		}()
		err = f(t)
	}()
	<-done
	return errors.Join(t.err, err)
}

// outside is a testing.TB with the methods that servers of tests call. The interface in it
// is nil: it only has the method that keeps others from having all of them.
type outside struct {
	testing.TB
	ctx      context.Context
	cleanups []func()
	err      error
}

func (t *outside) Helper()                  {}
func (t *outside) Context() context.Context { return t.ctx }
func (t *outside) Cleanup(f func())         { t.cleanups = append(t.cleanups, f) }

func (t *outside) Fatal(args ...any) { t.end(errors.New(fmt.Sprint(args...))) }

func (t *outside) Fatalf(format string, args ...any) { t.end(fmt.Errorf(format, args...)) }

func (t *outside) Skip(args ...any) { t.end(fmt.Errorf("%w: %s", ErrSkipped, fmt.Sprint(args...))) }

func (t *outside) end(err error) {
	t.err = err
	runtime.Goexit()
}

func (t *outside) TempDir() string {
	dir, err := os.MkdirTemp("", "spiced-outside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
