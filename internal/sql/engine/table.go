package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// TableWriter fills the table of a stored result. It is used by one goroutine.
type TableWriter struct {
	db       *DB
	table    Table
	c        *conn
	appender mapping.Appender
}

// CreateTable creates the file of a stored result with an empty table. Close or
// Abort the writer. The file must be in a folder that the database may access.
func (db *DB) CreateTable(ctx context.Context, t Table, columns []Column) (*TableWriter, error) {
	c, err := db.connect("")
	if err != nil {
		return nil, err
	}
	w := &TableWriter{db: db, table: t, c: c}
	err = interruptible(ctx, c, func() error {
		for _, sql := range []string{
			"ATTACH " + Literal(t.Path) + " AS " + Identifier(t.Database) + " (BLOCK_SIZE 16384)", // the minimum: many results are small
			"CREATE TABLE " + t.SQL() + " (" + columnList(columns) + ")",
		} {
			if err := c.exec(sql); err != nil {
				return err
			}
		}
		if mapping.AppenderCreateExt(c.raw, t.Database, "main", tableOfResult, &w.appender) != mapping.StateSuccess {
			return w.appenderError()
		}
		return nil
	})
	if err != nil {
		w.Abort()
		return nil, fmt.Errorf("store the result: %w", err)
	}
	return w, nil
}

// columnList declares columns; repeated names get a number.
func columnList(columns []Column) string {
	seen := map[string]bool{}
	list := make([]string, len(columns))
	for i, c := range columns {
		name := c.Name
		for n := 1; name == "" || seen[sqltree.Fold(name)]; n++ {
			name = fmt.Sprintf("%s_%d", c.Name, n)
		}
		seen[sqltree.Fold(name)] = true
		list[i] = Identifier(name) + " " + c.Type.String()
	}
	return strings.Join(list, ", ")
}

// Append adds the rows of a chunk.
func (w *TableWriter) Append(chunk *Chunk) error {
	if chunk.raw.Ptr == nil {
		chunk = chunk.inDuckDB()
		defer chunk.Destroy()
	}
	if mapping.AppendDataChunk(w.appender, chunk.raw) != mapping.StateSuccess {
		return w.appenderError()
	}
	return nil
}

func (w *TableWriter) appenderError() error {
	return errors.New("store the result: " + w.c.failure(mapping.AppenderError(w.appender)).message)
}

// Close completes the table, which can be read from then on.
func (w *TableWriter) Close() error {
	err := error(nil)
	if mapping.AppenderClose(w.appender) != mapping.StateSuccess {
		err = w.appenderError()
	}
	mapping.AppenderDestroy(&w.appender)
	if err == nil {
		err = w.db.AttachReadOnly(context.Background(), w.table.Database, w.table.Path, w.table.Database)
	}
	if err != nil {
		w.Abort()
		return err
	}
	w.c.close()
	return nil
}

// Abort discards the table.
func (w *TableWriter) Abort() {
	if w.appender.Ptr != nil {
		mapping.AppenderDestroy(&w.appender)
	}
	w.c.close()
	w.db.DropTable(w.table)
}

// RestoreTable attaches a stored result again after [DB.Renew].
func (db *DB) RestoreTable(ctx context.Context, t Table) error {
	return db.Exec(ctx, "ATTACH IF NOT EXISTS "+Literal(t.Path)+" AS "+Identifier(t.Database)+" (READ_ONLY)")
}

// DropTable detaches a stored result that no one reads any more and removes its
// file.
func (db *DB) DropTable(t Table) {
	// It is attached unless its creation failed.
	_ = db.Exec(context.Background(), "DETACH DATABASE IF EXISTS "+Identifier(t.Database))
	os.Remove(t.Path)
	os.Remove(t.Path + ".wal")
}
