package flightsql_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// TestArrowTypes has the types that a client asks for: plain ones for clients in Java,
// whose JDBC driver misreads the exact ones, unless the header names others.
func TestArrowTypes(t *testing.T) {
	c := serve(t).client(t)
	java := serve(t).client(t, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent("grpc-java-netty/1.71.0"))
	const text = "SELECT 200::UTINYINT AS a, 60000::USMALLINT AS b, 4000000000::UINTEGER AS c, 18446744073709551615::UBIGINT AS d, 'y'::ENUM('x', 'y') AS e, " +
		"[200::UTINYINT] AS f"
	const (
		exact = "uint8 uint16 uint32 uint64 dictionary<values=utf8, indices=uint8, ordered=false> list<item: uint8, nullable>"
		plain = "int16 int32 int64 decimal(20, 0) utf8 list<item: int16, nullable>"
		ask   = "x-spiced-arrow-types"
	)
	for _, test := range []struct {
		c           *flightsql.Client
		asked, want string
	}{{c, "", exact}, {c, "exact", exact}, {c, "plain", plain}, {java, "", plain}, {java, "exact", exact}, {java, "plain", plain}} {
		ctx := t.Context()
		if test.asked != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, ask, test.asked)
		}
		info, err := test.c.Execute(ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		// The types are those of the ticket, whoever reads it.
		schema, batches, err := read(t.Context(), test.c, info)
		if err != nil || !schema.Equal(mustSchema(t, info.GetSchema())) {
			t.Errorf("%q: %v: the schema is %s, announced was %s", test.asked, err, schema, mustSchema(t, info.GetSchema()))
			continue
		}
		var types []string
		for _, f := range schema.Fields() {
			types = append(types, f.Type.String())
		}
		if got := strings.Join(types, " "); got != test.want {
			t.Errorf("%q: the types are %s; want %s", test.asked, got, test.want)
		}
		var values []string
		for _, column := range batches[0].Columns() {
			values = append(values, column.ValueStr(0))
		}
		if got := strings.Join(values, " "); got != "200 60000 4000000000 18446744073709551615 y [200]" {
			t.Errorf("%q: the values are %s", test.asked, got)
		}
		p, err := test.c.Prepare(ctx, "SELECT ?::UTINYINT AS a")
		if err != nil {
			t.Fatal(err)
		}
		one, _, _ := strings.Cut(test.want, " ")
		if got := p.DatasetSchema().Field(0).Type.String() + " " + p.ParameterSchema().Field(0).Type.String(); got != one+" "+one {
			t.Errorf("%q: the prepared statement has %s; want %s", test.asked, got, one)
		}
	}
	_, err := c.Execute(metadata.AppendToOutgoingContext(t.Context(), ask, "signed"), text)
	wantCode(t, err, codes.InvalidArgument, `x-spiced-arrow-types must be plain or exact, got "signed"`)
}

func mustSchema(t *testing.T, raw []byte) *arrow.Schema {
	t.Helper()
	schema, err := arrowflight.DeserializeSchema(raw, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestWritesOfClientsThatReportNoTransactions has a client like the driver for JDBC, whose
// rollback does not reach the server.
func TestWritesOfClientsThatReportNoTransactions(t *testing.T) {
	c := serve(t).client(t, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent("grpc-java-netty/1.71.0"))
	const remove = "DELETE FROM orders WHERE id < 10"
	if got := sql(t, c, "SELECT count(*) AS n FROM orders"); got != `{"n":100}`+"\n" {
		t.Error(got)
	}
	_, err := c.ExecuteUpdate(t.Context(), remove)
	wantCode(t, err, codes.FailedPrecondition, "set x-spiced-autocommit=true in the URL")
	_, err = c.Prepare(t.Context(), remove)
	wantCode(t, err, codes.FailedPrecondition, "writes are committed at once")
	_, err = c.Execute(t.Context(), remove+" RETURNING id")
	wantCode(t, err, codes.FailedPrecondition, "writes are committed at once")
	with := func(value string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "x-spiced-autocommit", value)
	}
	_, err = c.ExecuteUpdate(with("false"), remove)
	wantCode(t, err, codes.InvalidArgument, `x-spiced-autocommit must be true, got "false"`)
	if n, err := c.ExecuteUpdate(with("true"), remove); n != 10 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestTransactionsOfJava has what clients ask before they begin a transaction: the driver for
// JDBC begins none, others in Java may.
func TestTransactionsOfJava(t *testing.T) {
	h := serve(t)
	c := h.client(t)
	java := h.client(t, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent("grpc-java-netty/1.71.0"))
	for c, want := range map[*flightsql.Client]string{c: "1 true", java: "0 false"} {
		info, err := c.GetSqlInfo(t.Context(), []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerTransaction, flightsql.SqlInfoTransactionsSupported})
		if err != nil {
			t.Fatal(err)
		}
		_, batches, err := read(t.Context(), c, info)
		if err != nil {
			t.Fatal(err)
		}
		values := batches[0].Column(1).(*array.DenseUnion)
		got := values.Field(3).ValueStr(0) + " " + values.Field(1).ValueStr(0)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	tx := begin(t, java)
	write(t, tx, "DELETE FROM orders WHERE id < 10")
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if got := sql(t, java, countOrders); got != n(90) {
		t.Error(got)
	}
}
