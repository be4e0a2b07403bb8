package pgwire

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// output collects what is sent to a client. After a failure it sends nothing
// and keeps the error. It belongs to one goroutine.
type output struct {
	nc      net.Conn
	timeout time.Duration
	buf     []byte
	err     error
}

// send adds a message.
func (o *output) send(m pgproto3.BackendMessage) {
	buf, err := m.Encode(o.buf)
	if err != nil {
		o.fail(fmt.Errorf("encode %T: %w", m, err))
		return
	}
	o.buf = buf
}

func (o *output) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// empty adds a message without a body.
func (o *output) empty(kind byte) { o.buf = append(o.buf, kind, 0, 0, 0, 4) }

// begin adds the head of a message; finish sets its length.
func (o *output) begin(kind byte) (start int) {
	o.buf = append(o.buf, kind, 0, 0, 0, 0)
	return len(o.buf) - 4
}

func (o *output) finish(start int) {
	binary.BigEndian.PutUint32(o.buf[start:], uint32(len(o.buf)-start))
}

// flush sends what was collected. The error is that of the connection.
func (o *output) flush() error {
	if o.err != nil || len(o.buf) == 0 {
		return o.err
	}
	if err := o.nc.SetWriteDeadline(time.Now().Add(o.timeout)); err != nil {
		o.fail(err)
		return err
	}
	if _, err := o.nc.Write(o.buf); err != nil {
		o.fail(err)
	}
	o.buf = o.buf[:0]
	return o.err
}

// ease flushes when much was collected.
func (o *output) ease() {
	if len(o.buf) >= writeChunk {
		_ = o.flush() // kept in o.err
	}
}

// rest flushes and gives up a large buffer, before a time of waiting.
func (o *output) rest() {
	_ = o.flush() // kept in o.err
	if cap(o.buf) > keepBuffer {
		o.buf = nil
	}
}
