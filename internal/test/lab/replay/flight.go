package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// flightClient is a client of Flight SQL with a key.
type flightClient struct {
	*flightsql.Client
	key string
}

func (s *side) flight(_ context.Context, key string) (*flightClient, error) {
	_, address, _ := strings.Cut(s.server.URL("flight"), "://")
	c, err := flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return &flightClient{c, key}, err
}

func (c *flightClient) with(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.key)
}

// rows reads what an info describes.
func (c *flightClient) rows(ctx context.Context, info *flight.FlightInfo, err error) string {
	if err != nil {
		return status.Convert(err).String()
	}
	text := ""
	if schema, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator); err == nil {
		text = schema.String() + "\n"
	}
	for _, endpoint := range info.GetEndpoint() {
		r, err := c.DoGet(ctx, endpoint.GetTicket())
		if err != nil {
			return text + status.Convert(err).String()
		}
		defer r.Release()
		text += r.Schema().String()
		for r.Next() {
			text += recordText(r.RecordBatch())
		}
		if r.Err() != nil {
			text += "\n" + status.Convert(r.Err()).String()
		}
	}
	return text
}

func (c *flightClient) execute(ctx context.Context, statement string) string {
	ctx = c.with(ctx)
	info, err := c.Execute(ctx, statement)
	return c.rows(ctx, info, err)
}

func (c *flightClient) prepared(ctx context.Context, statement string) string {
	return c.executePrepared(ctx, statement, nil)
}

// executePrepared executes with a row of parameters, as JSON by their types.
func (c *flightClient) executePrepared(ctx context.Context, statement string, types []arrow.DataType, values ...string) string {
	ctx = c.with(ctx)
	p, err := c.Prepare(ctx, statement)
	if err != nil {
		return status.Convert(err).String()
	}
	defer p.Close(ctx) //nolint:errcheck // it was executed
	text := fmt.Sprintf("parameters %v\nrows %v\n", p.ParameterSchema(), p.DatasetSchema())
	if len(types) > 0 {
		var fields []arrow.Field
		var columns []arrow.Array
		for i, typ := range types {
			b := array.NewBuilder(memory.DefaultAllocator, typ)
			if values[i] == "" {
				b.AppendNull()
			} else if err := b.AppendValueFromString(values[i]); err != nil {
				return err.Error()
			}
			fields, columns = append(fields, arrow.Field{Name: fmt.Sprint(i + 1), Type: typ, Nullable: true}), append(columns, b.NewArray())
		}
		p.SetParameters(array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, 1))
	}
	info, err := p.Execute(ctx)
	return text + c.rows(ctx, info, err)
}

// update runs a statement that writes.
func (c *flightClient) update(ctx context.Context, statement string) string {
	n, err := c.ExecuteUpdate(c.with(ctx), statement)
	return fmt.Sprintln(n, status.Convert(err))
}

// transaction runs statements that write, and keeps them or not.
func (c *flightClient) transaction(ctx context.Context, keep bool, statements ...string) string {
	ctx = c.with(ctx)
	tx, err := c.BeginTransaction(ctx)
	if err != nil {
		return status.Convert(err).String()
	}
	text := ""
	for _, statement := range statements {
		n, err := tx.ExecuteUpdate(ctx, statement)
		text += fmt.Sprintln(statement, n, status.Convert(err))
	}
	if keep {
		return text + fmt.Sprint(status.Convert(tx.Commit(ctx)))
	}
	return text + fmt.Sprint(status.Convert(tx.Rollback(ctx)))
}

// flightCommands sends what Flight SQL has in addition to statements.
func flightCommands(ctx context.Context, s *side) (all []exchange, err error) {
	for _, key := range []string{writerKey, readerKey, "no-key"} {
		c, err := s.flight(ctx, key)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		add := func(request, answer string) { all = append(all, exchange{key + ": " + request, s.mask(answer)}) }
		ctx := c.with(ctx)
		read := func(name string) func(*flight.FlightInfo, error) {
			return func(info *flight.FlightInfo, err error) { add(name, c.rows(ctx, info, err)) }
		}
		pattern, name, public, number := "p%", "orders", "public", int32(4)
		read("catalogs")(c.GetCatalogs(ctx))
		if key == "no-key" {
			break // each further call would wait longer
		}
		read("schemas")(c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{}))
		read("schemas p%")(c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{DbSchemaFilterPattern: &pattern}))
		read("tables")(c.GetTables(ctx, &flightsql.GetTablesOpts{}))
		read("tables with schemas")(c.GetTables(ctx, &flightsql.GetTablesOpts{IncludeSchema: true, DbSchemaFilterPattern: &public}))
		read("tables p%")(c.GetTables(ctx, &flightsql.GetTablesOpts{TableNameFilterPattern: &pattern}))
		read("views")(c.GetTables(ctx, &flightsql.GetTablesOpts{TableTypes: []string{"VIEW"}}))
		read("table types")(c.GetTableTypes(ctx))
		read("types")(c.GetXdbcTypeInfo(ctx, nil))
		read("a type")(c.GetXdbcTypeInfo(ctx, &number))
		read("SqlInfo")(c.GetSqlInfo(ctx, nil))
		read("some SqlInfo")(c.GetSqlInfo(ctx, []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName, flightsql.SqlInfoFlightSqlServerTransaction, 99999}))
		read("primary keys")(c.GetPrimaryKeys(ctx, flightsql.TableRef{Table: name}))
		read("exported keys")(c.GetExportedKeys(ctx, flightsql.TableRef{Table: name}))
		read("imported keys")(c.GetImportedKeys(ctx, flightsql.TableRef{Table: name}))
		read("cross reference")(c.GetCrossReference(ctx, flightsql.TableRef{Table: name}, flightsql.TableRef{Table: "stock"}))
		schema, err := c.GetExecuteSchema(ctx, "SELECT 1 AS x")
		add("schema of a statement", fmt.Sprint(len(schema.GetSchema()), status.Convert(err)))
		long, text, date, list := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.FixedWidthTypes.Date32, arrow.ListOf(arrow.PrimitiveTypes.Int64)
		for _, p := range []struct {
			statement string
			types     []arrow.DataType
			values    []string
		}{
			{"SELECT $1 + 1 AS x", []arrow.DataType{long}, []string{"41"}},
			{"SELECT ? AS a, ? AS b, ? AS c", []arrow.DataType{long, text, date}, []string{"7", "x", "2026-02-03"}},
			{"SELECT ? AS a", []arrow.DataType{list}, []string{"[1,2,null]"}},
			{"SELECT ? AS a", []arrow.DataType{text}, []string{""}},
			{"SELECT name FROM people WHERE id = $1 OR name = $2 ORDER BY id", []arrow.DataType{long, text}, []string{"1", "Bob"}},
			{"SELECT twice($1) AS t, greeting($2) AS g", []arrow.DataType{long, text}, []string{"4", "Ann"}},
			{"SELECT * FROM people_in($1)", []arrow.DataType{text}, []string{"Oslo"}},
			{"SELECT $2 AS x", []arrow.DataType{long}, []string{"1"}},
			{"SELECT $1 AS x", []arrow.DataType{long, long}, []string{"1", "2"}},
			{"SELECT $1::INT AS x", []arrow.DataType{text}, []string{"many"}},
			{"SELECT $1 AS x", nil, nil},
		} {
			add(fmt.Sprint("prepared ", p.statement, p.values), c.executePrepared(ctx, p.statement, p.types, p.values...))
		}
		for _, statement := range []string{
			"INSERT INTO orders (id, name) VALUES (70, 'seventy')", "INSERT INTO orders (id) VALUES (70)", "UPDATE orders SET price = 7 WHERE id = 70",
			"DELETE FROM orders WHERE id = 70", "DELETE FROM stock", "INSERT INTO people VALUES (9)", "SELECT 1", "CREATE TABLE x (i INT)", "SELEC",
		} {
			add("update: "+statement, c.update(ctx, statement))
		}
		const insert, remove, broken = "INSERT INTO orders (id) VALUES (71)", "DELETE FROM orders WHERE id = 71", "INSERT INTO orders (id) VALUES ('x')"
		add("rollback", c.transaction(ctx, false, insert, broken)+c.execute(ctx, "SELECT count(*) AS n FROM orders"))
		add("commit", c.transaction(ctx, true, insert)+c.execute(ctx, "SELECT count(*) AS n FROM orders")+c.update(ctx, remove))
	}
	return all, nil
}
