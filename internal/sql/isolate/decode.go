package isolate

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// decoder decodes the chunks of an encoder. It trusts nothing: a malformed payload
// is an error, and memory use is bounded by the bytes received.
type decoder struct {
	columns []engine.Column
	ipc     *ipc.Reader
	message *ipc.Message // next message for ipc
}

var _ ipc.MessageReader = (*decoder)(nil)

// newDecoder makes a decoder for a result with these columns. It derives the Arrow
// schema from them: a schema sent by a worker could take any amount of memory.
func newDecoder(columns []engine.Column) (*decoder, error) {
	if err := checkRoom(columns); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	d := &decoder{columns: columns}
	capture := func(p ipc.Payload) error {
		d.message = ipc.NewMessage(p.Meta(), memory.NewBufferBytes(nil))
		return nil
	}
	w := ipc.NewWriterWithPayloadWriter(format.PayloadFunc(capture), ipc.WithSchema(format.ArrowSchema(physicalColumns(columns))))
	err := w.Close()
	if err != nil {
		return nil, err
	}
	d.ipc, err = ipc.NewReaderFromMessageReader(d, ipc.WithAllocator(noMemory{}))
	return d, err
}

// decode returns the rows of a payload.
func (d *decoder) decode(payload []byte) (chunk *engine.Chunk, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: malformed rows: %v", errFrame, v)
		}
		if err != nil && chunk != nil {
			chunk.Destroy()
			chunk = nil
		}
	}()
	if d.message, err = readMessage(payload); err != nil {
		return nil, err
	}
	if !d.ipc.Next() {
		return nil, fmt.Errorf("%w: no rows in the frame: %w", errFrame, d.ipc.Err())
	}
	batch := d.ipc.RecordBatch()
	n := int(batch.NumRows())
	if n < 1 || n > engine.ChunkRows || len(batch.Columns()) != len(d.columns) {
		return nil, fmt.Errorf("%w: %d rows in a frame", errFrame, n)
	}
	chunk = engine.NewChunk(d.columns)
	fill := filler{elements: len(payload)*8 + bareElements}
	for i, c := range d.columns {
		if err := fill.vector(chunk.Column(i), c.Type, batch.Column(i).Data(), n); err != nil {
			return chunk, fmt.Errorf("%w: column %d: %w", errFrame, i+1, err)
		}
	}
	chunk.SetLen(n)
	return chunk, nil
}

// close releases the last rows.
func (d *decoder) close() { d.ipc.Release() }

// Message implements [ipc.MessageReader].
func (d *decoder) Message() (*ipc.Message, error) {
	m := d.message
	d.message = nil
	if m == nil {
		return nil, io.EOF
	}
	return m, nil
}

// readMessage splits a payload; see encoder.
func readMessage(p []byte) (*ipc.Message, error) {
	if len(p) < 8 {
		return nil, fmt.Errorf("%w: rows of %d bytes", errFrame, len(p))
	}
	n := int64(binary.LittleEndian.Uint32(p))
	from := 8 + n + int64(fill(int(n)))
	if from > int64(len(p)) {
		return nil, fmt.Errorf("%w: metadata of %d bytes in a payload of %d", errFrame, n, len(p))
	}
	meta := p[8 : 8+n]
	if err := checkMeta(meta); err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(p[from:])), nil
}

// Retain implements [ipc.MessageReader].
func (d *decoder) Retain() {}

// Release implements [ipc.MessageReader].
func (d *decoder) Release() {}

// noMemory is an allocator that never allocates: the output of an encoder is read
// in place.
type noMemory struct{}

var _ memory.Allocator = noMemory{}

// Allocate implements [memory.Allocator].
func (noMemory) Allocate(int) []byte { return nil }

// Reallocate implements [memory.Allocator].
func (noMemory) Reallocate(int, []byte) []byte { return nil }

// Free implements [memory.Allocator].
func (noMemory) Free([]byte) {}
