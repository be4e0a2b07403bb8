package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/sqltree"
)

// Tx is the write transaction that makes a generation. It lives as long as the
// function it is given to and is used by one goroutine.
type Tx struct {
	db  *DB
	c   *conn
	ctx context.Context
}

// Publish runs build in a transaction and makes its changes and next visible
// to new statements in one step; statements that run keep what they see. When
// build fails, or ctx ends, nothing has changed. Publications run one at a
// time; an error of DuckDB's is an [*Error].
func (db *DB) Publish(ctx context.Context, next *Catalog, build func(*Tx) error) error {
	db.write.Lock()
	defer db.write.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	tx := &Tx{db: db, c: db.writer, ctx: ctx}
	if err := tx.Exec("BEGIN TRANSACTION"); err != nil {
		return err
	}
	if err := tx.run(build); err != nil {
		return errors.Join(err, db.writer.exec("ROLLBACK"))
	}
	return db.commitCatalog(next)
}

// run calls build, and interrupts what it runs when the context ends.
func (tx *Tx) run(build func(*Tx) error) error {
	i := &interrupter{raw: tx.c.raw}
	stop := context.AfterFunc(tx.ctx, i.run)
	defer i.stop()
	defer stop()
	if err := build(tx); err != nil {
		return err
	}
	return tx.ctx.Err()
}

// commitCatalog ends the transaction and swaps the catalog. A statement that
// was being bound meanwhile sees the epoch change and binds again.
func (db *DB) commitCatalog(next *Catalog) error {
	db.commit.Lock()
	db.epoch.Add(1)
	if err := db.writer.exec("COMMIT"); err != nil {
		db.epoch.Add(1)
		db.commit.Unlock()
		return fmt.Errorf("commit generation %d: %w", next.Generation, err)
	}
	last := db.current
	next.serial = db.serial.Add(1)
	next.users.Add(1) // the database's own use
	db.current = next
	db.epoch.Add(1)
	db.commit.Unlock()
	if last != nil {
		last.release()
	}
	return nil
}

// Exec runs one statement of ours; it is not guarded.
func (tx *Tx) Exec(sql string) error {
	return publicError(tx.c.exec(sql), sql)
}

// Describe returns the columns that sql, a SELECT, would have, as the
// transaction sees the catalog, without running it. An error has its offset
// in sql.
func (tx *Tx) Describe(sql string) ([]Column, error) {
	var raw mapping.PreparedStatement
	defer mapping.DestroyPrepare(&raw)
	if mapping.Prepare(tx.c.raw, sql, &raw) != mapping.StateSuccess {
		return nil, publicError(newDuckError(mapping.PrepareError(raw)), sql)
	}
	s := stmt{raw: raw}
	s.describe()
	return s.columns, nil
}

// Query runs a SELECT of ours in the transaction and calls f with every chunk.
func (tx *Tx) Query(sql string, f func(*Chunk) error) error {
	return publicError(tx.c.each(sql, f), sql)
}

// insertBatch is how many rows one INSERT carries.
const insertBatch = 256

// Insert adds rows to a table, column by column in its order. Values are nil,
// bool, int, int64, float64, string, []string or time.Time.
func (tx *Tx) Insert(schema, table string, rows [][]any) error {
	for batch := range slices.Chunk(rows, insertBatch) {
		var sql strings.Builder
		sql.WriteString("INSERT INTO " + Qualified(schema, table) + " VALUES ")
		for i, row := range batch {
			if i > 0 {
				sql.WriteString(", ")
			}
			sql.WriteString("(")
			for j, value := range row {
				if j > 0 {
					sql.WriteString(", ")
				}
				sql.WriteString(literalOf(value))
			}
			sql.WriteString(")")
		}
		if err := tx.Exec(sql.String()); err != nil {
			return fmt.Errorf("insert into %s.%s: %w", schema, table, err)
		}
	}
	return nil
}

// literalOf renders a Go value as a SQL literal.
func literalOf(v any) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return Literal(strconv.FormatFloat(v, 'g', -1, 64)) + "::DOUBLE"
	case string:
		return Literal(v)
	case time.Time:
		return Literal(v.UTC().Format("2006-01-02 15:04:05.999999")) + "::TIMESTAMP"
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = Literal(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]::VARCHAR[]"
	}
	return "NULL"
}

// Exec runs one statement of ours outside any generation, on a connection of
// its own: attaching, loading and detaching data. It is not guarded; ctx
// interrupts it. Several may run at once.
func (db *DB) Exec(ctx context.Context, sql string) error {
	c, err := db.connect(searchPath)
	if err != nil {
		return err
	}
	defer c.close()
	i := &interrupter{raw: c.raw}
	stop := context.AfterFunc(ctx, i.run)
	defer i.stop()
	defer stop()
	err = publicError(c.exec(sql), sql)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Parse returns DuckDB's reading of a SELECT-like text of ours. A text that is
// none is an [*Error].
func (db *DB) Parse(ctx context.Context, text string) (*sqltree.Statement, error) {
	if _, err := db.checkText(text); err != nil {
		return nil, err
	}
	c, err := db.pool.get(ctx)
	if err != nil {
		return nil, err
	}
	defer db.pool.put(c)
	return parse(c, text)
}

// publicError makes DuckDB's error about sql an [*Error].
func publicError(err error, sql string) error {
	var e *duckError
	if errors.As(err, &e) {
		return e.describe(sql, func(offset int) int { return offset })
	}
	return err
}
