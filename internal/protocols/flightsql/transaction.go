package flightsql

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// transaction is a transaction that a client has begun: calls name it by its id. It ends with
// EndTransaction. Until a statement changes rows it holds nothing, so a client that begins one
// with its connection, as ADBC does in Python, costs no more than its entry in the table.
//
// Calls have no connection: any of the owner's may continue a transaction. But a client that
// ends leaves its transactions without a word, so what one has changed is undone when the
// connection on which it began closes. The id stays known for ROLLBACK.
type transaction struct {
	engine.Transaction
	id, owner string
	conn      *listen.Conn // on which it began
	lastUse   uint64       // see transactionTable.uses
	stop      func()       // stops waiting for the end of the connection

	ending sync.Mutex
	ended  error // why it takes no statements and no COMMIT; nil: it does
}

// transactionTable holds the transactions that have begun and not ended. Beyond its limits,
// and those of an owner, the one that was not used for the longest time and has changed
// nothing is dropped. The zero value is ready to use.
type transactionTable struct {
	mu   sync.Mutex
	byID map[string]*transaction
	uses uint64 // so far
}

// Errors of transactions.
var (
	errNoTransaction = status.Error(codes.NotFound,
		"the transaction is not known: it has ended, is another caller's, or was dropped for others; begin another with "+
			"BeginTransaction")
	errOpen = status.Error(codes.ResourceExhausted,
		"too many transactions that have changed rows are open; commit or roll back others")
	errPreparedEnded = status.Error(codes.FailedPrecondition,
		"the transaction in which the statement was prepared has ended; prepare it again")
	errConnectionEnded = engine.NewError(errcode.Refused, "roll it back and begin another",
		"the transaction was rolled back: the connection on which it began has ended")
	errCommitFailed = engine.NewError(errcode.Refused, "roll it back and begin another",
		"the transaction has ended: its COMMIT failed")
)

func (t *transactionTable) add(tx *transaction) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = map[string]*transaction{}
	}
	own := func(have *transaction) bool { return have.owner == tx.owner }
	if !t.room(own, maxTransactionsOwner) || !t.room(func(*transaction) bool { return true }, maxTransactions) {
		return errOpen
	}
	t.use(tx)
	t.byID[tx.id] = tx
	return nil
}

// room makes room for one more of the transactions that count, and reports whether there is.
func (t *transactionTable) room(counts func(*transaction) bool, limit int) bool {
	n := 0
	var oldest *transaction
	for _, tx := range t.byID {
		if !counts(tx) {
			continue
		}
		n++
		if tx.Mark() == 0 && (oldest == nil || tx.lastUse < oldest.lastUse) {
			oldest = tx
		}
	}
	if n < limit {
		return true
	}
	if oldest == nil {
		return false
	}
	oldest.stop()
	delete(t.byID, oldest.id)
	return true
}

func (t *transactionTable) use(tx *transaction) {
	t.uses++
	tx.lastUse = t.uses
}

// find returns a transaction of the owner's.
func (t *transactionTable) find(owner string, id []byte) (*transaction, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tx := t.byID[string(id)]
	if tx == nil || tx.owner != owner {
		return nil, errNoTransaction
	}
	t.use(tx)
	return tx, nil
}

func (t *transactionTable) remove(tx *transaction) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, tx.id)
}

// only returns the transaction that an owner began on a connection, if it is the only one.
func (t *transactionTable) only(owner string, conn *listen.Conn) *transaction {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *transaction
	for _, tx := range t.byID {
		if tx.owner == owner && tx.conn == conn {
			if found != nil {
				return nil
			}
			found = tx
		}
	}
	return found
}

// all returns the transactions of the moment.
func (t *transactionTable) all() []*transaction {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]*transaction, 0, len(t.byID))
	for _, tx := range t.byID {
		out = append(out, tx)
	}
	return out
}

// inTransaction returns the transaction that a call names for its statement; nil: none.
func (s *service) inTransaction(ctx context.Context, id []byte) (*engine.Transaction, error) {
	if len(id) == 0 {
		return nil, nil
	}
	tx, err := s.transactions.find(clientOf(ctx).Owner(), id)
	if err != nil {
		return nil, err
	}
	tx.ending.Lock()
	defer tx.ending.Unlock()
	return &tx.Transaction, tx.ended
}

// preparedTransaction returns the transaction of an execution of a prepared statement, which
// is the one that it was prepared in. But ADBC names transactions only when it prepares, and
// Python's cursors keep their statement: what they execute after a COMMIT is part of the
// transaction that their connection began since. A connection of ADBC is one of gRPC and in
// one transaction at a time, so that is known, unless a proxy puts several into one.
func (s *service) preparedTransaction(ctx context.Context, p *prepared) (*engine.Transaction, error) {
	id := p.transaction
	if c := clientOf(ctx); c.adbc && p.conn == connOf(ctx) {
		if now := s.transactions.only(c.Owner(), p.conn); now != nil {
			id = []byte(now.id)
		}
	}
	tx, err := s.inTransaction(ctx, id)
	if errors.Is(err, errNoTransaction) {
		err = errPreparedEnded
	}
	return tx, err
}

func (s *service) beginTransaction(ctx context.Context, _ *pb.ActionBeginTransactionRequest) (proto.Message, error) {
	c := clientOf(ctx)
	tx := &transaction{id: rand.Text(), owner: c.Owner(), conn: connOf(ctx)}
	tx.stop = tx.conn.AfterClose(func() { s.leave(c, tx) })
	if err := s.transactions.add(tx); err != nil {
		tx.stop()
		return nil, err
	}
	return &pb.ActionBeginTransactionResult{TransactionId: []byte(tx.id)}, nil
}

// leave undoes what a transaction has changed whose connection has ended. One that has changed
// nothing may go on.
func (s *service) leave(c *client, tx *transaction) {
	tx.ending.Lock()
	defer tx.ending.Unlock()
	if tx.ended == nil && tx.Mark() > 0 {
		_ = s.end(context.Background(), c, tx, false) // never fails
		tx.ended = errConnectionEnded
	}
}

func (s *service) endTransaction(ctx context.Context, req *pb.ActionEndTransactionRequest) (proto.Message, error) {
	commit := req.GetAction() == pb.ActionEndTransactionRequest_END_TRANSACTION_COMMIT
	if !commit && req.GetAction() != pb.ActionEndTransactionRequest_END_TRANSACTION_ROLLBACK {
		return nil, invalid("EndTransaction needs an action: COMMIT or ROLLBACK")
	}
	c := clientOf(ctx)
	tx, err := s.transactions.find(c.Owner(), req.GetTransactionId())
	if err != nil {
		return nil, err
	}
	tx.ending.Lock()
	defer tx.ending.Unlock()
	if commit && tx.ended != nil {
		return nil, tx.ended
	}
	if err := s.end(ctx, c, tx, commit); err != nil {
		tx.ended = errCommitFailed
		return nil, err
	}
	tx.ended = errNoTransaction
	tx.stop()
	s.transactions.remove(tx)
	return nil, nil
}

// end keeps or undoes what a transaction has changed. The error is that of COMMIT, which kept
// nothing.
func (s *service) end(ctx context.Context, c *client, tx *transaction, commit bool) error {
	text := "ROLLBACK"
	if commit {
		text = "COMMIT"
	}
	req := c.request(text, engine.Params{})
	req.Transaction = &tx.Transaction
	return s.opts.Query.End(ctx, req, commit)
}

// endTransactions undoes what the open transactions have changed, when the server ends.
func (s *service) endTransactions() {
	for _, tx := range s.transactions.all() {
		tx.stop()
		tx.Rollback()
	}
}
