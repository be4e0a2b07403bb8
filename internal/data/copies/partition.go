package copies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// maxPartitions bounds the expressions of partition_by.
const maxPartitions = 16

// OrderBy returns the expressions by which the rows of a copy are ordered, so that DuckDB
// skips blocks of rows by the values of their columns: those of partition_by. Spice has two
// functions that DuckDB does not have, bucket(n, column) and truncate(n, column), which put many
// values of a column together; here it is the column, whose values are together anyway.
func OrderBy(ctx context.Context, db *engine.DB, t *tables.Table) (string, error) {
	list := t.Acceleration.PartitionBy
	if len(list) > maxPartitions {
		return "", fault.New("acceleration.partition_by", "write fewer", "it has %d expressions; the limit is %d", len(list),
			maxPartitions)
	}
	keys := make([]string, len(list))
	for i, entry := range list {
		key := fmt.Sprintf("partition_by[%d]", i)
		text, ok := entry.(string)
		if named, is := entry.(map[string]any); is && len(named) == 1 {
			for _, expression := range named {
				text, ok = expression.(string)
			}
		}
		if !ok || strings.TrimSpace(text) == "" {
			return "", fault.New("acceleration."+key,
				"write an expression, or one with its name: month: date_trunc('month', created_at)", "it is not an expression")
		}
		var err error
		if keys[i], err = orderKey(ctx, db, t, key, text); err != nil {
			return "", err
		}
	}
	return strings.Join(keys, ", "), nil
}

// orderKey checks an expression of columns and returns it as a key of ORDER BY. text is a
// stranger's: it must be one expression also where it is a part of another text. So it is
// parsed in a query of its own, whose shape shows a text that goes on (a comma, a FROM, an
// alias), and it ends with a line, so that a comment in it hides nothing.
func orderKey(ctx context.Context, db *engine.DB, t *tables.Table, key, text string) (string, error) {
	const before = "SELECT "
	sql := before + text + "\nFROM " + engine.Identifier(t.Relation.Name)
	const hint = "write one expression of columns, for example date_trunc('month', created_at)"
	st, err := db.Parse(ctx, sql)
	if err != nil {
		return "", fault.New("acceleration."+key, cmp.Or(engine.AsError(err).Hint, hint), "%q is not an expression", text)
	}
	if isTransform(st) {
		return engine.Identifier(st.Columns[0].Parts[len(st.Columns[0].Parts)-1]), nil
	}
	_, needs, err := OwnQuery(ctx, db, t, key, sql)
	if err != nil {
		var f *fault.Fault
		if errors.As(err, &f) && f.Offset >= 0 {
			f.Offset -= len(before)
		}
		return "", err
	}
	s := st.Shape
	single := s.Plain && s.Columns == 1 && !s.Alias && !s.Star
	if needs == nil || !single || st.Aggregate || len(st.Columns) == 0 {
		return "", fault.New("acceleration."+key, hint, "%q is not an expression of columns", text)
	}
	return "(" + text + "\n)", nil
}

// isTransform reports whether a statement selects bucket(n, column) or truncate(n, column).
func isTransform(st *sqltree.Statement) bool {
	if !st.Shape.Plain || st.Shape.Columns != 1 || len(st.Calls) != 1 || len(st.Columns) != 1 {
		return false
	}
	c := st.Calls[0]
	if name := sqltree.Fold(c.Name); name != "bucket" && name != "truncate" {
		return false
	}
	return c.Entry && len(c.Args) == 2 && c.Args[0].Kind == sqltree.IntegerLiteral && c.Args[1].Kind == sqltree.ColumnRef
}

// ordered returns the query of rows in the order of partition_by.
func (l *run) ordered(ctx context.Context, rows string) (string, error) {
	if l.order == "" {
		return rows, nil
	}
	query := "SELECT * FROM (" + rows + "\n) ORDER BY " + l.order
	if _, err := l.columns(ctx, query); err != nil {
		e := engine.AsError(err)
		return "", fault.New("acceleration.partition_by", cmp.Or(e.Hint, "write expressions of columns of the copy"), "%s",
			fault.FirstLines(e.Message))
	}
	return query, nil
}
