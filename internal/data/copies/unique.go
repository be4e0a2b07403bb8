package copies

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Rows that violate a key are found in two ways. A load creates the primary key or index
// on the rows it has copied, and DuckDB refuses it; a check of a Spicepod copies nothing
// ([CheckRows]) and asks the source. Both return the same fault, so that what a check
// accepts is served. DuckDB does not name the key of a refused index: [firstDuplicate]
// finds one in either case.

// CheckRows returns an error if a load of the rows of a query would fail because two rows
// share a key, a row lacks its primary key, or the text in its time column is not a time.
// It reads these columns of all rows.
func CheckRows(ctx context.Context, db *engine.DB, a *spicepod.Acceleration, t Time, rows string) error {
	text := func(sql string) (string, error) {
		found, err := tables.Texts(ctx, db, sql)
		if err != nil || len(found) == 0 {
			return "", err
		}
		return found[0], nil
	}
	conflict := conflictOf(a)
	if conflict.action == conflictUpsertDedup {
		value, err := text(firstDuplicate("(SELECT DISTINCT * FROM ("+rows+"\n))", conflict.key))
		if err != nil || value != "" {
			return orFault(err, differentRows(conflict.key, value))
		}
	}
	from := conflict.resolved("(" + rows + "\n)")
	for _, x := range indexes(a, "") {
		if x.primary {
			missing := fmt.Sprintf("SELECT 'found' FROM %s WHERE %s IS NULL LIMIT 1", from,
				strings.Join(quoted(x.key), " IS NULL OR "))
			if found, err := text(missing); err != nil || found != "" {
				return orFault(err, missingKey(x))
			}
		}
		if !x.unique || conflict.key != nil && sameKey(conflict.key, x.key) {
			continue
		}
		if value, err := text(firstDuplicate(from, x.key)); err != nil || value != "" {
			return orFault(err, duplicateKey(x, value))
		}
	}
	if t.Column == "" {
		return nil
	}
	columns, err := tables.Describe(ctx, db, rows)
	if err != nil {
		return fault.FromDuckDB(err)
	}
	return checkTimes(a, t, columns, "("+rows+"\n)", text)
}

// resolved returns a query of the rows that on_conflict leaves, as [run.deduplicate] does.
func (c conflict) resolved(from string) string {
	if c.key == nil {
		return from
	}
	key, order := quoted(c.key), "DESC"
	if c.action == conflictDrop {
		order = "ASC"
	}
	row := engine.Identifier(engine.Hidden + "row")
	return fmt.Sprintf("(SELECT * EXCLUDE (%[1]s) FROM (SELECT *, row_number() OVER () AS %[1]s FROM %[2]s) QUALIFY "+
		"%[3]s IS NULL OR row_number() OVER (PARTITION BY %[4]s ORDER BY %[1]s %[5]s) = 1)",
		row, from, strings.Join(key, " IS NULL OR "), strings.Join(key, ", "), order)
}

func orFault(err error, f *fault.Fault) error {
	if err != nil {
		return fault.FromDuckDB(err)
	}
	return f
}

// firstDuplicate returns a query of the text of one key that two rows share. As for DuckDB's
// indexes, a key with a NULL is equal to no other.
func firstDuplicate(from string, key []string) string {
	names := quoted(key)
	return fmt.Sprintf("SELECT concat_ws(', ', %s) FROM %s WHERE %s IS NOT NULL GROUP BY %s HAVING count(*) > 1 LIMIT 1",
		strings.Join(names, ", "), from, strings.Join(names, " IS NOT NULL AND "), strings.Join(names, ", "))
}

// violated explains DuckDB's refusal to create a key or an index on the rows of a table.
func (l *run) violated(ctx context.Context, err error, x index, table string) error {
	var e *engine.Error
	switch {
	case !errors.As(err, &e) || e.Class != "Constraint":
		f := fault.FromDuckDB(err)
		f.Path = x.path
		return f
	case strings.Contains(e.Message, "NOT NULL"):
		return missingKey(x)
	}
	value, err := l.text(ctx, firstDuplicate(table, x.key))
	if err != nil {
		return fault.FromDuckDB(err)
	}
	return duplicateKey(x, value)
}

// refusedInsert explains DuckDB's refusal to insert rows, which names the key itself.
func refusedInsert(err error) error {
	var e *engine.Error
	f := fault.FromDuckDB(err)
	f.Path = "acceleration"
	if !errors.As(err, &e) || e.Class != "Constraint" {
		return f
	}
	if strings.Contains(e.Message, "NOT NULL") {
		return fault.New(f.Path, "leave such rows out with refresh_sql, or correct the source",
			"rows have no value for a key: %s", fault.FirstLines(e.Message)).WithPublic("rows have no value for a key")
	}
	const public = "rows have a duplicate key"
	return fault.New(f.Path, "set acceleration.on_conflict to drop or upsert for the key, or correct the source", "%s: %s",
		public, fault.FirstLines(e.Message)).WithPublic(public)
}

// missingKey is the fault of rows without a value for a primary key.
func missingKey(x index) *fault.Fault {
	return fault.New(x.path, "leave such rows out with refresh_sql, or correct the source",
		"rows have no value for the key (%s)", strings.Join(x.key, ", "))
}

// differentRows is the fault of rows that on_conflict upsert_dedup does not choose from.
func differentRows(key []string, value string) *fault.Fault {
	public := "different rows have the same (" + strings.Join(key, ", ") + ")"
	return fault.New("acceleration.on_conflict", "write upsert, which keeps the last row of a key, or correct the source",
		"%s: %s", public, truncate.Ellipsis(value, fault.MaxMessage)).WithPublic(public)
}

// duplicateKey is the fault of rows that share the key with this text, which only those
// may see who may read all rows.
func duplicateKey(x index, value string) *fault.Fault {
	columns := strings.Join(x.key, ", ")
	name := columns
	if len(x.key) > 1 {
		name = "(" + columns + ")"
	}
	hint := fmt.Sprintf("set acceleration.on_conflict: {%q: upsert}, which keeps the last row of a key, or drop, the "+
		"first; or correct the source", name)
	public := "rows have a duplicate key (" + columns + ")"
	return fault.New(x.path, hint, "%s: %s", public, truncate.Ellipsis(value, fault.MaxMessage)).WithPublic(public)
}
