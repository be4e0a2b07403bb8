package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
)

// worker is a process. One goroutine at a time calls it.
type worker struct {
	pool    *Pool
	cmd     *exec.Cmd
	scratch string
	in      *os.File
	out     *bufio.Reader
	pipes   []*os.File // of this process
	print   output
	done    chan struct{} // closed when the process has been waited for
	cause   atomic.Int32  // why it was killed
	meter   meter
	loaded  map[uint32]bool
	history
	buf []byte
}

// history is what a worker has done.
type history struct {
	took   time.Duration // the start of the process
	asked  time.Time     // when its last exchange began
	served bool          // it answered a request
	left   bool          // its last call left threads, tasks or callbacks
	named  bool          // it answers with the ids of requests
}

// Why a worker ended.
const (
	endSelf = iota // by itself, or killed by another
	endCancelled
	endTimeout
	endClosed
	endCPU
	endMemory
	endFiles
	endProcesses
	endThreads
	endDamaged
	endNoID
	endLoad
	endRefused
)

// endNames are the reasons in metrics. A worker that ended by itself has exit or signal.
var endNames = map[int]string{
	endCancelled: "cancelled", endTimeout: "timeout", endClosed: "closed", endCPU: "cpu", endMemory: "memory",
	endFiles:     "files",
	endProcesses: "processes", endThreads: "threads", endDamaged: "damaged", endNoID: "no_id", endLoad: "load",
	endRefused: "refused",
}

func (w *worker) reason() int { return int(w.cause.Load()) }

func (p *Pool) start() (*worker, error) {
	began := time.Now()
	folder, err := os.MkdirTemp(p.dir.Path, "worker-")
	if err != nil {
		return nil, fmt.Errorf("scratch folder of a worker: %w", err)
	}
	w := &worker{
		pool: p, scratch: folder, done: make(chan struct{}), loaded: map[uint32]bool{},
		print: output{log: p.o.Log.With("sandbox", p.o.Name), mask: p.masked},
	}
	if err := w.run(); err != nil {
		os.RemoveAll(folder)
		return nil, fmt.Errorf("start a worker of sandbox %s: %w", p.o.Name, err)
	}
	w.took = time.Since(began)
	return w, nil
}

// run starts the process, with what waits for it.
func (w *worker) run() error {
	argv := w.pool.o.Command
	if script := w.pool.o.Script; script != "" {
		argv = []string{filepath.Join(w.scratch, "script")}
		if err := os.WriteFile(argv[0], []byte(script), 0o755); err != nil {
			return err
		}
	}
	cmd, err := w.pool.command(argv, w.scratch)
	if err != nil {
		return err
	}
	var theirs []*os.File
	pipe := func() (r, wr *os.File) {
		if err == nil {
			r, wr, err = os.Pipe()
		}
		return r, wr
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	theirs, w.pipes = []*os.File{inR, outW, errW}, []*os.File{inW, outR, errR}
	if err != nil {
		closeFiles(theirs)
		closeFiles(w.pipes)
		return err
	}
	enlargePipe(inW)
	enlargePipe(outW)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	w.cmd, w.in, w.out = cmd, inW, bufio.NewReaderSize(outR, 64<<10)
	w.meter.worker = w
	w.print.pipe = errR
	w.print.task.Go(w.print.read)
	started := make(chan error)
	w.pool.task.Go(func() { w.life(started) })
	err = <-started
	closeFiles(theirs)
	if err != nil {
		closeFiles(w.pipes)
		return err
	}
	return nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// life starts the process, waits for it and removes what it left.
func (w *worker) life(started chan<- error) {
	unlock := lockParent() // the process ends with the thread that starts it
	defer unlock()
	if err := w.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	w.cmd.Wait()
	w.meter.stop()
	w.pool.o.Metrics.WorkerEnded(w.pool.o.Name, w.endName())
	killGroup(w.cmd.Process.Pid)
	w.pool.gone(w)
	close(w.done)
	timer := time.AfterFunc(time.Second, func() { closeFiles(w.pipes[2:]) }) // a child may have it open
	w.print.task.Wait()
	timer.Stop()
	closeFiles(w.pipes)
	os.RemoveAll(w.scratch)
}

// endName says why the process ended, for metrics.
func (w *worker) endName() string {
	if why := w.reason(); why != endSelf {
		return endNames[why]
	}
	if w.cmd.ProcessState != nil && w.cmd.ProcessState.Exited() {
		return "exit"
	}
	return "signal"
}

// answered records that the worker has answered a request. Its start is that of the process
// and the first exchange, without the time between, in which it waits for a call.
func (w *worker) answered() {
	if !w.served {
		w.served = true
		w.pool.o.Metrics.WorkerReady(w.pool.o.Name, w.took+time.Since(w.asked))
	}
}

func (w *worker) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return w.reason() != endSelf
	}
}

// kill kills the process with its children, once.
func (w *worker) kill(why int) {
	if w.cause.CompareAndSwap(endSelf, int32(why)) {
		killGroup(w.cmd.Process.Pid)
		w.cmd.Process.Kill()
		w.pipes[1].SetReadDeadline(time.Now()) // children may have it open
		w.pipes[0].SetWriteDeadline(time.Now())
	}
}

// cancel kills the worker of a call whose context has ended.
func (w *worker) cancel(ctx context.Context) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		w.kill(endTimeout)
	} else {
		w.kill(endCancelled)
	}
}

// begin is called before an exchange, and what it returns after it.
func (w *worker) begin(ctx context.Context) (end func()) {
	stop := context.AfterFunc(ctx, func() { w.cancel(ctx) })
	w.asked = time.Now()
	w.meter.begin()
	w.print.begin()
	return func() {
		stop()
		w.meter.end()
	}
}

// ensure loads a function, unless the worker has it. A worker that cannot load it is killed:
// what its code did until then must not stay.
func (w *worker) ensure(f *Function) error {
	if w.pool.o.Lines || w.loaded[f.id] {
		return nil
	}
	payload := append(make([]byte, requestHead, requestHead+len(f.load)), f.load...)
	timer := time.AfterFunc(w.pool.o.Load, func() { w.kill(endLoad) })
	defer timer.Stop()
	if _, err := w.exchange(requestLoad, f, payload); err != nil {
		if _, ok := err.(*CodeError); ok {
			w.answered()
			w.kill(endRefused)
		}
		return err
	}
	w.answered()
	w.loaded[f.id] = true
	return nil
}

func (w *worker) call(f *Function, batch arrow.RecordBatch) (arrow.Array, error) {
	if w.pool.o.Lines {
		values, err := w.callLines(f, batch)
		if err == nil {
			w.answered()
		}
		return values, err
	}
	if f.arrow {
		return w.callArrow(f, batch)
	}
	rows := int(batch.NumRows())
	buf := append(w.buf[:0], make([]byte, requestHead)...)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(rows))
	for i := range f.args {
		buf = appendColumn(buf, &f.args[i], batch.Column(i))
	}
	w.buf = nil
	if cap(buf) <= 1<<20 {
		w.buf = buf
	}
	reply, err := w.exchange(requestCall, f, buf)
	if err != nil {
		return nil, err
	}
	values, err := decode(reply, &f.returns, f.typ, rows)
	if err != nil {
		w.kill(endDamaged)
	}
	return values, err
}

// callArrow calls a function of Python that takes the columns of a batch.
func (w *worker) callArrow(f *Function, batch arrow.RecordBatch) (arrow.Array, error) {
	request := bytes.NewBuffer(make([]byte, requestHead))
	if err := arrowipc.Encode(request, batch); err != nil {
		return nil, err
	}
	reply, err := w.exchange(requestCall, f, request.Bytes())
	if err != nil {
		return nil, err
	}
	return w.arrowValues(f, reply, int(batch.NumRows()))
}

// stray reports that there is output which is no reply: that of the last call has been read.
func (w *worker) stray() bool { return w.out.Buffered() > 0 || unread(w.pipes[1]) > 0 }

// damaged kills a worker whose reply cannot be read.
func (w *worker) damaged(what string) error {
	w.kill(endDamaged)
	return fmt.Errorf("the worker of sandbox %s answered with something that is not a reply: %s", w.pool.o.Name,
		w.pool.masked(what))
}

// lost is the error of a worker that has ended, or is about to.
func (w *worker) lost(cause error) error {
	if w.reason() == endSelf {
		w.waitEnd()
	}
	o := &w.pool.o
	switch w.reason() {
	case endCancelled, endTimeout:
		return context.Canceled
	case endClosed:
		return errClosed
	case endCPU:
		return lostf(endCPU, "the code took more than %s of processor time, the limit of sandbox %s (limits.cpu); "+
			"its worker was killed", o.CPU, o.Name)
	case endMemory:
		return lostf(endMemory, "the code took more than %d MiB of memory, the limit of sandbox %s (limits.memory); its "+
			"worker was killed", o.Memory>>20, o.Name)
	case endFiles:
		return lostf(endFiles, "the code wrote more than %d MiB or %d files, the limit of sandbox %s; its worker was killed",
			o.Memory>>20, maxFileCount, o.Name)
	case endLoad:
		return &CodeError{Kind: "load", Message: fmt.Sprintf("the code took longer than %s to load", o.Load), Line: 1}
	case endProcesses, endThreads, endDamaged, endNoID, endRefused:
		return fmt.Errorf("the worker of sandbox %s was killed", o.Name)
	}
	state := "it closed its streams"
	if w.cmd.ProcessState != nil {
		state = w.cmd.ProcessState.String()
	} else if cause != nil {
		state = cause.Error()
	}
	if line := w.print.lastLine(); line != "" {
		state += "; it printed last: " + line
	}
	return lostf(endSelf, "a worker of sandbox %s ended during a call (%s)", o.Name, state)
}

// LostError is the error of a call whose worker has ended: by itself, or at a limit.
type LostError struct {
	Limit   string // cpu, memory or files; "": it ended by itself
	message string
}

// Error says how the worker ended.
func (e *LostError) Error() string { return e.message }

func lostf(why int, format string, args ...any) error {
	return &LostError{endNames[why], fmt.Sprintf(format, args...)}
}

// waitEnd waits for a process that closed its streams, and kills it if it goes on. What
// it printed has been read then.
func (w *worker) waitEnd() {
	timer := time.AfterFunc(time.Second, func() { w.cmd.Process.Kill() })
	defer timer.Stop()
	<-w.done
	w.print.task.Wait()
}
