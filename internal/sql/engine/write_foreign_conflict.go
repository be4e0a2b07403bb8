package engine

import (
	"context"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// judgeConflict parses what ON CONFLICT does.
func (g *judge) judgeConflict(ctx context.Context, o *outside, ch *change, table *OutsideTable,
	j *judgedChange,
) error {
	for _, t := range ch.Keys {
		o.change.Target = append(o.change.Target, table.column(t.Name(j.Text)).Name)
	}
	if ch.Conflict != dml.ConflictUpdate {
		return nil
	}
	p := &dml.ExprParser{Judged: &j.Judged, Name: func(written string) (string, bool) {
		c := table.column(written)
		if c == nil {
			return "", false
		}
		return c.Name, true
	}}
	for _, column := range j.tree.Columns {
		p.Columns = append(p.Columns, j.Offset(column.Offset, -1))
	}
	for i, t := range ch.Set {
		a := Assignment{Column: table.column(t.Name(j.Text)).Name}
		if ch.Values[i] != (sqltree.Span{}) {
			var err error
			if a.Value, err = p.Parse(ch.Values[i], a.Column); err != nil {
				return fromDML(err, j.Text)
			}
		}
		o.change.Set = append(o.change.Set, a)
	}
	if ch.Where != (sqltree.Span{}) {
		var err error
		if o.change.Where, err = p.Parse(ch.Where, ""); err != nil {
			return fromDML(err, j.Text)
		}
	}
	return g.judgeConstants(ctx, o, p, table, j)
}

// judgeConstants composes the query of the constants. They are parts of judged
// expressions, and are judged again as what they are alone.
func (g *judge) judgeConstants(ctx context.Context, o *outside, p *dml.ExprParser, table *OutsideTable,
	j *judgedChange,
) error {
	if len(p.Constants) == 0 {
		return nil
	}
	var query strings.Builder
	parts := make([]dml.Part, len(p.Spans))
	for i, s := range p.Spans {
		query.WriteString([]string{"SELECT (", ", ("}[min(i, 1)])
		parts[i] = dml.Part{Span: s, At: query.Len()}
		query.WriteString(j.Text[s.Start:s.End] + "\n)")
	}
	constants := &dml.Judged{Text: j.Text, Parts: parts}
	var err error
	_, constants.Edits, _, err = g.db.examine(ctx, g.c, j.names, query.String(), inPart, nil, g.held)
	if err != nil {
		return moveError(err, j.Text, func(offset int) int { return constants.Offset(offset, p.Spans[0].Start) })
	}
	a := &dml.Assembler{Judged: constants}
	for i, v := range p.Constants {
		a.Own([]string{"SELECT ", ", "}[min(i, 1)])
		if v.Type == "" {
			table.column(v.Column).writtenPart(a, p.Spans[i])
			a.Own(", NULL")
			continue
		}
		a.Within("CAST((", p.Spans[i], ") AS VARCHAR), ")
		a.Within("system.main.typeof((", p.Spans[i], "))")
	}
	o.constants, o.values = a.Phase(), p.Constants
	return nil
}
