package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/dml"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// ON CONFLICT DO UPDATE. ON DUPLICATE KEY UPDATE is another statement: it fires for any
// unique key, has no WHERE, assigns one column after the other, and changes a row twice.
// So each row is looked up by the key that ON CONFLICT names, locked, and updated or
// inserted. MariaDB says which row it inserted, and assigns all columns at once.

// simultaneous makes an UPDATE assign all columns at once.
const simultaneous = "SET sql_mode = CONCAT(@@sql_mode, ',SIMULTANEOUS_ASSIGNMENT')"

// mostCompared is the most arguments of GREATEST and LEAST, whose text doubles with each.
const mostCompared = 4

// checkUpdate refuses what DO UPDATE cannot do.
func (t *target) checkUpdate(r *engine.RowChange) error {
	fail := func(hint, format string, args ...any) error {
		return engine.NewError(errcode.Refused, hint, format, args...)
	}
	for _, name := range r.Target {
		if !slices.Contains(r.Columns, name) {
			return fail("add the column to those of the INSERT",
				"ON CONFLICT DO UPDATE needs a value of the column %q, by which it finds the row", name)
		}
	}
	for _, a := range r.Set {
		if slices.Contains(r.Target, a.Column) {
			return fail("leave it out, or use UPDATE", "DO UPDATE cannot set the column %q, by which it finds the row", a.Column)
		}
	}
	expressions := []*dml.Expr{r.Where}
	for _, a := range r.Set {
		expressions = append(expressions, a.Value)
	}
	for len(expressions) > 0 {
		e := expressions[0]
		if expressions = expressions[1:]; e == nil {
			continue
		}
		expressions = append(expressions, e.Args...)
		switch {
		case e.Op == dml.OpExcluded && !slices.Contains(r.Columns, e.Column):
			return fail("add the column to those of the INSERT", "excluded.%s has no value in this INSERT", e.Column)
		case (e.Op == "GREATEST" || e.Op == "LEAST") && len(e.Args) > mostCompared:
			return fail("compute it in the query of the INSERT", "%s has more than %d arguments", strings.ToLower(string(e.Op)),
				mostCompared)
		case (e.Op == "+" || e.Op == "-" || e.Op == "*") && slices.ContainsFunc(e.Args, func(arg *dml.Expr) bool {
			return !t.numeric(arg)
		}):
			return fail("compute others in the query of the INSERT", "DO UPDATE has %s of numbers only", e.Op)
		}
	}
	return nil
}

// numeric reports whether an expression is known to be a number.
func (t *target) numeric(e *dml.Expr) bool {
	switch e.Op {
	case dml.OpColumn, dml.OpExcluded:
		return t.column(e.Column).form == number
	case dml.OpValue, "+", "-", "*":
		return true
	case "COALESCE", "GREATEST", "LEAST":
		return !slices.ContainsFunc(e.Args, func(arg *dml.Expr) bool { return !t.numeric(arg) })
	}
	return false
}

// expression returns an expression of DO UPDATE for a row of the INSERT.
func (t *target) expression(r *engine.RowChange, row int, e *dml.Expr) string {
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = t.expression(r, row, a)
	}
	switch e.Op {
	case dml.OpColumn:
		return identifier(e.Column)
	case dml.OpExcluded:
		return t.column(e.Column).literal(r.Values[slices.Index(r.Columns, e.Column)][row])
	case dml.OpValue:
		return t.constant(e)
	case dml.OpNot:
		return "(NOT " + args[0] + ")"
	case dml.OpIsNull, dml.OpIsNotNull:
		return "(" + args[0] + " " + string(e.Op) + ")"
	case "IS NOT DISTINCT FROM":
		return "(" + args[0] + " <=> " + args[1] + ")"
	case "IS DISTINCT FROM":
		return "(NOT " + args[0] + " <=> " + args[1] + ")"
	case "COALESCE":
		return "COALESCE(" + strings.Join(args, ", ") + ")"
	case "GREATEST", "LEAST": // those of MySQL are NULL if one of the arguments is
		out := args[0]
		for _, arg := range args[1:] {
			out = fmt.Sprintf("COALESCE(%s(%s, %s), %[2]s, %[3]s)", e.Op, out, arg)
		}
		return out
	}
	return "(" + args[0] + " " + string(e.Op) + " " + args[1] + ")"
}

// constant writes a constant of DO UPDATE.
func (t *target) constant(e *dml.Expr) string {
	switch {
	case e.Text == nil:
		return "NULL"
	case e.Column != "" && (e.Type == "" || e.Type == "VARCHAR"):
		return t.column(e.Column).literal(e.Text)
	case e.Type == "BOOLEAN" && (*e.Text == "true" || *e.Text == "false"),
		e.Type != "VARCHAR" && numeral.MatchString(*e.Text):
		return *e.Text
	}
	return text(*e.Text)
}

// upsert inserts rows, and updates those that are there.
func (t *transaction) upsert(ctx context.Context, r *engine.RowChange, changed *engine.Changed) error {
	if _, err := t.run(ctx, simultaneous, 0, nil); err != nil {
		return err
	}
	u := &upsert{
		transaction: t, change: r, changed: changed, add: dbproxy.Returned(r, changed),
		touched: map[string]bool{},
	}
	identity := make([]string, len(r.Target))
	for i, name := range r.Target {
		identity[i] = t.target.column(name).returned
		u.key = append(u.key, r.Values[slices.Index(r.Columns, name)])
	}
	u.identity = strings.Join(identity, ", ")
	for row := range r.Values[0] {
		if err := u.row(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// upsert is an INSERT with DO UPDATE.
type upsert struct {
	*transaction
	change   *engine.RowChange
	changed  *engine.Changed
	add      func(row []*string) error
	key      [][]*string     // the values of the columns by which rows are found
	identity string          // what selects these columns
	touched  map[string]bool // rows that the statement has changed, by identity
}

// upsertTries is how often a row is looked up that others insert and remove meanwhile.
const upsertTries = 5

// row inserts or updates a row.
func (u *upsert) row(ctx context.Context, row int) error {
	var err error
	for range upsertTries {
		var found string
		if found, err = u.find(ctx, row); err != nil {
			return err
		}
		if found != "" {
			return u.update(ctx, row, found)
		}
		err = u.insert(ctx, row)
		if e := (*serverError)(nil); !errors.As(err, &e) || e.Number != duplicateEntry || !u.isTarget(e) {
			return err
		}
	}
	return err
}

// isTarget reports whether a duplicate is one of the key that ON CONFLICT names.
func (u *upsert) isTarget(e *serverError) bool {
	return slices.ContainsFunc(u.target.keys, func(k key) bool {
		return sameColumns(k.columns, u.change.Target) && e.isAbout(k.name, u.target.name)
	})
}

// find locks the row that is there, and returns its identity, "" if there is none.
func (u *upsert) find(ctx context.Context, row int) (found string, err error) {
	for _, values := range u.key {
		if values[row] == nil {
			return "", nil // NULL is equal to nothing
		}
	}
	sql := "SELECT " + u.identity + " FROM " + u.target.table() + " WHERE " + u.target.byKey(u.change.Target, u.key, row) +
		" FOR UPDATE"
	_, err = u.run(ctx, sql, len(u.key), func(values []*string) error {
		found = identityOf(values)
		return nil
	})
	return found, err
}

// identityOf is a text that identifies a row.
func identityOf(values []*string) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%d:%s ", len(value(v)), value(v))
	}
	return b.String()
}

func (u *upsert) insert(ctx context.Context, row int) error {
	before, part := u.target.insert(u.change)
	returning, columns := " RETURNING "+u.identity, len(u.key)
	if u.change.Returning {
		returning, columns = returning+", "+u.target.returning(), columns+len(u.target.columns)
	}
	return u.target.batches(1, before, func(int) string { return part(row) }, "", returning, func(sql string) error {
		n, err := u.run(ctx, sql, columns, func(values []*string) error {
			u.touched[identityOf(values[:len(u.key)])] = true
			if u.change.Returning {
				return u.add(values[len(u.key):])
			}
			return nil
		})
		u.changed.Count += n
		return err
	})
}

// stateTwice is cardinality_violation.
const stateTwice = "21000"

func (u *upsert) update(ctx context.Context, row int, found string) error {
	sets := make([]string, len(u.change.Set))
	for i, a := range u.change.Set {
		sets[i] = identifier(a.Column) + " = DEFAULT"
		if a.Value != nil {
			sets[i] = identifier(a.Column) + " = " + u.target.expression(u.change, row, a.Value)
		}
	}
	where := u.target.byKey(u.change.Target, u.key, row)
	condition := where
	if u.change.Where != nil {
		condition += " AND " + u.target.expression(u.change, row, u.change.Where)
	}
	return u.target.batches(1, "UPDATE "+u.target.table()+" SET ", func(int) string {
		return strings.Join(sets, ", ")
	}, "", " WHERE "+condition, func(sql string) error {
		if u.touched[found] {
			return dbproxy.StateError(errcode.Execution, stateTwice, "leave out rows that have the same key",
				"ON CONFLICT DO UPDATE cannot change a row twice; nothing was written")
		}
		n, err := u.run(ctx, sql, 0, nil)
		if err != nil || n == 0 {
			return err
		}
		u.changed.Count += n
		u.touched[found] = true
		if !u.change.Returning {
			return nil
		}
		_, err = u.run(ctx, "SELECT "+u.target.returning()+" FROM "+u.target.table()+" WHERE "+where+" FOR UPDATE",
			len(u.target.columns), u.add)
		return err
	})
}
