package pgwire

import (
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
)

// output collects what is sent to a client. After a failure it sends nothing
// more and keeps the error. It belongs to one goroutine.
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

// complete adds the message that a statement is complete.
func (o *output) complete(tag string) {
	o.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
}

// describe adds the description of a result's columns.
func (o *output) describe(columns []wire.Column, formats []int16) {
	if columns == nil {
		o.empty('n') // NoData
		return
	}
	o.send(wire.RowDescription(columns, formats))
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
	if len(o.buf) >= wire.Chunk {
		_ = o.flush() // stored in o.err
	}
}

// rest flushes and frees a large buffer, before waiting for the client.
func (o *output) rest() {
	_ = o.flush() // stored in o.err
	if cap(o.buf) > keepBuffer {
		o.buf = nil
	}
}
