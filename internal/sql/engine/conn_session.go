package engine

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// session runs internal SQL on one connection, unguarded.
type session struct{ c *conn }

// Exec runs one internal statement, which is not guarded.
func (s session) Exec(sql string) error {
	return publicError(s.c.exec(sql), sql)
}

// Describe returns the columns that sql, a SELECT, would have in the session's
// view of the catalog, without running it. The offset of an error is one in sql.
func (s session) Describe(sql string) ([]Column, error) {
	var raw mapping.PreparedStatement
	defer mapping.DestroyPrepare(&raw)
	if mapping.Prepare(s.c.raw, sql, &raw) != mapping.StateSuccess {
		return nil, publicError(s.c.failure(mapping.PrepareError(raw)), sql)
	}
	d := stmt{raw: raw}
	d.describe()
	return d.columns, nil
}

// Parse is [DB.Parse] on the session, with the functions of names.
func (s session) Parse(text string, names Names) (*sqltree.Statement, error) {
	return parse(s.c, text, names)
}

// Estimate returns how many rows DuckDB expects of sql, a SELECT, or 0 if it does not know.
func (s session) Estimate(sql string) (rows int64, err error) {
	err = s.Query("EXPLAIN (FORMAT json) "+sql, func(chunk *Chunk) error {
		for i := range chunk.Len() {
			var plan []struct {
				Info map[string]any `json:"extra_info"`
			}
			if json.Unmarshal(chunk.Column(1).Bytes(i), &plan) == nil && len(plan) > 0 {
				text, _ := plan[0].Info["Estimated Cardinality"].(string)
				rows, _ = strconv.ParseInt(text, 10, 64)
			}
		}
		return nil
	})
	return rows, err
}

// Query runs an internal SELECT and calls f with every chunk.
func (s session) Query(sql string, f func(*Chunk) error) error {
	return publicError(s.c.each(sql, f), sql)
}

// Stage is a connection to test objects on before they are published: temporary
// functions and views made on it hide the public ones of the same name, on this
// connection only. It is used by one goroutine. Close it.
type Stage struct {
	session
	db *DB
}

// Stage opens a stage. The context interrupts what runs on it.
func (db *DB) Stage(ctx context.Context) (*Stage, error) {
	c, err := db.connect(searchPath)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		c.close()
		return nil, err
	}
	return &Stage{session{c}, db}, nil
}

// Close ends the stage and drops everything made on it.
func (s *Stage) Close() { s.c.close() }

// TrackProgress makes DuckDB measure how far the statements of the stage are.
func (s *Stage) TrackProgress() error {
	// SET is refused after the lock of the configuration.
	if err := s.c.exec("PRAGMA disable_print_progress_bar"); err != nil {
		return err
	}
	return s.c.exec("PRAGMA enable_progress_bar")
}

// Progress returns how much of the running statement is done, in percent, or -1 if
// DuckDB does not know. Unlike other methods, it may be called while one of them runs.
func (s *Stage) Progress() float64 {
	p := mapping.QueryProgress(s.c.raw)
	percent, _, _ := mapping.QueryProgressTypeMembers(&p)
	return percent
}

// Run calls f and interrupts what it runs on the stage when ctx ends; the error is
// then that of ctx.
func (s *Stage) Run(ctx context.Context, f func() error) error {
	s.db.streams.contexts.Store(s.c.id, withStatement(ctx))
	defer s.db.streams.contexts.Delete(s.c.id)
	return interruptible(ctx, s.c, f)
}

// Exec runs one internal statement outside any generation, on a separate
// connection, to attach, load or detach data. It is not guarded; ctx interrupts
// it. Several may run concurrently.
func (db *DB) Exec(ctx context.Context, sql string) error {
	s, err := db.Stage(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Run(ctx, func() error { return s.Exec(sql) })
}

// interruptible calls f and interrupts c if ctx ends meanwhile.
func interruptible(ctx context.Context, c *conn, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	i := &interrupter{conn: c}
	stop := context.AfterFunc(ctx, i.run)
	defer i.end()
	defer stop()
	err := f()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
