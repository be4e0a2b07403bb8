package flightsql

import (
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// writeBuffer is how much gRPC collects before it writes to a connection.
const writeBuffer = 128 << 10

// The fields of the message FlightData that are used; see Flight.proto.
const (
	fieldHeader protowire.Number = 2
	fieldBody   protowire.Number = 1000
)

// codec is gRPC's for protocol buffers, but for messages with record batches:
// their columns are copied straight to the buffer that is sent, where
// marshalling a FlightData would copy them twice more.
type codec struct {
	encoding.CodecV2
	pool *bufferPool
}

// Marshal implements [encoding.CodecV2].
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*message); ok {
		return m.marshal(c.pool)
	}
	return c.CodecV2.Marshal(v)
}

// message is a FlightData of an Arrow IPC message.
type message struct {
	owner   string // for whom it is
	header  []byte
	payload ipc.Payload
	body    int // bytes of the payload's body
}

func (m *message) size() int {
	n := protowire.SizeTag(fieldHeader) + protowire.SizeBytes(len(m.header))
	if m.body > 0 {
		n += protowire.SizeTag(fieldBody) + protowire.SizeBytes(m.body)
	}
	return n
}

func (m *message) marshal(pool *bufferPool) (mem.BufferSlice, error) {
	buf := pool.get(m.size())
	w := appendWriter(buf.data[:0])
	w = protowire.AppendTag(w, fieldHeader, protowire.BytesType)
	w = protowire.AppendBytes(w, m.header)
	if m.body > 0 {
		w = protowire.AppendTag(w, fieldBody, protowire.BytesType)
		w = protowire.AppendVarint(w, uint64(m.body))
		if err := m.payload.SerializeBody(&w); err != nil {
			pool.free.Put(buf)
			return nil, err
		}
	}
	buf.data = w
	return mem.BufferSlice{buf.lend(m.owner)}, nil
}

// bufferPool has buffers of messages for use again. Those of gRPC's own pool
// are cleared first, which costs as much as filling them.
type bufferPool struct {
	free sync.Pool // of *buffer
	lent lent
}

// buffer is one of a pool's. As a [mem.BufferPool] it takes itself back.
type buffer struct {
	mem.NopBufferPool
	data []byte
	pool *bufferPool
	loan loan
	lost runtime.Cleanup
}

func (p *bufferPool) get(n int) *buffer {
	if b, ok := p.free.Get().(*buffer); ok && cap(b.data) >= n {
		return b
	}
	return &buffer{data: make([]byte, 0, n+n/8), pool: p} // the next one may be a little larger
}

// lend gives the buffer to gRPC. What waits for a connection that ends, gRPC
// leaves to the garbage collector: such a buffer counts until that has it.
func (b *buffer) lend(owner string) mem.Buffer {
	if n := cap(b.data); !mem.IsBelowBufferPoolingThreshold(n) { // else it does not come back
		b.loan = loan{owner, int64(n)}
		b.pool.lent.add(b.loan)
		b.lost = runtime.AddCleanup(b, b.pool.lent.end, b.loan)
	}
	return mem.NewBuffer(&b.data, b)
}

// Put implements [mem.BufferPool].
func (b *buffer) Put(*[]byte) {
	b.lost.Stop()
	b.pool.lent.end(b.loan)
	b.pool.free.Put(b)
}

// lent counts what gRPC has of messages that clients have not read. The zero
// value is ready to use.
type lent struct {
	mu     sync.Mutex
	total  int64            // bytes
	owners map[string]int64 // those of each that are not 0
}

// loan is what gRPC has of one message.
type loan struct {
	owner string
	bytes int64
}

func (l *lent) add(one loan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owners == nil {
		l.owners = map[string]int64{}
	}
	l.total += one.bytes
	if l.owners[one.owner] += one.bytes; l.owners[one.owner] == 0 {
		delete(l.owners, one.owner)
	}
}

func (l *lent) end(one loan) { l.add(loan{one.owner, -one.bytes}) }

// bytes is what gRPC has in all, and of an owner's.
func (l *lent) bytes(owner string) (total, own int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, l.owners[owner]
}

// appendWriter collects what is written.
type appendWriter []byte

// Write implements [io.Writer].
func (w *appendWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// countWriter counts what is written.
type countWriter int

// Write implements [io.Writer].
func (w *countWriter) Write(p []byte) (int, error) {
	*w += countWriter(len(p))
	return len(p), nil
}

// sender writes record batches of one schema to the stream of a DoGet: first
// the schema, then dictionaries as they are needed, and the batches.
type sender struct {
	ipc  *ipc.Writer
	wire *wire
}

func newSender(stream grpc.ServerStream, schema *arrow.Schema) *sender {
	w := &wire{stream: stream, owner: clientOf(stream.Context()).principal.Name}
	return &sender{ipc.NewWriterWithPayloadWriter(format.PayloadFunc(w.write), ipc.WithSchema(schema)), w}
}

// write sends a batch, in pieces if it is too large for a message that clients
// take. A row goes in one message, whatever its size.
func (s *sender) write(batch arrow.RecordBatch) error {
	n := batch.NumRows()
	if n > 1 {
		size, err := bodySize(batch)
		if err != nil {
			return err
		}
		if size > maxBatchBytes {
			return s.halves(batch, n/2)
		}
	}
	return s.ipc.Write(batch)
}

func (s *sender) halves(batch arrow.RecordBatch, at int64) error {
	for _, part := range [...]arrow.RecordBatch{batch.NewSlice(0, at), batch.NewSlice(at, batch.NumRows())} {
		err := s.write(part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// bodySize is how many bytes the columns of a batch take when they are sent.
func bodySize(batch arrow.RecordBatch) (int, error) {
	payload, err := ipc.GetRecordBatchPayload(batch)
	if err != nil {
		return 0, err
	}
	defer payload.Release()
	var n countWriter
	err = payload.SerializeBody(&n)
	return int(n), err
}

// end sends the schema, if there was no batch to follow it.
func (s *sender) end() error { return s.ipc.Close() }

// sent is the bytes of the messages sent.
func (s *sender) sent() int64 { return s.wire.sent }

// wire sends Arrow IPC messages.
type wire struct {
	stream grpc.ServerStream
	owner  string
	sent   int64
}

// write sends a message. When it returns, gRPC has a copy.
func (w *wire) write(p ipc.Payload) error {
	meta := p.Meta()
	defer meta.Release()
	var body countWriter
	if err := p.SerializeBody(&body); err != nil {
		return err
	}
	m := &message{w.owner, meta.Bytes(), p, int(body)}
	if err := w.stream.SendMsg(m); err != nil {
		return err
	}
	w.sent += int64(m.size())
	return nil
}
