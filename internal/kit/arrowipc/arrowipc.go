// Package arrowipc reads Arrow IPC messages of writers that are not trusted. Arrow's library
// believes the lengths in them, and panics on some data that is not valid: [Verify] and
// [VerifyStream] check messages before the library reads them, [Guard] turns its panics into
// errors, and [Read] returns values whose offsets have all been checked.
//
//	columns, err := arrowipc.Read(stream, fields, arrowipc.ReadOptions{Limit: 64 << 20})
package arrowipc

import (
	"bytes"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var errInvalid = errors.New("the Arrow data is not valid")

// Guard calls f, which reads Arrow data. The library panics on some that are not valid.
func Guard(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errInvalid
		}
	}()
	return f()
}

// maxBuffer is the size of the largest buffer of a batch. Compressed ones say how large
// they are.
const maxBuffer = 256 << 20

// Allocator is for readers of batches. It has no memory for a buffer that is too large: the
// library panics then.
var Allocator memory.Allocator = &allocator{}

type allocator struct{ memory.GoAllocator }

func (a *allocator) Allocate(size int) []byte {
	if size > maxBuffer {
		return nil
	}
	return a.GoAllocator.Allocate(size)
}

func (a *allocator) Reallocate(size int, b []byte) []byte {
	if size > maxBuffer {
		return nil
	}
	return a.GoAllocator.Reallocate(size, b)
}

// Schema reads the schema at the begin of a stream of a server.
func Schema(stream []byte) (schema *arrow.Schema, err error) {
	err = Guard(func() error {
		header, rest, err := nextHeader(stream)
		if err != nil {
			return err
		}
		if err := Verify(header, Remote); err != nil {
			return err
		}
		// The reader takes only what was verified.
		r, err := ipc.NewReader(bytes.NewReader(stream[:len(stream)-len(rest)]), ipc.WithAllocator(Allocator),
			ipc.WithBodySizeLimit(0))
		if err != nil {
			return err
		}
		defer r.Release()
		schema = r.Schema()
		return nil
	})
	return schema, err
}

// Encode writes a batch as a stream.
func Encode(to io.Writer, batch arrow.RecordBatch) error {
	w := ipc.NewWriter(to, ipc.WithSchema(batch.Schema()))
	return errors.Join(w.Write(batch), w.Close())
}
