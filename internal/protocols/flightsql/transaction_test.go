package flightsql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	flight "github.com/spiced-sql/spiced/internal/protocols/flightsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

const (
	commit   = pb.ActionEndTransactionRequest_END_TRANSACTION_COMMIT
	rollback = pb.ActionEndTransactionRequest_END_TRANSACTION_ROLLBACK
)

const countOrders = "SELECT count(*) AS n FROM orders"

// n is the row of a statement that counts.
func n(n int) string { return fmt.Sprintf("{\"n\":%d}\n", n) }

func begin(t *testing.T, c *flightsql.Client) *flightsql.Txn {
	t.Helper()
	tx, err := c.BeginTransaction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// inside runs a statement of a transaction.
func inside(t *testing.T, c *flightsql.Client, tx *flightsql.Txn, text string) string {
	t.Helper()
	info, err := tx.Execute(t.Context(), text)
	return rows(t, c, t.Context(), info, err)
}

// write runs a statement of a transaction that changes rows.
func write(t *testing.T, tx *flightsql.Txn, text string) {
	t.Helper()
	if _, err := tx.ExecuteUpdate(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func TestTransactions(t *testing.T) {
	h := serve(t)
	c, other := h.client(t), h.client(t)
	for _, how := range []struct {
		commit bool
		left   int
	}{{false, 100}, {true, 90}} {
		tx := begin(t, c)
		if got := inside(t, c, tx, countOrders); got != n(100) {
			t.Error(got)
		}
		write(t, tx, "DELETE FROM orders WHERE id < 10")
		// A query that writes, and a prepared statement with two rows of parameters.
		if got := inside(t, c, tx, "INSERT INTO orders VALUES (1, 2, 'three') RETURNING id"); got != "{\"id\":1}\n" {
			t.Error(got)
		}
		p, err := tx.Prepare(t.Context(), "UPDATE orders SET name = 'x' WHERE id = ?")
		if err != nil {
			t.Fatal(err)
		}
		p.SetParameters(record(t, `[{"a": 20}, {"a": 21}]`, field("a", arrow.PrimitiveTypes.Int64)))
		if changed, err := p.ExecuteUpdate(t.Context()); changed != 2 || err != nil {
			t.Errorf("%d rows, %v", changed, err)
		}
		write(t, tx, "DELETE FROM orders WHERE name = 'x' AND id = 20")
		if got := inside(t, c, tx, countOrders); got != n(90) {
			t.Errorf("inside: %s", got)
		}
		if got := sql(t, other, countOrders) + sql(t, c, countOrders); got != n(100)+n(100) {
			t.Errorf("outside: %s", got)
		}
		late, err := tx.Execute(t.Context(), "INSERT INTO orders VALUES (1, 2, 'late') RETURNING id")
		if err != nil {
			t.Fatal(err)
		}
		ended := tx.ID()
		if how.commit {
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if got := sql(t, other, countOrders); err != nil || got != n(how.left) {
			t.Errorf("after the end: %s, %v", got, err)
		}
		// What names a transaction that has ended fails, however it does.
		_, _, err = read(t.Context(), c, late)
		wantCode(t, err, codes.NotFound, "the transaction is not known")
		_, err = p.ExecuteUpdate(t.Context())
		wantCode(t, err, codes.FailedPrecondition, "the transaction in which the statement was prepared has ended")
		wantCode(t, end(t, t.Context(), c, ended, commit), codes.NotFound, "the transaction is not known")
	}
	h.idle(t)
}

// end sends EndTransaction.
func end(t *testing.T, ctx context.Context, c *flightsql.Client, id []byte, action pb.ActionEndTransactionRequest_EndTransaction) error {
	t.Helper()
	body := mustAny(t, &pb.ActionEndTransactionRequest{TransactionId: id, Action: action})
	stream, err := c.Client.DoAction(ctx, &arrowflight.Action{Type: flightsql.EndTransactionActionType, Body: body})
	if err != nil {
		return err
	}
	return arrowflight.ReadUntilEOF(stream)
}

func TestTransactionsOfOthers(t *testing.T) {
	c := serve(t, withKeys(t)).client(t)
	owner, other := with(t, "x-api-key", webKey, "x-spiced-user", "ann"), with(t, "x-api-key", webKey, "x-spiced-user", "bob")
	tx, err := c.BeginTransaction(owner)
	if err != nil {
		t.Fatal(err)
	}
	const unknown = "the transaction is not known"
	_, err = tx.Execute(other, "SELECT 1")
	wantCode(t, err, codes.NotFound, unknown)
	_, err = tx.Prepare(other, "SELECT 1")
	wantCode(t, err, codes.NotFound, unknown)
	_, err = tx.ExecuteUpdate(other, "DELETE FROM orders")
	wantCode(t, err, codes.NotFound, unknown)
	wantCode(t, end(t, other, c, tx.ID(), rollback), codes.NotFound, unknown)
	wantCode(t, end(t, owner, c, []byte("nosuch"), rollback), codes.NotFound, unknown)
	wantCode(t, end(t, owner, c, tx.ID(), pb.ActionEndTransactionRequest_END_TRANSACTION_UNSPECIFIED), codes.InvalidArgument, "COMMIT or ROLLBACK")
	_, err = tx.BeginSavepoint(owner, "s")
	wantCode(t, err, codes.Unimplemented, "DuckDB has none")
	if err := end(t, owner, c, tx.ID(), rollback); err != nil {
		t.Error(err)
	}
}

// TestTransactionsOfClientsThatLeave has one that closes its connection. Another connection of
// the same caller learns that the changes are undone.
func TestTransactionsOfClientsThatLeave(t *testing.T) {
	h := serve(t)
	c, other := h.client(t), h.client(t)
	wrote, idle := begin(t, c), begin(t, c)
	write(t, wrote, "DELETE FROM orders")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	const ended = "the connection on which it began has ended"
	wait.Until(t, "the changes are undone", func() bool {
		return strings.Contains(status.Convert(end(t, t.Context(), other, wrote.ID(), commit)).Message(), ended)
	})
	if got := sql(t, other, countOrders); got != n(100) {
		t.Error(got)
	}
	_, err := other.Client.GetFlightInfo(t.Context(), &arrowflight.FlightDescriptor{
		Type: arrowflight.DescriptorCMD, Cmd: mustAny(t, &pb.CommandStatementQuery{Query: countOrders, TransactionId: wrote.ID()}),
	})
	wantCode(t, err, codes.PermissionDenied, ended)
	for _, tx := range []*flightsql.Txn{wrote, idle} {
		if err := end(t, t.Context(), other, tx.ID(), rollback); err != nil {
			t.Error(err)
		}
	}
	h.idle(t)
}

// TestTransactionsThatWait has one that changes rows and then waits for too long.
func TestTransactionsThatWait(t *testing.T) {
	h := serve(t)
	c := h.client(t)
	tx := begin(t, c)
	h.server.SetIdle(time.Millisecond)
	write(t, tx, "DELETE FROM orders")
	wait.Until(t, "the changes are undone", func() bool {
		_, err := tx.ExecuteUpdate(t.Context(), "INSERT INTO orders VALUES (1, 2, 'three')")
		return status.Code(err) == codes.DeadlineExceeded
	})
	id := tx.ID()
	wantCode(t, tx.Commit(t.Context()), codes.DeadlineExceeded, "it was idle for more than 1ms")
	wantCode(t, end(t, t.Context(), c, id, commit), codes.PermissionDenied, "its COMMIT failed")
	if err := end(t, t.Context(), c, id, rollback); err != nil {
		t.Error(err)
	}
	if got := sql(t, c, countOrders); got != n(100) {
		t.Error(got)
	}
}

// TestTransactionsAreBounded has more than an owner may have. The oldest that has changed
// nothing makes room.
func TestTransactionsAreBounded(t *testing.T) {
	c := serve(t).client(t)
	oldest, next := begin(t, c), begin(t, c)
	write(t, oldest, "DELETE FROM orders WHERE id < 10")
	for range flight.MaxTransactionsOwner - 1 {
		begin(t, c)
	}
	_, err := next.Execute(t.Context(), countOrders)
	wantCode(t, err, codes.NotFound, "the transaction is not known")
	if err := oldest.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if got := sql(t, c, countOrders); got != n(90) {
		t.Error(got)
	}
}

// TestTransactionsEndWithTheServer has one that is open when the server closes.
func TestTransactionsEndWithTheServer(t *testing.T) {
	h := serve(t)
	write(t, begin(t, h.client(t)), "DELETE FROM orders")
	h.server.Close()
	wait.Until(t, "the changes are undone", func() bool { return h.db.Stats() == (engine.Stats{}) })
}

// TestTransactionsOfPreparedStatements has ADBC, which executes a statement in transactions
// that began after it was prepared.
func TestTransactionsOfPreparedStatements(t *testing.T) {
	h := serve(t)
	c := h.client(t, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent("ADBC Flight SQL Driver - Go 1.0"))
	p, err := c.Prepare(t.Context(), "DELETE FROM orders WHERE id < 10")
	if err != nil {
		t.Fatal(err)
	}
	execute := func(want int64) {
		t.Helper()
		if n, err := p.ExecuteUpdate(t.Context()); n != want || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
	}
	for range 2 {
		tx := begin(t, c)
		execute(10)
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := sql(t, c, countOrders); got != n(100) {
			t.Errorf("after ROLLBACK: %s", got)
		}
	}
	// Of two transactions of the connection it is not known which is meant.
	first, _ := begin(t, c), begin(t, c)
	if p, err = first.Prepare(t.Context(), "DELETE FROM orders WHERE id < 10"); err != nil {
		t.Fatal(err)
	}
	execute(10)
	query, err := first.Prepare(t.Context(), countOrders)
	if err != nil {
		t.Fatal(err)
	}
	info, err := query.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	begin(t, c)
	if err := first.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = p.ExecuteUpdate(t.Context())
	wantCode(t, err, codes.FailedPrecondition, "prepare it again")
	r, err := c.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err == nil {
		defer r.Release()
		for r.Next() {
		}
		err = r.Err()
	}
	wantCode(t, err, codes.FailedPrecondition, "prepare it again")
}
