package copies

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// The actions of on_conflict.
const (
	conflictDrop        = "drop"
	conflictUpsert      = "upsert"
	conflictUpsertDedup = "upsert_dedup"
	conflictUpsertRowID = "upsert_dedup_by_row_id"
)

var conflictActions = []string{conflictDrop, conflictUpsert, conflictUpsertDedup, conflictUpsertRowID}

// conflict is the on_conflict of an acceleration.
type conflict struct {
	key    []string // nil: none
	action string
}

func conflictOf(a *spicepod.Acceleration) (c conflict) {
	for key, action := range a.OnConflict {
		c = conflict{columnsOf(key), action}
	}
	return c
}

// checkConflict returns an error about on_conflict.
func checkConflict(a *spicepod.Acceleration) error {
	const path = "acceleration.on_conflict"
	if len(a.OnConflict) > 1 {
		return fault.New(path, "name one key; remove the rows that violate others with refresh_sql",
			"on_conflict has %d keys", len(a.OnConflict))
	}
	for key, action := range a.OnConflict {
		if !slices.Contains(conflictActions, action) {
			return fault.New(path, nearest.Hint(action, conflictActions,
				"write drop, upsert, upsert_dedup or upsert_dedup_by_row_id"), "on_conflict of %q is %q", key, action)
		}
		if !slices.ContainsFunc(uniqueKeys(a), func(k string) bool { return sameKey(columnsOf(k), columnsOf(key)) }) {
			return fault.New(path, fmt.Sprintf("add primary_key: %q, or indexes: {%q: unique}", key, key),
				"on_conflict is on %q, which is neither the primary key nor a unique index", key)
		}
	}
	return nil
}

// uniqueKeys returns the keys, as written, that no two rows may share.
func uniqueKeys(a *spicepod.Acceleration) (keys []string) {
	if a.PrimaryKey != "" {
		keys = append(keys, a.PrimaryKey)
	}
	for key, kind := range a.Indexes {
		if kind == "unique" {
			keys = append(keys, key)
		}
	}
	return keys
}

func sameKey(a, b []string) bool {
	return slices.EqualFunc(a, b, func(a, b string) bool { return sqltree.Fold(a) == sqltree.Fold(b) })
}

// incomingTable has the rows of an append until it is known which they replace.
const incomingTable = "temp.main." + engine.Hidden + "incoming"

// unorderedTable has the rows of a load until they are ordered.
const unorderedTable = "temp.main." + engine.Hidden + "unordered"

// resolve decides which rows of Base the rows of an append replace, and which of these
// rows are left out: by their keys, and by their times where they have none. Unread rows
// stay a query.
func (l *run) resolve(ctx context.Context) error {
	c := conflictOf(l.Table.Acceleration)
	if c.key == nil || l.Base == nil {
		return nil
	}
	if err := l.checkKeys(ctx, l.incoming); err != nil {
		return err
	}
	if err := l.exec(ctx, "CREATE TEMP TABLE "+incomingTable+" AS "+l.incoming); err != nil {
		return fault.FromDuckDB(err)
	}
	l.incoming = "SELECT * FROM " + incomingTable
	if err := l.deduplicate(ctx, incomingTable, c); err != nil {
		return err
	}
	l.replaced = fmt.Sprintf("(%s IS NULL) AND (%s)", strings.Join(quoted(c.key), " IS NULL OR "), l.replaced)
	if c.action != conflictDrop {
		l.replaced += " OR " + exists(incomingTable, engine.Identifier(dataTable), c.key)
		return nil
	}
	return l.exec(ctx, "DELETE FROM "+incomingTable+" AS here WHERE "+exists(data(l.Base.Copy), "here", c.key))
}

// exists returns the condition that a table has a row with the key of this row.
func exists(table, this string, key []string) string {
	equal := make([]string, len(key))
	for i, name := range quoted(key) {
		equal[i] = "there." + name + " = " + this + "." + name
	}
	return "EXISTS (FROM " + table + " AS there WHERE " + strings.Join(equal, " AND ") + ")"
}

// deduplicate leaves one row of each key in a table, whose rows are in the order of the
// source. NULL is equal to no key.
func (l *run) deduplicate(ctx context.Context, table string, c conflict) error {
	if c.key == nil {
		return nil
	}
	key := quoted(c.key)
	twice := fmt.Sprintf("SELECT (%s) FROM %s WHERE %s IS NOT NULL GROUP BY %s HAVING count(*) > 1",
		strings.Join(key, ", "), table, strings.Join(key, " IS NOT NULL AND "), strings.Join(key, ", "))
	var keep string
	switch c.action {
	case conflictDrop:
		keep = fmt.Sprintf("SELECT min(rowid) FROM %s GROUP BY %s", table, strings.Join(key, ", "))
	case conflictUpsertDedup:
		keep = fmt.Sprintf("SELECT __row FROM (SELECT min(rowid) AS __row, * FROM %s GROUP BY ALL)", table)
	default:
		keep = fmt.Sprintf("SELECT max(rowid) FROM %s GROUP BY %s", table, strings.Join(key, ", "))
	}
	remove := fmt.Sprintf("DELETE FROM %s WHERE (%s) IN (%s) AND rowid NOT IN (%s)", table, strings.Join(key, ", "),
		twice, keep)
	if err := l.exec(ctx, remove); err != nil {
		return fault.FromDuckDB(err)
	}
	if c.action != conflictUpsertDedup {
		return nil
	}
	value, err := l.text(ctx, firstDuplicate(table, c.key))
	if err != nil || value == "" {
		return err
	}
	return differentRows(c.key, value)
}
