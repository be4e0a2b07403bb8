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
//
// It has a DuckDB for itself, with little memory: DuckDB holds the rows of a transaction in memory
// as long as its limit allows, so that a few large results would fill that of the runtime. This
// one moves them to a folder. It ends with the writer, and the runtime attaches the file.
type TableWriter struct {
	db       *DB
	table    Table
	in       *instance
	memory   int64 // that its DuckDB may use
	queued   int64 // bytes of rows that are still in the appender
	appender mapping.Appender
}

// Bytes of memory of a [TableWriter]'s DuckDB. A chunk needs more if it is large.
const (
	writerMemory = 64 << 20
	writerQueue  = 8 << 20 // of rows in the appender, which its limit does not count
	writerChunks = 4       // large chunks that fit
)

// CreateTable creates the file of a stored result with an empty table. Close or
// Abort the writer. The file must be in a folder that the database may access.
func (db *DB) CreateTable(ctx context.Context, t Table, columns []Column) (*TableWriter, error) {
	in, err := openBare(Options{TempDir: spillOf(t), Threads: 1, MemoryLimit: bytesText(writerMemory)})
	if err != nil {
		return nil, fmt.Errorf("store the result: %w", err)
	}
	w := &TableWriter{db: db, table: t, in: in, memory: writerMemory}
	err = interruptible(ctx, in.writer, func() error {
		for _, sql := range []string{
			// the minimum: many results are small
			"ATTACH " + Literal(t.Path) + " AS " + Identifier(t.Database) + " (BLOCK_SIZE 16384)",
			"CREATE TABLE " + t.SQL() + " (" + columnList(columns) + ")",
			"BEGIN",
		} {
			if err := in.writer.exec(sql); err != nil {
				return err
			}
		}
		if mapping.AppenderCreateExt(in.writer.raw, t.Database, "main", tableOfResult, &w.appender) != mapping.StateSuccess {
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

// spillOf is the folder to which the writer of a table spills.
func spillOf(t Table) string { return t.Path + ".tmp" }

func bytesText(n int64) string { return fmt.Sprintf("%d bytes", n) }

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
	size := chunk.Size(textSlot)
	if need := writerMemory + writerChunks*size; need > w.memory {
		if err := w.in.writer.exec("SET memory_limit = " + Literal(bytesText(need))); err != nil {
			return fmt.Errorf("store the result: %w", err)
		}
		w.memory = need
	}
	if chunk.raw.Ptr == nil {
		chunk = chunk.inDuckDB()
		defer chunk.Destroy()
	}
	if mapping.AppendDataChunk(w.appender, chunk.raw) != mapping.StateSuccess {
		return w.appenderError()
	}
	if w.queued += size; w.queued < writerQueue {
		return nil
	}
	w.queued = 0
	if mapping.AppenderFlush(w.appender) != mapping.StateSuccess {
		return w.appenderError()
	}
	return nil
}

func (w *TableWriter) appenderError() error {
	return errors.New("store the result: " + w.in.writer.failure(mapping.AppenderError(w.appender)).message)
}

// Close completes the table, which can be read from then on.
func (w *TableWriter) Close() error {
	err := error(nil)
	if mapping.AppenderClose(w.appender) != mapping.StateSuccess {
		err = w.appenderError()
	}
	for _, sql := range []string{
		"COMMIT", "CHECKPOINT " + Identifier(w.table.Database),
		"DETACH " + Identifier(w.table.Database),
	} {
		if err == nil {
			err = w.in.writer.exec(sql)
		}
	}
	w.close()
	if err == nil {
		err = w.db.RestoreTable(context.Background(), w.table)
	}
	if err != nil {
		w.db.DropTable(w.table)
	}
	return err
}

func (w *TableWriter) close() {
	mapping.AppenderDestroy(&w.appender)
	w.in.close(true)
	os.RemoveAll(spillOf(w.table))
}

// Abort discards the table.
func (w *TableWriter) Abort() {
	w.close()
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
