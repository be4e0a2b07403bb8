package builtin

import (
	"context"
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// Lookup returns the dataset of a name, if calls in a scope may read it.
func (e Env) Lookup(s tools.Scope, name string) (Dataset, error) {
	return e.find(custom{}.access(s), name)
}

// Permits reports whether calls in a scope may read the dataset of a name, whether or not it is there.
func Permits(s tools.Scope, name string) bool { return custom{}.access(s).permits(RelationOf(name)) }

// Request is a statement of the runtime itself with the access of a call, for [Env.Select].
func (e Env) Request(in tools.Input, sql string, named map[string]any) engine.Request {
	return engine.Request{
		SQL: sql, Params: engine.Params{Named: named}, Limits: engine.Limits{Timeout: in.Limits.Timeout},
		Allow: custom{}.access(in.Scope).filter(),
	}
}

// Select returns the rows of a statement as JSON objects, at most so many and within the limits of
// the call, and whether there are more.
func (e Env) Select(ctx context.Context, in tools.Input, req engine.Request, most int) (
	list []json.RawMessage, more bool, err error,
) {
	r, err := query(ctx, e.SQL, req, extentOf(in.Limits, most))
	if err != nil {
		return nil, false, err
	}
	return rawLines(r.lines), r.truncated, nil
}

// Column returns the column of a name, ignoring case, or nil.
func (d Dataset) Column(name string) *Column { return column(d.Columns, name) }
