package pgwire

import (
	"context"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// split returns where the statements of a script stand: what is between
// semicolons, without those and without blanks and comments around it.
func split(sql string) []sqltree.Span {
	var parts []sqltree.Span
	start, end := -1, 0
	for _, t := range sqltree.Scan(sql) {
		if !t.Is(sql, ";") {
			if start < 0 {
				start = t.Start
			}
			end = t.End
			continue
		}
		if start >= 0 {
			parts = append(parts, sqltree.Span{Start: start, End: end})
		}
		start = -1
	}
	if start >= 0 {
		parts = append(parts, sqltree.Span{Start: start, End: end})
	}
	return parts
}

// simple runs the statements of a simple query in order, up to the first that
// fails.
func (c *conn) simple(ctx context.Context, sql string) error {
	c.closePortal(c.portals[""])
	c.forgetStatement("")
	if len(sql) > maxScript {
		return failure(stateProgram, "send less at once", "a simple query of %d bytes; the limit is %d", len(sql), maxScript)
	}
	parts := split(sql)
	if len(parts) == 0 {
		c.out.empty('I') // EmptyQueryResponse
	}
	if err := checkScript(sql, parts); err != nil {
		return err
	}
	for _, part := range parts {
		if err := c.simpleStatement(ctx, sql[part.Start:part.End]); err != nil {
			return moved(err, sql[:part.Start])
		}
		if c.out.ease(); c.out.err != nil {
			return nil // talk ends with it
		}
	}
	return nil
}

// checkScript refuses a script that writes before its last statement: it is one
// transaction to its client, and what it wrote could not be taken back when a
// later statement fails.
func checkScript(sql string, parts []sqltree.Span) error {
	for _, part := range parts[:max(0, len(parts)-1)] {
		w := newWords(sql[part.Start:part.End])
		if _, is := commands[w.peek()]; is || w.take("copy") {
			continue
		}
		if verb, _ := verbOf(w.sql, w.tokens); writes(verb) {
			e := failure(stateReadOnly, "send it alone", "%s cannot run before other statements of a simple query, whose failure could not take it back", verb)
			e.place = utf8.RuneCountInString(sql[:part.Start]) + 1
			return e
		}
	}
	return nil
}

// moved is an error about what follows before, in the text of both.
func moved(err error, before string) error {
	e := *asState(err)
	if e.place > 0 {
		e.place += utf8.RuneCountInString(before)
	}
	return &e
}

func (c *conn) simpleStatement(ctx context.Context, sql string) error {
	p, err := c.planOf(sql)
	if err == nil {
		err = c.allowed(p)
	}
	if err != nil {
		return err
	}
	portal := &portal{plan: p, simple: true}
	if p.command != nil {
		if err := c.describe(ctx, p); err != nil {
			return err
		}
		if len(p.columns) > 0 {
			c.rowDescription(p.columns, nil)
		}
	}
	defer c.closePortal(portal)
	return c.execute(ctx, portal, 0)
}
