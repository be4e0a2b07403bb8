package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	gort "runtime"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/data/documents"
)

// Limits of the workers that read documents.
const (
	maxDocumentWorkers = 4
	documentThreads    = 64 // of the Go runtime and of the compiler of pdfium
	// A worker that waits, for the machine or for good, is killed after its processor time this
	// many times over.
	documentPatience = 10
)

// documentWorkers are sandboxes, as those of functions: one with one worker for each document
// that is read at once, so that what a document does to its worker is not held against the
// next one. They start with the first document, and end with the load of the dataset.
type documentWorkers struct {
	options  sandbox.Options
	function *sandbox.Function
	schema   *arrow.Schema
	free     chan *sandbox.Pool
	bare     sync.Once // warns of workers without isolation
	compile  func()    // before the first PDF
}

// openDocuments returns what opens the workers: this program, as a command of a sandbox. The
// folder has what they read PDFs with. It is compiled once, by a process that reads no document.
func openDocuments(command, shim []string, folder string, log *slog.Logger) documents.Open {
	if len(command) == 0 {
		return nil
	}
	command = append(slices.Clone(command), folder)
	compile := sync.OnceFunc(func() {
		if _, err := exec.Command(command[0], append(slices.Clone(command[1:]), "compile")...).Output(); err != nil {
			log.Warn("each process that reads PDFs compiles its reader, which takes 3 seconds", "error", err)
		}
	})
	return func(cpu time.Duration) (documents.Workers, error) {
		if err := os.MkdirAll(folder, 0o700); err != nil { // before a worker, which may only see what is there
			return nil, err
		}
		w := &documentWorkers{
			compile: compile,
			options: sandbox.Options{
				Name: "documents", Command: command, ReadOnly: []string{command[0], folder}, Lines: true, Arrow: true, Workers: 1,
				Memory: documents.Memory, CPU: cpu, Processes: documentThreads, Output: documents.MaxAnswer, Shim: shim, Log: log,
			},
			schema: arrow.NewSchema(documents.Fields, nil),
			free:   make(chan *sandbox.Pool, max(1, min(gort.GOMAXPROCS(0), maxDocumentWorkers))),
		}
		var err error
		w.function, err = sandbox.NewFunction(sandbox.Declaration{
			Name: documents.Function, Args: w.schema, Returns: arrow.BinaryTypes.String,
		}, documents.MaxAnswer)
		for range cap(w.free) {
			w.free <- nil
		}
		return w, err
	}
}

// Read implements [documents.Workers].
func (w *documentWorkers) Read(ctx context.Context, name string, data []byte,
	options documents.Options,
) (d documents.Document, err error) {
	if documents.LooksLikePDF(data) {
		w.compile()
	}
	var pool *sandbox.Pool
	select {
	case pool = <-w.free:
	case <-ctx.Done():
		return d, ctx.Err()
	}
	defer func() { w.free <- pool }()
	if pool == nil {
		if pool, err = sandbox.New(w.options); err != nil {
			return d, err
		}
		if i := pool.Isolation(); !i.Full {
			w.bare.Do(func() {
				w.options.Log.Warn("documents are read by processes that this system does not isolate fully", "missing", i.Missing)
			})
		}
	}
	text, err := w.call(ctx, pool, name, data, options)
	var lost *sandbox.LostError
	switch {
	case err == nil:
		return d, json.Unmarshal([]byte(text), &d)
	case ctx.Err() != nil:
		return d, ctx.Err()
	case errors.As(err, &lost):
		d.Metadata = documents.Metadata{Size: int64(len(data)), Error: w.explain(lost)}
		err = nil
	case errors.Is(err, errDocumentSlow):
		d.Metadata = documents.Metadata{Size: int64(len(data)), Error: err.Error()}
		err = nil
	}
	pool.Close()
	pool = nil
	return d, err
}

// explain says in terms of the document why its worker ended.
func (w *documentWorkers) explain(lost *sandbox.LostError) string {
	switch lost.Limit {
	case "cpu":
		return fmt.Sprintf("reading it takes more than %s of processor time; params.document_timeout is the limit",
			w.options.CPU)
	case "memory":
		return fmt.Sprintf("reading it takes more than %d MB of memory", w.options.Memory>>20)
	}
	return fmt.Sprintf("reading it ended the process that read it, which may have %d MB of memory", w.options.Memory>>20)
}

var errDocumentSlow = errors.New("reading it takes too long; params.document_timeout is the limit of processor time")

func (w *documentWorkers) call(ctx context.Context, pool *sandbox.Pool, name string, data []byte,
	options documents.Options,
) (string, error) {
	settings, err := json.Marshal(options)
	if err != nil {
		return "", err
	}
	build := array.NewRecordBuilder(memory.DefaultAllocator, w.schema)
	build.Field(0).(*array.StringBuilder).Append(name)
	build.Field(1).(*array.StringBuilder).Append(string(settings))
	build.Field(2).(*array.BinaryBuilder).Append(data)
	call, cancel := context.WithTimeoutCause(ctx, documentPatience*w.options.CPU, errDocumentSlow)
	defer cancel()
	values, err := pool.Call(call, w.function, build.NewRecordBatch())
	if err != nil {
		if call.Err() != nil && ctx.Err() == nil {
			return "", context.Cause(call)
		}
		return "", err
	}
	defer values.Release()
	return values.(*array.String).Value(0), nil
}

// Close ends the workers. No document is read then.
func (w *documentWorkers) Close() {
	for range cap(w.free) {
		if pool := <-w.free; pool != nil {
			pool.Close()
		}
	}
}
