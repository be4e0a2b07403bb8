package functions

import (
	"context"
	"errors"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// inlineCTEs writes the CTEs of the body that use an argument, and that a subquery reads,
// in place of their names: over a column, DuckDB would compute them from the values of
// other rows (see [sqltree.Statement.InlineCTEs]). Tests with constants cannot show that.
// What cannot be written so is refused.
func (f *Function) inlineCTEs(ctx context.Context, db *engine.DB) error {
	p := f.body.parsed
	text, origin, err := p.st.InlineCTEs(p.text, p.tokens, sqltree.InlineOptions{
		Outer:    func(c sqltree.Column) bool { return !f.IsTable() && f.argIndex(c.Parts[0]) >= 0 },
		Volatile: func(c sqltree.Call) bool { return db.Builtins().Random(c.Name) },
		Inner:    !f.IsTable() && len(f.Args) > 0,
		Inputs:   p.start,
		Input:    func(name string) bool { return name == reservedTable },
	})
	var fault *sqltree.CTEError
	switch {
	case errors.As(err, &fault):
		return at(p.offset(fault.Offset), fault.Message, fault.Hint)
	case text == p.text:
		return nil
	}
	start, old := p.start, f.body.text
	f.body.text = text[start : len(text)-(len(p.text)-start-p.length)]
	f.body.declared = func(offset int) int { return min(max(origin(offset+start)-start, 0), len(old)) }
	return f.parse(ctx, db)
}

// inDeclared returns the offset in the declared body for one in the text of b.
func (b *body) inDeclared(offset int) int {
	if b.declared == nil || offset < 0 {
		return offset
	}
	return b.declared(offset)
}
