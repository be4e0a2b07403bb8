package postgres

import (
	"bufio"
	"bytes"
	"net"

	"github.com/jackc/pgx/v5/pgproto3"
)

// messageSize is the longest statement that [client.next] reads.
const messageSize = 16 << 10

// client is a connection of DuckDB's extension to the proxy after its start.
type client struct {
	net.Conn
	in    *bufio.Reader // of Conn
	begin string        // the BEGIN of its transaction that no server has run; "": none
}

var (
	scanBegin = []byte("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY\x00")
	scanCopy  = []byte("COPY (SELECT ")
	scanPart  = []byte(" WHERE ctid BETWEEN ")
	scanWhole = []byte("'(0,0)'::tid AND '(4294967295,0)'::tid") // after scanPart: all pages
)

// next waits for a message that needs a server, and does not read it. The error is that the
// client has disconnected.
//
// Each scan of a table has a client. It begins a transaction when the statement starts,
// copies the table once when its turn comes, which for a join of many tables is one after
// the other, and disconnects when the statement ends. If the client had a connection of the
// server all that time, a statement would need one for each table that it names, and
// statements would wait for each other without end. Therefore the BEGIN waits for the COPY,
// and once reports that the client needs no connection after it. The scan of a large table
// is different: it copies parts, and shares its snapshot with others that do.
func (c *client) next() (once bool, err error) {
	for {
		statement, err := c.peek()
		switch {
		case err != nil:
			return false, err
		case !bytes.Equal(statement, scanBegin):
			return c.begin != "" && scansAll(statement), nil
		}
		c.begin = string(bytes.TrimSuffix(statement, []byte{0}))
		if _, err := c.in.Discard(5 + len(statement)); err != nil {
			return false, err
		}
		answer := c.backend()
		answer.Send(&pgproto3.CommandComplete{CommandTag: []byte("BEGIN")})
		answer.Send(&pgproto3.ReadyForQuery{TxStatus: 'T'})
		if err := answer.Flush(); err != nil {
			return false, err
		}
	}
}

// scansAll reports whether a statement copies all that a scan reads, not a part.
func scansAll(statement []byte) bool {
	_, pages, ranged := bytes.Cut(statement, scanPart)
	return bytes.HasPrefix(statement, scanCopy) && (!ranged || bytes.HasPrefix(pages, scanWhole))
}

// peek waits for a message, and returns its text if it is a statement that is not too long.
func (c *client) peek() (statement []byte, err error) {
	head, err := c.in.Peek(5)
	if err != nil {
		return nil, err
	}
	switch size := 1 + length(head); {
	case head[0] == 'X': // Terminate
		return nil, net.ErrClosed
	case head[0] != 'Q' || size > messageSize:
		return nil, nil
	default:
		message, err := c.in.Peek(size)
		return message[min(5, len(message)):], err
	}
}

// refuse answers all statements with an error until the client disconnects. The extension
// ignores the failure of its first statement, and does not report that of a connection that
// ended.
func (c *client) refuse(message string) error {
	for {
		if _, err := c.peek(); err != nil {
			return nil // it has disconnected
		}
		head, err := c.in.Peek(5)
		if err != nil {
			return err
		}
		kind := head[0]
		if _, err := c.in.Discard(1 + length(head)); err != nil {
			return err
		}
		if kind != 'Q' && kind != 'S' { // Query, Sync
			continue
		}
		answer := c.backend()
		answer.Send(&pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "08006", Message: message})
		answer.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if err := answer.Flush(); err != nil {
			return err
		}
	}
}

func (c *client) backend() *pgproto3.Backend { return pgproto3.NewBackend(c.in, c.Conn) }
