package documents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
)

// A worker is a command of a sandbox that takes rows as Arrow IPC streams: a line of JSON with
// the number of bytes that follow it, and the same as the answer. It has no files, no network
// and limits of memory and processor time, which its pool sets: a document that is beyond
// them costs the worker, and no other document.

// Fields are the arguments of a worker: a file for each row. Its value is a [Document] as JSON.
var Fields = []arrow.Field{
	{Name: "name", Type: arrow.BinaryTypes.String},
	{Name: "options", Type: arrow.BinaryTypes.String},
	{Name: "data", Type: arrow.BinaryTypes.Binary},
}

// Function is the name of what a worker computes.
const Function = "document"

// MaxAnswer is how many bytes an answer may have: the text and the rows with escapes, metadata.
const MaxAnswer = 2*(MaxContent+maxData) + 1<<20

// Memory is how many bytes of memory a worker needs, with pdfium. Go collects garbage more often
// before it has the heap.
const (
	Memory = 1 << 30
	heap   = Memory / 10 * 6
)

// Workers read documents in processes of their own.
type Workers interface {
	// Read reads a document. An error is about the workers, not about the document.
	Read(ctx context.Context, name string, data []byte, options Options) (Document, error)
	Close()
}

// Open starts workers that may take so much processor time for a document.
type Open func(cpu time.Duration) (Workers, error)

// Main is the body of a worker. The folder is that of [Compile], or "".
func Main(in io.Reader, out io.Writer, folder string) error {
	compiled = folder
	debug.SetMemoryLimit(heap)
	debug.SetGCPercent(50)
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := answer(r, out, line); err != nil {
			return err
		}
	}
}

func answer(in io.Reader, out io.Writer, line []byte) error {
	var request struct {
		ID    int64 `json:"id"`
		Bytes int   `json:"bytes"`
	}
	if err := json.Unmarshal(line, &request); err != nil || request.Bytes < 0 {
		return fmt.Errorf("this command is for workers that read documents: %q is not a request", line)
	}
	stream := make([]byte, request.Bytes)
	if _, err := io.ReadFull(in, stream); err != nil {
		return err
	}
	columns, err := arrowipc.Read(stream, Fields, arrowipc.ReadOptions{Limit: request.Bytes + 1<<20})
	if err != nil {
		return err
	}
	names, options, data := columns[0].(*array.String), columns[1].(*array.String), columns[2].(*array.Binary)
	values := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range names.Len() {
		var o Options
		if err := json.Unmarshal([]byte(options.Value(i)), &o); err != nil {
			return err
		}
		text, err := json.Marshal(Read(names.Value(i), data.Value(i), o))
		if err != nil {
			return err
		}
		values.Append(string(text))
	}
	return reply(out, request.ID, values.NewArray())
}

func reply(out io.Writer, id int64, values arrow.Array) error {
	schema := arrow.NewSchema([]arrow.Field{{Name: "value", Type: values.DataType(), Nullable: true}}, nil)
	var stream bytes.Buffer
	batch := array.NewRecordBatch(schema, []arrow.Array{values}, int64(values.Len()))
	if err := arrowipc.Encode(&stream, batch); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "{\"id\":%d,\"bytes\":%d}\n", id, stream.Len()); err != nil {
		return err
	}
	_, err := out.Write(stream.Bytes())
	return err
}
