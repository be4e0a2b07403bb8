package mysql

import (
	"errors"
	"io"
)

// result follows the packets of an answer with rows, or without, in a stream.
type result struct {
	head  [4]byte // of a packet
	have  int     // bytes of head; 4: the first byte of the payload is next
	left  int     // bytes of the payload after its first
	full  bool    // the packet continues in the next
	phase phase
}

type phase int

const (
	begins phase = iota
	columns
	rows
	ended
)

// scan reads on, and returns how many bytes are of the answer.
func (r *result) scan(p []byte) (n int) {
	for n < len(p) && !r.done() {
		if r.left > 0 {
			some := min(r.left, len(p)-n)
			r.left -= some
			n += some
			continue
		}
		if r.have < len(r.head) {
			some := copy(r.head[r.have:], p[n:])
			r.have += some
			n += some
			if r.have < len(r.head) {
				return n
			}
			if length(r.head[:]) > 0 {
				continue
			}
			r.packet(0, 0)
			continue
		}
		r.packet(length(r.head[:]), p[n])
		n++
	}
	return n
}

// packet begins a packet.
func (r *result) packet(size int, kind byte) {
	continued := r.full
	r.full, r.have, r.left = size == fullPacket, 0, max(size-1, 0)
	switch {
	case continued || size == 0:
	case kind == kindError, r.phase == begins && (kind == kindOK || kind == kindLocal):
		r.phase = ended
	case r.phase == begins:
		r.phase = columns
	case kind == kindEOF && size < 9:
		r.phase++
	}
}

func (r *result) done() bool { return r.phase == ended && r.left == 0 && r.have == 0 && !r.full }

// errEnded is the error of an answer that the server does not complete.
var errEnded = errors.New("the MySQL server ended the connection")

// copyResult copies an answer from a server to DuckDB.
func copyResult(client io.Writer, server io.Reader, buffer []byte) (fromServer, toClient error) {
	var r result
	for !r.done() {
		n, err := server.Read(buffer)
		answer := r.scan(buffer[:n])
		if _, err := client.Write(buffer[:answer]); err != nil {
			return nil, err
		}
		if answer < n {
			return errPacket, nil
		}
		if err != nil && !r.done() {
			return errEnded, nil
		}
	}
	return nil, nil
}
