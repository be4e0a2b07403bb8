package mysql

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// Sizes of packets.
const (
	fullPacket  = 1<<24 - 1 // the payload of a packet that another one continues
	maxPayload  = 16 << 20  // of what is read whole: commands, and answers to the proxy itself
	maxGreeting = 64 << 10  // of the first packet, which may be of another protocol
	bufferSize  = 256 << 10 // for what a server sends
	maxRowsRead = 100_000   // of an answer to the proxy itself
	maxColumns  = 4096      // of a table, which is MySQL's limit
)

// errPacket is the error of what is no packet of the protocol:
// https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html.
var errPacket = errors.New("the peer does not speak the protocol of MySQL")

// wire reads and writes packets. A packet has three bytes for the length of its payload,
// and one for its number since the begin of a command.
type wire struct {
	net.Conn
	in     *bufio.Reader
	number byte
}

func newWire(c net.Conn) *wire { return &wire{Conn: c, in: bufio.NewReaderSize(c, 16<<10)} }

// read returns the payload of the next packet.
func (w *wire) read() ([]byte, error) { return w.readUpTo(maxPayload) }

func (w *wire) readUpTo(limit int) ([]byte, error) {
	var payload []byte
	for {
		var head [4]byte
		if _, err := io.ReadFull(w.in, head[:]); err != nil {
			return nil, err
		}
		n := length(head[:])
		w.number = head[3] + 1
		if len(payload)+n > limit {
			return nil, fmt.Errorf("%w: a packet of more than %d bytes", errPacket, limit)
		}
		start := len(payload)
		payload = append(payload, make([]byte, n)...)
		if _, err := io.ReadFull(w.in, payload[start:]); err != nil {
			return nil, err
		}
		if n < fullPacket {
			return payload, nil
		}
	}
}

// write writes packets, numbered on from the last one that was read or written.
func (w *wire) write(payloads ...[]byte) error {
	var out []byte
	for _, p := range payloads {
		for {
			n := min(len(p), fullPacket)
			out = append(out, byte(n), byte(n>>8), byte(n>>16), w.number)
			out = append(out, p[:n]...)
			w.number++
			if p = p[n:]; n < fullPacket {
				break
			}
		}
	}
	_, err := w.Write(out)
	return err
}

// command writes the first packet of a command.
func (w *wire) command(payload []byte) error {
	w.number = 0
	return w.write(payload)
}

func length(head []byte) int { return int(head[0]) | int(head[1])<<8 | int(head[2])<<16 }

// The first bytes of payloads.
const (
	kindOK    = 0x00
	kindMore  = 0x01 // of an authentication
	kindLocal = 0xfb // a request for a file, or NULL within a row
	kindEOF   = 0xfe
	kindError = 0xff
)

// statusCommit is the status of a server outside of transactions.
const statusCommit = 2

func okPacket() []byte  { return []byte{kindOK, 0, 0, statusCommit, 0, 0, 0} }
func eofPacket() []byte { return []byte{kindEOF, 0, 0, statusCommit, 0} }

// isEOF reports whether a payload ends columns or rows.
func isEOF(p []byte) bool { return len(p) > 0 && len(p) < 9 && p[0] == kindEOF }

// serverError is an error that a server reports.
type serverError struct {
	Number  uint16
	State   string
	Message string
}

func (e *serverError) Error() string { return e.Message }

func errorPacket(e *serverError) []byte {
	out := binary.LittleEndian.AppendUint16([]byte{kindError}, e.Number)
	return append(append(append(out, '#'), (e.State + "HY000")[:5]...), e.Message...)
}

// parseError returns the error of a payload that begins with kindError.
func parseError(p []byte) error {
	if len(p) < 3 {
		return errPacket
	}
	e := &serverError{Number: binary.LittleEndian.Uint16(p[1:])}
	rest := p[3:]
	if len(rest) >= 6 && rest[0] == '#' {
		e.State, rest = string(rest[1:6]), rest[6:]
	}
	e.Message = string(rest)
	return e
}

// appendText appends a text after its length.
func appendText(out []byte, text string) []byte { return append(appendLength(out, len(text)), text...) }

func appendLength(out []byte, n int) []byte {
	switch {
	case n < 0xfb:
		return append(out, byte(n))
	case n < 1<<16:
		return append(out, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(out, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(out, 0xfe), uint64(n))
}

// cursor takes a payload apart. After its end it returns zeros, and bad is set.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.bad, c.rest = true, nil
		return make([]byte, min(max(n, 0), 16))
	}
	out := c.rest[:n]
	c.rest = c.rest[n:]
	return out
}

func (c *cursor) byte() byte     { return c.take(1)[0] }
func (c *cursor) uint16() uint16 { return binary.LittleEndian.Uint16(c.take(2)) }
func (c *cursor) uint32() uint32 { return binary.LittleEndian.Uint32(c.take(4)) }

// length is a length, as appendLength writes it.
func (c *cursor) length() int {
	switch b := c.byte(); b {
	default:
		return int(b)
	case 0xfc:
		return int(c.uint16())
	case 0xfd:
		b := c.take(3)
		return length(b)
	case 0xfb, 0xfe, 0xff:
		c.bad = true // longer than any payload
		return 0
	}
}

// text is a text after its length.
func (c *cursor) text() string { return string(c.take(c.length())) }

// null reports whether NULL is next, and skips it.
func (c *cursor) null() bool {
	if len(c.rest) == 0 || c.rest[0] != kindLocal {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

// terminated is a text that a zero byte or the end ends.
func (c *cursor) terminated() string {
	for i, b := range c.rest {
		if b == 0 {
			out := string(c.rest[:i])
			c.rest = c.rest[i+1:]
			return out
		}
	}
	out := string(c.rest)
	c.rest = nil
	return out
}
