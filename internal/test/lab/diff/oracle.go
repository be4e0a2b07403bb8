package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	rows "github.com/spiced-sql/spiced/internal/sql/format"
)

// oracle is plain DuckDB: a database of its own, no guard, no rewriting, no plan that is
// used twice.
type oracle struct {
	db   *engine.DB
	made int
}

func newOracle(ctx context.Context) (*oracle, error) {
	db, err := engine.Open(ctx, engine.Options{})
	if err != nil {
		return nil, err
	}
	return &oracle{db: db}, nil
}

func (o *oracle) exec(ctx context.Context, sql string) error {
	if err := o.db.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%.300s: %w", sql, err)
	}
	return nil
}

// forms of a result, as protocols deliver it.
const (
	formJSON   = "json"
	formArrow  = "arrow"
	formText   = "text"   // of PostgreSQL
	formBinary = "binary" // of PostgreSQL
)

// result is what a statement returns: its columns in one line, and a line for each row.
type result struct {
	columns string
	rows    []string
}

// query runs a statement and returns its result in each form.
func (o *oracle) query(ctx context.Context, sql string) (map[string]result, error) {
	o.made++
	answer, err := o.db.Query(ctx, engine.Request{SQL: fmt.Sprintf("%s -- %d", sql, o.made), Trusted: true})
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	var asJSON, asArrow bytes.Buffer
	jsonForm, _ := rows.ByName("json")
	arrowForm, _ := rows.ByName("arrow")
	writers := []rows.Writer{jsonForm.NewWriter(&asJSON), arrowForm.NewWriter(&asArrow)}
	pg := []*postgresRows{newPostgresRows(answer.Columns(), wire.FormatText), newPostgresRows(answer.Columns(), wire.FormatBinary)}
	for _, w := range writers {
		if err := w.Begin(answer.Columns()); err != nil {
			return nil, err
		}
	}
	for chunk, err := range answer.Chunks() {
		if err != nil {
			return nil, err
		}
		for _, w := range writers {
			if err := w.Write(chunk); err != nil {
				return nil, err
			}
		}
		for _, p := range pg {
			if err := p.add(chunk); err != nil {
				return nil, err
			}
		}
	}
	for _, w := range writers {
		if err := w.End(); err != nil {
			return nil, err
		}
	}
	out := map[string]result{formText: pg[0].result, formBinary: pg[1].result}
	if out[formJSON], err = jsonRows(asJSON.Bytes()); err != nil {
		return nil, err
	}
	out[formArrow], err = arrowRows(&asArrow)
	return out, err
}

// jsonRows are the rows of a JSON array.
func jsonRows(text []byte) (result, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return result{}, fmt.Errorf("%.200s: %w", text, err)
	}
	r := result{}
	for _, row := range all {
		r.rows = append(r.rows, string(row))
	}
	return r, nil
}

// arrowRows are the rows of an Arrow stream.
func arrowRows(stream *bytes.Buffer) (result, error) {
	reader, err := ipc.NewReader(stream)
	if err != nil {
		return result{}, err
	}
	defer reader.Release()
	r := result{columns: schemaText(reader.Schema())}
	for reader.Next() {
		r.rows = appendRecords(r.rows, reader.RecordBatch())
	}
	return r, reader.Err()
}

func schemaText(s *arrow.Schema) string {
	var fields []string
	for _, f := range s.Fields() {
		fields = append(fields, f.Name+" "+f.Type.String())
	}
	return strings.Join(fields, ", ")
}

func appendRecords(to []string, batch arrow.RecordBatch) []string {
	for row := range int(batch.NumRows()) {
		var values []string
		for _, c := range batch.Columns() {
			values = append(values, arrowValue(c, row))
		}
		to = append(to, strings.Join(values, " | "))
	}
	return to
}

func arrowValue(c arrow.Array, row int) string {
	if c.IsNull(row) {
		return "NULL"
	}
	if u, ok := c.(array.Union); ok { // its ValueStr has no value
		return fmt.Sprintf("%d:%s", u.TypeCode(row), arrowValue(u.Field(u.ChildID(row)), row))
	}
	return fmt.Sprintf("%q", c.ValueStr(row))
}

// postgresRows encodes rows as the PostgreSQL protocol does.
type postgresRows struct {
	result
	encoder *wire.Rows
}

func newPostgresRows(columns []engine.Column, format int16) *postgresRows {
	known := wire.Columns(columns, wire.Style{}, false)
	formats := make([]int16, len(known))
	var names []string
	for i, c := range known {
		formats[i] = format
		names = append(names, fmt.Sprintf("%s %d", c.Name, c.Type.OID))
	}
	return &postgresRows{result{columns: strings.Join(names, ", ")}, wire.NewRows(known, columns, formats, wire.Style{})}
}

func (p *postgresRows) add(chunk *engine.Chunk) error {
	for from := 0; from < chunk.Len(); {
		buf, next, err := p.encoder.Append(nil, chunk, from, min(from+1, chunk.Len()))
		if err != nil {
			return err
		}
		var row pgproto3.DataRow
		if err := row.Decode(buf[5:]); err != nil {
			return err
		}
		p.rows = append(p.rows, postgresRow(row.Values))
		from = next
	}
	return nil
}

func postgresRow(values [][]byte) string {
	var out []string
	for _, v := range values {
		if v == nil {
			out = append(out, "NULL")
			continue
		}
		out = append(out, fmt.Sprintf("%q", v))
	}
	return strings.Join(out, " | ")
}

// equal compares results: as lists if the rows have one order, else as multisets.
func (r result) equal(other result, ordered bool) bool {
	if r.columns != other.columns {
		return false
	}
	a, b := r.rows, other.rows
	if !ordered {
		a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	}
	return slices.Equal(a, b)
}
