package isolate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// worker is the pool's side of a process.
type worker struct {
	group  *group
	opts   *Options
	cmd    *exec.Cmd
	dir    string // where it spills; removed when it has ended
	stdin  io.Closer
	stdout io.ReadCloser
	out    *frameWriter
	stderr *stderr
	frames chan frame // closed when it ends

	dying  sync.Once
	killer chan struct{}  // closed by kill
	exited chan struct{}  // closed when it is gone
	fate   *engine.Error  // why it ended; set before exited is closed
	reader sync.WaitGroup // read

	served int  // statements; owned by the caller of acquire
	spent  bool // it must not be used again; owned by the caller of acquire
}

// scriptError is why no worker of a catalog can start.
type scriptError struct{ message string }

func (e *scriptError) Error() string { return e.message }

// newWorker starts a process and waits until it is ready.
func (p *Pool) newWorker(c *group) (*worker, error) {
	w := &worker{
		group: c, opts: &p.opts,
		frames: make(chan frame), killer: make(chan struct{}), exited: make(chan struct{}),
	}
	if err := w.start(); err != nil {
		return nil, err
	}
	if err := w.begin(p.life, c.catalog.Script()); err != nil {
		w.kill()
		w.wait()
		return nil, err
	}
	p.work.Go(func() {
		w.wait()
		p.lost(w)
	})
	return w, nil
}

func (w *worker) start() (err error) {
	if w.dir, err = os.MkdirTemp(w.opts.TempDir, "spiced-worker-"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(w.dir)
		}
	}()
	w.cmd = exec.Command(w.opts.Command[0], w.opts.Command[1:]...)
	w.cmd.Dir, w.cmd.Env = w.dir, append([]string{}, w.opts.Env...)
	stdin, err := w.cmd.StdinPipe()
	if err != nil {
		return err
	}
	w.stdin, w.out = stdin, newFrameWriter(stdin)
	if w.stdout, err = w.cmd.StdoutPipe(); err != nil {
		return err
	}
	pipe, err := w.cmd.StderrPipe()
	if err != nil {
		return err
	}
	w.stderr = &stderr{log: w.opts.Log, pipe: pipe}
	if err := startProcess(w.cmd); err != nil {
		return err
	}
	w.reader.Go(w.read)
	w.stderr.task.Go(w.stderr.read)
	return nil
}

// begin makes the process run the script.
func (w *worker) begin(ctx context.Context, script []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it was not ready within %s", startLimit))
	defer cancel()
	defer context.AfterFunc(ctx, w.kill)()
	// If the process is gone, frames is closed and fate has the reason.
	_ = w.out.send(kindSetup, setup{
		Script: script, Roots: w.opts.Roots, TempDir: w.dir,
		Threads: w.opts.Threads, MemoryLimit: w.opts.MemoryLimit, Memory: max(w.opts.Memory, 0),
	})
	f, ok := <-w.frames
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !ok:
		w.wait()
		return w.fate
	case f.kind == kindReady:
		return nil
	case f.kind != kindFailed:
		return fmt.Errorf("%w: frame %q instead of the first one", errFrame, byte(f.kind))
	}
	why, err := decodeJSON[failure](f)
	if err != nil {
		return err
	}
	if why.Script {
		return &scriptError{why.Message}
	}
	return errors.New(why.Message)
}

// read forwards the frames of the process to its end, and kills a process that
// violates the protocol.
func (w *worker) read() {
	defer close(w.frames)
	in := bufio.NewReaderSize(w.stdout, 64<<10)
	for {
		f, err := readFrame(in, fromWorker)
		if err != nil {
			if errors.Is(err, errFrame) {
				w.opts.Log.Warn("killing a worker", "error", err)
				w.kill()
			}
			break
		}
		select {
		case w.frames <- f:
			continue
		case <-w.killer:
		}
		break
	}
	w.end()
}

// kill ends the process. It may be called more than once.
func (w *worker) kill() {
	w.dying.Do(func() { close(w.killer) })
	w.end()
	w.stderr.close()
}

// end ends the process and closes its pipes. A worker has no children and nothing to
// save.
func (w *worker) end() {
	_ = w.cmd.Process.Kill()
	w.stdout.Close()
	w.stdin.Close()
}

func (w *worker) killed() bool { return closed(w.killer) }

// over reports whether the process is gone or about to be.
func (w *worker) over() bool { return w.killed() || closed(w.exited) }

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// wait waits for the end of the process. It may be called more than once, by one
// goroutine.
func (w *worker) wait() {
	if closed(w.exited) {
		return
	}
	w.reader.Wait()
	w.stderr.wait()
	_ = w.cmd.Wait()
	os.RemoveAll(w.dir)
	w.fate = w.explain()
	close(w.exited)
}

// explain returns why a process ended.
func (w *worker) explain() *engine.Error {
	status, _ := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case w.killed():
		return engine.NewError(errcode.Execution, "", "the worker was killed")
	case w.stderr.short, status.Signaled() && status.Signal() == syscall.SIGKILL: // by the system
		return w.noMemory()
	}
	return engine.NewError(errcode.Execution, "", "the worker ended: %s", w.cmd.ProcessState)
}

func (w *worker) noMemory() *engine.Error {
	if w.opts.Memory < 0 {
		return engine.NewError(errcode.Limit, "", "the statement ran out of memory in its worker")
	}
	return engine.NewError(errcode.Limit, "", "the statement took more than %d MiB of memory in its worker", w.opts.Memory>>20)
}
