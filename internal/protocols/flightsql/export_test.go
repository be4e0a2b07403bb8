package flightsql

import (
	"time"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
)

// SetClock replaces the clock of tickets, tokens and prepared statements.
func (s *Server) SetClock(now func() time.Time) { s.service.now = now }

// SetStallLimit sets for how long a client may not read, or not send. Call it before Serve.
func (s *Server) SetStallLimit(d time.Duration) { s.service.stallLimit = d }

// SetMaxUnread sets how many bytes clients may leave unread. Call it before Serve.
func (s *Server) SetMaxUnread(n int64) { s.service.maxUnread = n }

// SetIdle sets how long the open transactions may wait for their next statement.
func (s *Server) SetIdle(d time.Duration) {
	for _, tx := range s.service.transactions.all() {
		tx.SetIdle(d)
	}
}

// Unread is how many bytes clients leave unread.
func (s *Server) Unread() int64 { total, _ := s.service.buffers.lent.bytes(""); return total }

// Arriving is how many messages of a principal arrive.
func (s *Server) Arriving(principal string) int { return len(s.service.arriving.of(principal)) }

// Like reports whether a name is like a pattern of Flight SQL.
func Like(pattern, name string) bool { return matches(&pattern, name) }

// The limits that tests reach.
const (
	TicketLife            = ticketLife
	TokenLife             = tokenLife
	PreparedLife          = preparedLife
	MaxPreparedOwner      = maxPreparedOwner
	MaxTransactionsOwner  = maxTransactionsOwner
	MaxPreparedOwnerBytes = maxPreparedOwnerBytes
	MaxBatchBytes         = maxBatchBytes
	MaxErrorText          = maxErrorText
	MaxArriving           = maxArriving
)

// Verify checks the header of an Arrow IPC message.
func Verify(header []byte) error { return arrowipc.Verify(header, paramRules) }
