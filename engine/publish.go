package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/sqltree"
)

// Tx is the write transaction that makes a generation. It lives as long as the
// function it is given to and is used by one goroutine. An error that DuckDB
// meets while it runs a statement, not while it binds one, ends the
// transaction.
type Tx struct {
	session
	committed []func()
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
	tx := &Tx{session: session{db.writer}}
	if err := tx.Exec("BEGIN TRANSACTION"); err != nil {
		return err
	}
	if err := db.build(ctx, tx, build); err != nil {
		return errors.Join(err, db.writer.exec("ROLLBACK"))
	}
	// DuckDB takes COMMIT for an aborted transaction and rolls it back.
	if err := tx.Exec("SELECT 1"); err != nil {
		return errors.Join(err, db.writer.exec("ROLLBACK"))
	}
	if err := db.commitCatalog(next); err != nil {
		return err
	}
	for _, f := range tx.committed {
		f()
	}
	return nil
}

// build runs f in tx. A panic of f rolls back, so that the writer stays usable,
// and goes on.
func (db *DB) build(ctx context.Context, tx *Tx, f func(*Tx) error) error {
	returned := false
	defer func() {
		if !returned {
			_ = db.writer.exec("ROLLBACK")
		}
	}()
	err := interruptible(ctx, db.writer, func() error { return f(tx) })
	returned = true
	return err
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
	next.gone = func() { db.drain.remove(next.serial) }
	db.drain.add(next.serial)
	db.current = next
	if next.published != nil {
		next.published()
	}
	db.epoch.Add(1)
	db.commit.Unlock()
	for _, p := range db.pools {
		p.forgetBefore(next.serial)
	}
	if last != nil {
		last.release()
	}
	return nil
}

// insertBatch is how many rows one INSERT carries.
const insertBatch = 1024

// Insert adds rows to a table, column by column in its order. Values are nil,
// bool, int, int64, float64, string, []string or time.Time. They travel as one
// JSON text: DuckDB reads that many times faster than a list of literals.
func (tx *Tx) Insert(schema, table string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	name := Qualified(schema, table)
	columns, err := tx.Describe("SELECT * FROM " + name)
	if err != nil {
		return fmt.Errorf("insert into %s.%s: %w", schema, table, err)
	}
	types, fields := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		types[i] = fmt.Sprintf("%q:%q", columnKey(i), c.Type)
		if c.Type.ID == List {
			types[i] = fmt.Sprintf("%q:[%q]", columnKey(i), c.Type.Elem)
		}
		fields[i] = "r." + columnKey(i)
	}
	for batch := range slices.Chunk(rows, insertBatch) {
		text, err := rowsJSON(batch)
		if err != nil {
			return fmt.Errorf("insert into %s.%s: %w", schema, table, err)
		}
		err = tx.Exec("INSERT INTO " + name + " SELECT " + strings.Join(fields, ", ") +
			" FROM (SELECT unnest(from_json(" + Literal(text) + ", " + Literal("[{"+strings.Join(types, ",")+"}]") + ")) AS r)")
		if err != nil {
			return fmt.Errorf("insert into %s.%s: %w", schema, table, err)
		}
	}
	return nil
}

func columnKey(i int) string { return "c" + strconv.Itoa(i) }

// rowsJSON is rows as a JSON array of objects with the keys of columnKey.
func rowsJSON(rows [][]any) (string, error) {
	list := make([]map[string]any, len(rows))
	for i, row := range rows {
		list[i] = make(map[string]any, len(row))
		for j, v := range row {
			if t, ok := v.(time.Time); ok {
				v = t.UTC().Format("2006-01-02 15:04:05.999999")
			}
			if v != nil {
				list[i][columnKey(j)] = v
			}
		}
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// Parse returns DuckDB's reading of a SELECT-like text of ours. A text that is
// none is an [*Error].
func (db *DB) Parse(ctx context.Context, text string) (*sqltree.Statement, error) {
	tokens, err := db.checkText(text)
	if err != nil {
		return nil, err
	}
	pool, err := db.poolFor(ctx)
	if err != nil {
		return nil, err
	}
	c, err := pool.get(ctx)
	if err != nil {
		return nil, err
	}
	defer pool.put(c)
	return parse(c, plainText(text, tokens))
}

// publicError makes DuckDB's error about sql an [*Error].
func publicError(err error, sql string) error {
	var e *duckError
	if errors.As(err, &e) {
		return e.describe(sql, func(offset int) int { return offset })
	}
	return err
}
