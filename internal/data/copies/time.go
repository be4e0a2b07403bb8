package copies

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Time is the time_column of a table and its time_format.
type Time struct{ Column, Format string }

// timeline says how the times of a column are compared with others.
type timeline struct {
	expr string        // of the column
	typ  string        // of expr
	unit time.Duration // of numbers; 0: expr is a date or timestamp
}

// timeOf returns how the times of a column are compared. plain leaves texts without a
// time_format as they are.
func timeOf(t Time, columns []engine.Column, plain bool) (timeline, error) {
	at := slices.IndexFunc(columns, func(c engine.Column) bool { return strings.EqualFold(c.Name, t.Column) })
	if at < 0 {
		names, _ := tables.Match(columns, nil)
		return timeline{}, fault.New("time_column", nearest.Hint(t.Column, tables.Names(names), ""),
			"the rows have no column %q", t.Column)
	}
	out := timeline{expr: engine.Identifier(columns[at].Name), typ: columns[at].Type.String()}
	unix := strings.HasPrefix(t.Format, "unix_")
	wrong := func(hint string) (timeline, error) {
		return timeline{}, fault.New("time_format", hint, "column %q is %s, which is not in the format %s", t.Column,
			out.typ, t.Format)
	}
	switch id := columns[at].Type.ID; id {
	case engine.Date, engine.Timestamp, engine.TimestampS, engine.TimestampMS, engine.TimestampNS, engine.TimestampTZ:
		if unix {
			return wrong("leave time_format out")
		}
	case engine.Varchar:
		if unix {
			return wrong("write ISO8601, or declare the column's type in columns: type int64")
		}
		if !plain || t.Format != "" {
			out.expr, out.typ = "CAST("+out.expr+" AS TIMESTAMPTZ)", "TIMESTAMPTZ"
		}
	default:
		if !numeric(id) {
			return timeline{}, fault.New("time_column", "name a column with a timestamp, a date, a number or a text",
				"column %q is %s, which is not a time", t.Column, out.typ)
		}
		if t.Format != "" && !unix {
			return wrong("write unix_seconds or unix_millis")
		}
		if out.unit = time.Second; t.Format == "unix_millis" {
			out.unit = time.Millisecond
		}
	}
	return out, nil
}

// checkTimes returns an error unless later loads and the retention of an acceleration can
// compare the times in the rows of a query, which have these columns. It reads the rows if
// their times are texts; text runs a query for it.
func checkTimes(a *spicepod.Acceleration, t Time, columns []engine.Column, rows string,
	text func(sql string) (string, error),
) error {
	retention := a.RetentionCheckEnabled && a.RetentionPeriod > 0
	if t.Column == "" || a.RefreshMode != spicepod.RefreshAppend && !retention {
		return nil
	}
	of, err := timeOf(t, columns, false)
	if err != nil || !strings.HasPrefix(of.expr, "CAST(") {
		return err
	}
	column := engine.Identifier(t.Column)
	wrong := "TRY_" + of.expr + " IS NULL AND " + column + " IS NOT NULL"
	if t.Format == "" && !retention && a.RefreshAppendOverlap == 0 { // they are compared as texts
		wrong += " AND NOT regexp_full_match(" + column + `, '(\d{4}(-\d{2})?)?')`
	}
	value, err := text("SELECT " + column + " FROM " + rows + " WHERE " + wrong + " LIMIT 1")
	if err != nil {
		return fault.FromDuckDB(err)
	}
	if value == "" {
		return nil
	}
	public := fmt.Sprintf("column %q has a text that is not a time", t.Column)
	return fault.New("time_column", "name a column of times, or load one made of it with refresh_sql", "%s: %q", public,
		truncate.Runes(value, fault.MaxMessage)).WithPublic(public)
}

func numeric(id engine.TypeID) bool {
	switch id {
	case engine.TinyInt, engine.SmallInt, engine.Integer, engine.BigInt, engine.HugeInt, engine.UTinyInt, engine.USmallInt,
		engine.UInteger,
		engine.UBigInt, engine.UHugeInt, engine.Float, engine.Double, engine.Decimal:
		return true
	}
	return false
}

// literal returns a moment as a constant that the column is compared with.
func (t timeline) literal(at time.Time) string {
	at = at.UTC()
	switch {
	case t.unit > 0:
		return fmt.Sprint(at.UnixNano() / int64(t.unit))
	case t.typ == "DATE":
		return at.Format("DATE '2006-01-02'")
	case t.typ == "TIMESTAMP WITH TIME ZONE", t.typ == "TIMESTAMPTZ":
		return at.Format("TIMESTAMPTZ '2006-01-02 15:04:05.000000+00'")
	}
	return at.Format("TIMESTAMP '2006-01-02 15:04:05.000000'")
}

// text returns a moment as a text that the column is compared with.
func (t timeline) text(at time.Time) string {
	at = at.UTC()
	switch {
	case t.unit > 0:
		return fmt.Sprint(at.UnixNano() / int64(t.unit))
	case t.typ == "DATE":
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02 15:04:05.000000")
}

// condition returns the comparison of the column with a text as one of a parse tree.
func (t timeline) condition(column, op, text string) *sqltree.Condition {
	value := sqltree.Constant{Kind: sqltree.StringLiteral, Text: text}
	if t.unit > 0 {
		value.Kind = sqltree.IntegerLiteral
	}
	return &sqltree.Condition{Op: op, Parts: []string{column}, Values: []sqltree.Constant{value}}
}

// before returns an expression for a value a while before another one.
func (t timeline) before(value string, while time.Duration) string {
	switch {
	case while == 0:
		return value
	case t.unit > 0:
		return fmt.Sprintf("%s - %d", value, (while+t.unit-1)/t.unit)
	}
	return fmt.Sprintf("%s - INTERVAL (%d) MICROSECOND", value, while.Microseconds())
}

// finite returns the condition that a time is one that others can follow: not infinity,
// nor NaN.
func (t timeline) finite() string {
	switch {
	case t.typ == "VARCHAR":
		return "isfinite(TRY_CAST(" + t.expr + " AS TIMESTAMPTZ)) IS NOT FALSE"
	case t.unit > 0 && t.typ != "FLOAT" && t.typ != "DOUBLE":
		return "true"
	}
	return "isfinite(" + t.expr + ")"
}

// windowed returns Source with the rows of the window, and with Untimed those without a
// time. The condition has constants only, so that DuckDB sends it to sources that take
// conditions.
func (l *run) windowed(ctx context.Context) (string, error) {
	if l.Window == 0 {
		return l.Source, nil
	}
	columns, err := l.columns(ctx, l.Source)
	if err != nil {
		return "", fault.FromDuckDB(err)
	}
	t, err := timeOf(l.Time, columns, false)
	if err != nil {
		return "", err
	}
	from := l.now.Add(-l.Window)
	newer := t.condition(l.Time.Column, ">=", t.text(from))
	where := t.expr + " >= " + t.literal(from)
	if l.Untimed {
		newer = &sqltree.Condition{Op: "OR", Of: []*sqltree.Condition{newer, {Op: "IS NULL", Parts: newer.Parts}}}
		where += " OR " + t.expr + " IS NULL"
	}
	l.windows = []*sqltree.Condition{newer}
	return "SELECT * FROM (" + l.Source + ") WHERE " + where, nil
}

// since returns the condition of the rows that an append reads, and that it replaces:
// those that are newer than the newest of Base whose time is finite, or as new as a while
// before it. More rows of the newest day may come, so that a date is read again.
func (l *run) since(ctx context.Context, columns []engine.Column) (string, error) {
	t, err := timeOf(l.Time, columns, l.Overlap == 0)
	if err != nil {
		return "", err
	}
	newest, err := l.text(ctx, fmt.Sprintf("SELECT CAST(CAST(%s AS %s) AS VARCHAR) FROM %s WHERE %s",
		t.before("max("+t.expr+")", l.Overlap), t.typ, data(l.Base.Copy), t.finite()))
	if err != nil {
		return "", fault.FromDuckDB(err)
	}
	if newest == "" {
		return "true", nil
	}
	than := ">"
	if l.Overlap > 0 || t.typ == "DATE" || l.Time.Format == "date" {
		than = ">="
	}
	l.newer = t.condition(l.Time.Column, than, newest)
	return fmt.Sprintf("%s %s CAST(%s AS %s)", t.expr, than, engine.Literal(newest), t.typ), nil
}

// text returns the value of a query with one row and one column, or "" for NULL.
func (l *run) text(ctx context.Context, sql string) (value string, err error) {
	err = l.stage.Run(ctx, func() error {
		return l.stage.Query(sql, func(c *engine.Chunk) error {
			if c.Len() > 0 && c.Column(0).Valid(0) {
				value = string(c.Column(0).Bytes(0))
			}
			return nil
		})
	})
	return value, err
}
