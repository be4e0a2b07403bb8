package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Ctx is the SQL function that returns an attribute of the statement's caller:
// ctx('user_id') → VARCHAR or NULL. Row filters and column masks use it, and any
// statement, body or view may call it.
//
// It is also the name of the [Handler], whose input is a name of [CtxNames] and
// whose output is a JSON text or null. It is called once per statement for each
// name. Where no statement runs, on a [Stage] or in a [Tx], there is no caller
// and ctx returns NULL.
const Ctx = "ctx"

// CtxNames are the arguments that [Ctx] accepts.
var CtxNames = []string{"user_id", "space_id", "session_id", "agent", "model", "principal", "request_id"}

// makeCtx creates the function in DuckDB. Its body is an uncorrelated subquery:
// DuckDB computes it once per statement, not for each row.
func (in *instance) makeCtx() error {
	err := in.writer.exec("CREATE FUNCTION " + Qualified(Prelude, Ctx) + `("name" VARCHAR) AS ` +
		"(SELECT CAST(" + Native + "(" + Literal(Ctx) + `, "name") AS JSON)->>'$')`)
	if err != nil {
		return fmt.Errorf("make %s: %w", Ctx, err)
	}
	if b := in.db.builtins; !b.kinds[Ctx].unstable { // of the first instance
		b.add(Ctx, false, false, false)
		k := b.kinds[Ctx]
		k.unstable = true
		b.kinds[Ctx] = k
		slices.Sort(b.names)
	}
	return nil
}

// isCtx reports whether a call of no declared function is a call of ctx.
func isCtx(c sqltree.Call) bool { return sqltree.Fold(c.Name) == Ctx }

// checkCtx refuses a call of ctx with anything but one of the names as a literal:
// a name computed at run time could be evaluated for every row.
func checkCtx(text string, c sqltree.Call) error {
	known := "the names are " + strings.Join(CtxNames, ", ")
	if len(c.Args) != 1 || c.Args[0].Kind != sqltree.StringLiteral {
		return NewError(errcode.Argument, "write ctx('user_id'); "+known,
			"ctx takes one name, as a text literal").at(text, c.Offset)
	}
	name := c.Args[0].Text
	if slices.Contains(CtxNames, name) {
		return nil
	}
	return NewError(errcode.Argument, nearest.Hint(name, CtxNames, known), "ctx has no name %q", name).at(text, c.Offset)
}
