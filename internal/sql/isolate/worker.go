package isolate

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// framesAhead is how many frames of a worker may wait to be received, however large
// they are: those of the rows and the end of a short result.
const framesAhead = 2

// worker is the pool's side of a process.
type worker struct {
	level  *level
	opts   *Options
	cmd    *exec.Cmd
	dir    string // where it spills; removed when it has ended
	stdin  io.Closer
	stdout io.ReadCloser
	out    *frameWriter
	stderr *stderr
	frames chan frame  // closed when it ends
	retire *time.Timer // kills it when it is idle for long

	ready  <-chan struct{} // closed when it has run the setup, or failed to, and closed outdated files
	failed error           // why it did not start; set before ready is closed
	dying  sync.Once
	killer chan struct{}  // closed by kill
	exited chan struct{}  // closed when it is gone and the pool has recorded that
	fate   *engine.Error  // why it ended; set before exited is closed
	fault  bool           // it ended for no known reason, as after a segmentation fault; set with fate
	reader sync.WaitGroup // read

	replaced chan struct{} // closed when it is gone and another worker has started, if one had to

	// The owner of the worker has the rest; the pool's mutex guards it while the
	// worker is idle.
	owner  permit                        // of the statement that has it, or had it last
	held   *time.Timer                   // fires when the statement has it for long
	has    map[string]*engine.Dependency // what was created in it, by name
	served int                           // statements
	spent  bool                          // it must not be used again
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
	enlargePipe(w.stdout)
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

// begin makes the process run the setup.
func (w *worker) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it was not ready within %s", startLimit))
	defer cancel()
	defer context.AfterFunc(ctx, w.kill)()
	// If the process is gone, frames is closed and fate has the reason.
	_ = w.out.send(kindSetup, setup{
		Script: w.opts.Setup, Extensions: w.opts.Extensions, Roots: w.opts.Roots, TempDir: w.dir, MaxSpill: w.opts.MaxSpill,
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
	return errors.New(why.Message)
}

// missing returns the dependencies that the worker does not have, with the
// statements that create them: those that attach files, and the others.
func (w *worker) missing(dependencies []*engine.Dependency) (list []*engine.Dependency, files, definitions []string) {
	for _, d := range dependencies {
		old := w.has[d.Name]
		if old != nil && old.Version == d.Version {
			continue
		}
		into := &definitions
		if d.File {
			into = &files
		}
		if old != nil {
			*into = append(*into, old.Drop...)
		}
		*into = append(*into, d.Create...)
		list = append(list, d)
	}
	return list, files, definitions
}

// change runs statements about files between two statements of callers, and kills
// the worker if that fails.
func (w *worker) change(ctx context.Context, files []string) {
	ctx, cancel := context.WithTimeout(ctx, changeLimit)
	defer cancel()
	defer context.AfterFunc(ctx, w.kill)()
	w.served++
	_ = w.send(query{Number: w.served, Files: files}, nil)
	f, ok := <-w.frames
	if !ok {
		return
	}
	e, err := decodeJSON[end](f)
	if f.kind != kindEnd || err != nil || e.Error != nil {
		w.opts.Log.Warn("killing a worker", "error", cmp.Or(err, e.Error.failure()))
		w.kill()
	}
}

// send sends a query with the output of appendParams.
func (w *worker) send(q query, params []byte) error {
	e := encoders.Get().(*encoder)
	defer e.free()
	if err := e.head(q); err != nil {
		return err
	}
	return errors.Join(w.out.write(kindQuery, e.buf, params), w.out.flush())
}

// changeLimit limits the time of change.
const changeLimit = 10 * time.Second

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

// wait waits for the end of the process and sets fate. It may be called more than once,
// by one goroutine.
func (w *worker) wait() {
	if w.fate != nil {
		return
	}
	w.reader.Wait()
	w.stderr.wait()
	_ = w.cmd.Wait()
	os.RemoveAll(w.dir)
	w.fate = w.explain()
}

// explain returns why a process ended.
func (w *worker) explain() *engine.Error {
	status, _ := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case w.killed():
		return engine.NewError(errcode.Execution, "", "the worker was killed")
	case w.stderr.short, w.opts.Memory > 0 && peakMemory(w.cmd.ProcessState) >= duckdbShare(w.opts.Memory):
		// Where memory is short, DuckDB may fault in another of its threads before it reports the error.
		return w.noMemory()
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		return engine.NewError(errcode.Limit, "",
			"the statement's worker was killed from outside, as the system does when memory is short; it used up to %d MiB",
			peakMemory(w.cmd.ProcessState)>>20)
	}
	w.fault = true
	return engine.NewError(errcode.Execution, "", "the worker ended: %s", w.cmd.ProcessState)
}

func (w *worker) noMemory() *engine.Error {
	if w.opts.Memory < 0 {
		return engine.NewError(errcode.Limit, "", "the statement ran out of memory in its worker")
	}
	return engine.NewError(errcode.Limit, "", "the statement took more than %d MiB of memory in its worker",
		w.opts.Memory>>20)
}
