package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// A function whose calls require approval ([Contents.Gates]) is refused in a caller's own
// statement: there is no call of a statement that a person could approve. The verdict is
// cached for all callers, with the calls in question, and each execution asks again.

// judge returns the verdict on the request's statement under cat.
func (db *DB) judge(ctx context.Context, c *conn, cat *Catalog, req Request, h *held) (*verdict, error) {
	v, err := db.judgeText(ctx, c, cat, req, h)
	if err != nil {
		return nil, err
	}
	if err := cat.refuseGated(ctx, &req, v); err != nil {
		return nil, err
	}
	return v, nil
}

// called are the calls in a statement.
type called struct {
	calls []callSite // of declared functions
	gated []callSite // of those that some callers may not call: see gatedSites
	reads []Relation // see [Rows.Reads]
}

// callsOf returns the calls in a statement; relocate maps its offsets to those in the
// caller's text.
func callsOf(st *sqltree.Statement, cat *Catalog, relocate func(int) int) called {
	return called{callSites(st, cat, relocate), gatedSites(st, cat, relocate), cat.reads(st)}
}

// moved returns the calls for a text that contains the statement.
func (c called) moved(relocate func(int) int) called {
	move := func(sites []callSite) (out []callSite) {
		for _, s := range sites {
			out = append(out, callSite{relocate(s.offset), s.function})
		}
		return out
	}
	return called{move(c.calls), move(c.gated), c.reads}
}

// gatedSites returns the calls of functions that are gated for some callers, in any schema:
// DuckDB may find a function wherever a statement says it is, and take x.f() for f(x).
func gatedSites(st *sqltree.Statement, cat *Catalog, relocate func(int) int) []callSite {
	var sites []callSite
	for _, call := range st.Calls {
		if f := cat.Function(call.Name); f != nil && f.Gated {
			sites = append(sites, callSite{relocate(call.Offset), f})
		}
	}
	return sites
}

// refuseGated returns the error of a verdict's statement that calls a function which requires
// approval of the caller, or nil.
func (c *Catalog) refuseGated(ctx context.Context, req *Request, v *verdict) error {
	if len(v.gated) == 0 || c.contents.Gates == nil || req.Internal {
		return nil
	}
	gates := c.contents.Gates(ctx)
	if gates == nil {
		return nil
	}
	i := slices.IndexFunc(v.gated, func(s callSite) bool { return gates(s.function.Name) })
	if i < 0 {
		return nil
	}
	f := v.gated[i].function
	hint := "only a call of a tool can ask for it; as_tool: true makes a tool of the function"
	if f.Tool != "" {
		hint = fmt.Sprintf("call the tool itself, for example with POST /v1/tools/%s:invoke", f.Tool)
	}
	return NewError(errcode.Refused, hint, "a call of %s requires approval, which a statement cannot ask for",
		f.Name).at(req.SQL, v.gated[i].offset)
}
