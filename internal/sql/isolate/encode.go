package isolate

import (
	"bytes"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// encoder writes the rows of a result as frames. Each is one message of an Arrow IPC
// stream, except the schema, which the reader derives. The payload is the length of
// the message's metadata (4 bytes, little-endian), 4 zero bytes, the metadata,
// padded to 8 bytes, and the message's body.
type encoder struct {
	out     *frameWriter
	batcher *format.Batcher
	ipc     *ipc.Writer
	begun   bool // the schema is written
	body    bytes.Buffer
}

func newEncoder(columns []engine.Column, out *frameWriter) *encoder {
	e := &encoder{out: out, batcher: format.NewBatcher(physicalColumns(columns))}
	e.ipc = ipc.NewWriterWithPayloadWriter(format.PayloadFunc(e.send), ipc.WithSchema(e.batcher.Schema()))
	return e
}

// write sends the rows of a chunk.
func (e *encoder) write(chunk *engine.Chunk) error {
	if err := e.batcher.Add(chunk, e.ipc.Write); err != nil {
		return err
	}
	if err := e.batcher.Emit(e.ipc.Write); err != nil {
		return err
	}
	return e.out.flush()
}

// send sends a message of the Arrow stream, except the first, the schema.
func (e *encoder) send(p ipc.Payload) error {
	if !e.begun {
		e.begun = true
		return nil
	}
	meta := p.Meta()
	defer meta.Release()
	e.body.Reset()
	var header [8]byte
	binary.LittleEndian.PutUint32(header[:], uint32(meta.Len()))
	e.body.Write(header[:])
	e.body.Write(meta.Bytes())
	e.body.Write(make([]byte, fill(meta.Len())))
	if err := p.SerializeBody(&e.body); err != nil {
		return err
	}
	return e.out.write(kindRows, e.body.Bytes())
}

// fill is the padding of n bytes to a multiple of 8.
func fill(n int) int { return -n & 7 }
