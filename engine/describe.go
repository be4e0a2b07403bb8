package engine

import (
	"context"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// Description is what is known of a statement before it runs.
type Description struct {
	Columns []Column // of the result; a Type of nil is settled by the parameters
	Params  []Param  // in the order of their numbers, or of their first mention
	Write   bool     // it is an INSERT, UPDATE or DELETE
}

// Param is a parameter of a statement.
type Param struct {
	Name string // of $name; "1" of ? and $1
	Type *Type  // nil: any, it is settled by the value
}

// Describe judges a statement and describes it, without running it. The error
// is an [*Error].
func (db *DB) Describe(ctx context.Context, req Request) (*Description, error) {
	pool, err := db.poolFor(ctx)
	if err != nil {
		return nil, err
	}
	limits := db.limits(req.Limits)
	ctx, cancel := db.bound(ctx, limits.Timeout)
	defer cancel()
	c, err := pool.get(ctx)
	if err != nil {
		return nil, waitError(ctx, err, limits)
	}
	defer pool.put(c)
	var d *Description
	err = interruptible(ctx, c, func() (err error) {
		d, err = db.describe(ctx, c, req)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, stopped(ctx, limits)
	case err != nil:
		return nil, err
	}
	return d, nil
}

func (db *DB) describe(ctx context.Context, c *conn, req Request) (*Description, error) {
	cat, _ := db.acquire()
	defer cat.release()
	p := &producer{db: db, c: c, req: req, catalog: cat, rows: &Rows{ctx: ctx}}
	defer p.held.release()
	var err error
	if p.verdict, err = db.judge(ctx, c, cat, req, &p.held); err != nil {
		return nil, p.explain(err)
	}
	s, err := c.prepare(p.verdict.text, cat.serial)
	if err == nil {
		err = s.checkResult(p.verdict.write)
	}
	if err != nil {
		return nil, p.explain(err)
	}
	d := &Description{Write: p.verdict.write}
	for _, column := range s.columns {
		if column.Type.ID == mapping.TypeInvalid {
			column.Type = nil
		}
		d.Columns = append(d.Columns, column)
	}
	for _, param := range s.params {
		if param.typ != nil && !param.typ.Supported() {
			param.typ = nil
		}
		d.Params = append(d.Params, Param{param.name, param.typ})
	}
	return d, nil
}
