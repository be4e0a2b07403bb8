package copies

import (
	"fmt"
	"math/big"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Remote is a source that can leave out rows that a load does not need. What it is asked
// has the same meaning in each SQL engine: comparisons of columns with constants of types
// that all have. A load applies all conditions itself, too, so that a source may send more.
type Remote struct {
	Columns []engine.Column // that the source has as they are read
	Narrow  func(where string, limit int64)
}

const (
	maxSent     = 64 << 10 // bytes of a condition
	maxSentText = 1000     // bytes of a text in one
	second      = "2006-01-02 15:04:05"
)

// narrow tells the source which rows the load needs at most.
func (l *run) narrow(needed *sqltree.Filter) {
	if l.Remote == nil || needed == nil {
		return
	}
	all := &sqltree.Condition{Op: "AND", Of: l.windows}
	if needed.Where != nil {
		all.Of = append(all.Of, needed.Where)
	}
	if l.newer != nil && needed.Plain {
		all.Of = append(all.Of, l.newer)
	}
	where, exact, limit := "", true, needed.Limit
	if len(all.Of) > 0 {
		where, exact = l.Remote.condition(all)
	}
	if !exact || !needed.Whole {
		limit = 0
	}
	if len(where) > maxSent {
		where, limit = "", 0
	}
	if where != "" || limit > 0 {
		l.log.Debug("the source leaves out rows", l.Table.Kind, l.Table.Name, "where", where, "limit", limit)
		l.Remote.Narrow(where, limit)
	}
}

// condition writes a condition that each row that meets c meets, or "". exact says that no
// other row meets it.
func (r *Remote) condition(c *sqltree.Condition) (where string, exact bool) {
	if c.Op != "AND" && c.Op != "OR" {
		return r.comparison(c)
	}
	var parts []string
	exact = true
	for _, of := range c.Of {
		part, is := r.condition(of)
		exact = exact && is
		if part != "" {
			parts = append(parts, part)
		} else if c.Op == "OR" {
			return "", false
		}
	}
	switch len(parts) {
	case 0:
		return "", false
	case 1:
		return parts[0], exact
	}
	return "(" + strings.Join(parts, " "+c.Op+" ") + ")", exact
}

// column returns the column that a name means; nil if that is not sure.
func (r *Remote) column(parts []string) (found *engine.Column) {
	for i, c := range r.Columns {
		switch name := sqltree.Fold(c.Name); {
		case len(parts) == 2 && name == sqltree.Fold(parts[0]): // its field, perhaps
			return nil
		case name == sqltree.Fold(parts[len(parts)-1]):
			if found != nil {
				return nil
			}
			found = &r.Columns[i]
		}
	}
	return found
}

func (r *Remote) comparison(c *sqltree.Condition) (where string, exact bool) {
	column := r.column(c.Parts)
	if column == nil {
		return "", false
	}
	name := engine.Identifier(column.Name)
	switch id := column.Type.ID; {
	case integers[id] != nil, id == engine.Decimal, id == engine.Date:
		if c.Op == "IS NULL" || c.Op == "IS NOT NULL" {
			return name + " " + c.Op, true
		}
		values := make([]string, len(c.Values))
		for i, v := range c.Values {
			if values[i] = exactConstant(column.Type, v); values[i] == "" {
				return "", false
			}
		}
		if c.Op == "IN" {
			return name + " IN (" + strings.Join(values, ", ") + ")", true
		}
		return name + " " + c.Op + " " + values[0], true
	case id == engine.Varchar && (c.Op == "=" || c.Op == "IN"): // other engines may fold letters, and find more
		values := make([]string, len(c.Values))
		for i, v := range c.Values {
			if !plainText(v) {
				return "", false
			}
			values[i] = engine.Literal(v.Text)
		}
		return name + " IN (" + strings.Join(values, ", ") + ")", false
	case moments[id]:
		return moment(name, c, id == engine.TimestampTZ), false
	}
	return "", false
}

// integers are the bounds of types.
var integers = map[engine.TypeID][]*big.Int{
	engine.TinyInt: signed(8), engine.SmallInt: signed(16), engine.Integer: signed(32), engine.BigInt: signed(64),
	engine.UTinyInt: unsigned(8), engine.USmallInt: unsigned(16), engine.UInteger: unsigned(32),
	engine.UBigInt: unsigned(64),
}

func signed(bits uint) []*big.Int {
	half := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return []*big.Int{new(big.Int).Neg(half), new(big.Int).Sub(half, big.NewInt(1))}
}

func unsigned(bits uint) []*big.Int {
	return []*big.Int{new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1))}
}

// exactConstant writes a constant that is a value of the type, or "".
func exactConstant(t *engine.Type, v sqltree.Constant) string {
	if t.ID == engine.Date {
		at, err := time.Parse(time.DateOnly, v.Text)
		if v.Kind != sqltree.StringLiteral || v.Cast != "" && v.Cast != "DATE" || err != nil || at.Year() < 1600 {
			return ""
		}
		return "DATE '" + v.Text + "'"
	}
	n, ok := new(big.Int).SetString(v.Text, 10)
	if v.Kind != sqltree.IntegerLiteral || v.Cast != "" || !ok {
		return ""
	}
	if bounds := integers[t.ID]; bounds != nil && (n.Cmp(bounds[0]) < 0 || n.Cmp(bounds[1]) > 0) ||
		t.ID == engine.Decimal && !n.IsInt64() {
		return ""
	}
	return n.String()
}

// plainText reports whether a text is the same in each engine: without escapes, and not
// one that some take for NULL or shorten.
func plainText(v sqltree.Constant) bool {
	switch text := v.Text; {
	case v.Kind != sqltree.StringLiteral || v.Cast != "":
		return false
	case text == "" || len(text) > maxSentText || strings.TrimSpace(text) != text:
		return false
	default:
		escaped := strings.Contains(text, `\`) || strings.ContainsFunc(text, unicode.IsControl)
		return utf8.ValidString(text) && !escaped
	}
}

// moments are types of times.
var moments = map[engine.TypeID]bool{
	engine.Timestamp: true, engine.TimestampS: true, engine.TimestampMS: true, engine.TimestampNS: true,
	engine.TimestampTZ: true,
}

// By how much a bound of a time is moved outwards: engines may round to a second, and read
// a time without a zone in another one where it is compared with a time that has one.
const (
	roundingMargin = time.Second
	zoneMargin     = 48 * time.Hour
)

// moment writes a comparison with a time, which more rows meet.
func moment(name string, c *sqltree.Condition, zoned bool) string {
	if c.Op == "IS NULL" || c.Op == "IS NOT NULL" {
		return name + " " + c.Op
	}
	if len(c.Values) != 1 {
		return ""
	}
	at, ok := timeIn(c.Values[0])
	if !ok || at.Year() < 1700 || at.Year() > 2200 { // of nanoseconds in 64 bits
		return ""
	}
	margin := roundingMargin
	if zoned || c.Values[0].Cast != "" && c.Values[0].Cast != "DATE" && c.Values[0].Cast != "TIMESTAMP" {
		margin = zoneMargin
	}
	write := func(at time.Time) string {
		if zoned {
			return "CAST('" + at.Format(second) + "+00:00' AS TIMESTAMP WITH TIME ZONE)"
		}
		return "TIMESTAMP '" + at.Format(second) + "'"
	}
	lower, upper := name+" >= "+write(at.Add(-margin).Truncate(time.Second)),
		name+" <= "+write(at.Add(margin+time.Second).Truncate(time.Second))
	switch c.Op {
	case ">", ">=":
		return lower
	case "<", "<=":
		return upper
	case "=":
		return fmt.Sprintf("(%s AND %s)", lower, upper)
	}
	return ""
}

// timeIn reads a time as DuckDB writes it, or a date.
func timeIn(v sqltree.Constant) (time.Time, bool) {
	if v.Kind != sqltree.StringLiteral || v.Cast != "" && v.Cast != "DATE" && !strings.HasPrefix(v.Cast, "TIMESTAMP") {
		return time.Time{}, false
	}
	for _, layout := range []string{
		time.DateOnly, second + ".999999999", second + ".999999999-07",
		second + ".999999999-07:00",
	} {
		if at, err := time.Parse(layout, v.Text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}
