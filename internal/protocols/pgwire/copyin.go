package pgwire

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// COPY table FROM STDIN is one INSERT: what the client sends is collected, decoded by the
// types of the table's columns, and read by DuckDB as an [engine.Input]. So it writes all
// rows or none, under the guard, the limits and the audit of every INSERT, to each kind of
// table. The data of a COPY counts as the parameters of the connection do.

// copyIn is a COPY FROM STDIN.
type copyIn struct {
	table   string // as written
	list    string // the columns as written, "" for all
	from    *wire.Copy
	columns []engine.Column // described
}

// insert is the statement that writes the rows.
func (in *copyIn) insert() string {
	input, values := wire.CopyColumns(in.columns)
	list := ""
	if in.list != "" {
		list = " (" + in.list + ")"
	}
	return "INSERT INTO " + in.table + list + " SELECT " + strings.Join(values, ", ") + " FROM " +
		engine.InputFrom(input, engine.ChunkRows)
}

// check refuses columns whose values have no form that PostgreSQL's clients send.
func (in *copyIn) check() error {
	for _, c := range in.columns {
		nested := c.Type == nil || wire.TypeOf(c.Type).OID == pgtype.JSONOID && !c.Type.JSON
		if nested || c.Type.ID == engine.Array {
			return sqlstate.Errorf(sqlstate.Unsupported, "name the other columns: COPY t (a, b) FROM STDIN",
				"COPY FROM does not take column %q: its type is nested", c.Name)
		}
	}
	return nil
}

// run runs the COPY of a plan: what would refuse the INSERT does so before the client
// sends rows.
func (in *copyIn) run(ctx context.Context, c *conn, p *plan) error {
	if err := c.describe(ctx, p); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	insert := &plan{verb: "INSERT", counted: true, copies: copies{input: &engine.Input{}}}
	insert.text, _ = c.rewrite(in.insert()) // search_path
	if err := c.describe(ctx, insert); err != nil {
		return err
	}
	large := &c.in.large
	large.copying = true
	defer func() { large.copying = false }()
	data, err := in.receive(c)
	if err != nil {
		return err
	}
	rows, size, err := wire.ReadCopy(in.from, in.table, wire.Columns(in.columns, c.style(p), false), data)
	if err != nil {
		return err
	}
	if err := c.store.add(size); err != nil {
		return err
	}
	defer func() { c.store.size -= size }()
	insert.input = &engine.Input{Rows: rows}
	portal := &portal{plan: insert}
	defer c.store.closePortal(portal)
	n, _, err := c.advance(ctx, portal, nil, 0)
	if err != nil {
		e := *asError(err)
		e.Where = "COPY " + in.table
		return &e
	}
	c.out.complete("COPY " + strconv.FormatInt(n, 10))
	return nil
}

// receive asks the client for the data and collects it. As the protocol says, Flush and
// Sync are ignored meanwhile.
func (in *copyIn) receive(c *conn) ([]byte, error) {
	response := &pgproto3.CopyInResponse{ColumnFormatCodes: make([]uint16, len(in.columns))}
	if in.from.Format == wire.CopyBinary {
		response.OverallFormat = wire.FormatBinary
		for i := range response.ColumnFormatCodes {
			response.ColumnFormatCodes[i] = wire.FormatBinary
		}
	}
	c.out.send(response)
	if err := c.out.flush(); err != nil {
		return nil, err
	}
	var data bytes.Buffer
	large, counted := &c.in.large, 0 // counted: bytes that have memory
	for {
		m, err := c.backend.Receive()
		if err != nil {
			return nil, leftCopy(readError(err))
		}
		switch m := m.(type) {
		case *pgproto3.CopyData:
			if data.Len()+len(m.Data) > wire.MaxValues {
				return nil, sqlstate.Errorf(sqlstate.Program, "copy the rows in several parts",
					"the data of a COPY FROM can have %d bytes", wire.MaxValues)
			}
			if more := data.Len() + len(m.Data) - counted; large.hold != nil && more > memory.Free {
				if err := large.take(int64(more)); err != nil {
					return nil, readError(err)
				}
				counted += more
			}
			data.Write(m.Data)
		case *pgproto3.CopyDone:
			return data.Bytes(), nil
		case *pgproto3.CopyFail:
			return nil, sqlstate.Errorf(sqlstate.Cancelled, "", "COPY from stdin failed: %s", m.Message)
		case *pgproto3.Flush, *pgproto3.Sync:
		case *pgproto3.Terminate:
			return nil, leftCopy(errClosed)
		default:
			return nil, fatal(sqlstate.Errorf(sqlstate.Protocol, "",
				"a message of type %T was not expected during COPY from stdin", m))
		}
	}
}

// leftCopy is the error of a connection that ends within COPY, which writes nothing.
func leftCopy(err error) error {
	if _, ok := errors.AsType[*sqlstate.Error](err); !ok {
		err = sqlstate.Errorf(sqlstate.Protocol, "", "the client left during COPY from stdin")
	}
	return fatal(err)
}
