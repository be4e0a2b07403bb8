package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spiced-sql/spiced/internal/test/portable"
)

// askText returns rows of texts, or nil for NULL.
func askText(ctx context.Context, conn *pgconn.PgConn, sql string) ([][]any, error) {
	answer := conn.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	if answer.Err != nil {
		return nil, answer.Err
	}
	var rows [][]any
	for _, r := range answer.Rows {
		row := make([]any, len(r))
		for i, v := range r {
			if v != nil {
				row[i] = string(v)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// textValues reads the lines that postgresRow makes.
func textValues(lines []string) (rows [][]any) {
	for _, line := range lines {
		var row []any
		for line != "" {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				row, line = append(row, nil), strings.TrimPrefix(strings.TrimPrefix(line, "NULL"), " | ")
				continue
			}
			text, _ := strconv.Unquote(quoted)
			row, line = append(row, text), strings.TrimPrefix(line[len(quoted):], " | ")
		}
		rows = append(rows, row)
	}
	return rows
}

// jsonValues returns the rows of a JSON array of objects with the fields c1, c2, ….
func jsonValues(body []byte) ([][]any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var objects []map[string]any
	if err := d.Decode(&objects); err != nil {
		return nil, fmt.Errorf("%.200s: %w", body, err)
	}
	var rows [][]any
	for _, o := range objects {
		row := make([]any, len(o))
		for i := range row {
			if v, ok := o[fmt.Sprintf("c%d", i+1)]; !ok {
				return nil, fmt.Errorf("a row has no column c%d: %v", i+1, o)
			} else if v != nil {
				row[i] = fmt.Sprint(v)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// canonical replaces the texts of equal values by one.
func canonical(rows [][]any, columns []portable.Column) error {
	for _, row := range rows {
		if len(row) != len(columns) {
			return fmt.Errorf("%d columns in place of %d", len(row), len(columns))
		}
		for i, v := range row {
			text, ok := v.(string)
			if !ok {
				continue
			}
			value, err := canonicalValue(columns[i].Kind, text)
			if err != nil {
				return fmt.Errorf("column c%d: %w", i+1, err)
			}
			row[i] = value
		}
	}
	return nil
}

func canonicalValue(k portable.Kind, text string) (any, error) {
	switch k {
	case portable.Integer, portable.Numeric:
		v, ok := new(big.Rat).SetString(text)
		if !ok {
			return nil, fmt.Errorf("%q is no number", text)
		}
		return v.RatString(), nil
	case portable.Double:
		v, err := strconv.ParseFloat(text, 64)
		if v == 0 {
			v = 0 // no sign
		}
		return v, err
	case portable.Boolean:
		return strconv.ParseBool(text)
	case portable.Timestamp:
		text = strings.Replace(text, "T", " ", 1)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
	case portable.Interval:
		return microseconds(text)
	}
	return text, nil
}

// microseconds is the length of an interval, a month being 30 days: what = compares.
func microseconds(text string) (any, error) {
	words := strings.Fields(text)
	var total int64
	for i := 0; i < len(words); i++ {
		if strings.Contains(words[i], ":") {
			v, err := clock(words[i])
			if err != nil {
				return nil, err
			}
			total += v
			continue
		}
		n, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil || i+1 == len(words) {
			return nil, fmt.Errorf("%q is no interval", text)
		}
		i++
		unit, ok := days[strings.TrimSuffix(words[i], "s")]
		if !ok {
			return nil, fmt.Errorf("%q is no interval", text)
		}
		total += n * unit * 24 * 3600 * 1e6
	}
	return total, nil
}

var days = map[string]int64{"year": 360, "mon": 30, "month": 30, "day": 1}

// clock is hours, minutes and seconds with a sign.
func clock(text string) (int64, error) {
	parts := strings.Split(strings.TrimLeft(text, "+-"), ":")
	if len(parts) != 3 {
		return 0, fmt.Errorf("%q is no time", text)
	}
	var total float64
	for _, p := range parts {
		v, err := strconv.ParseFloat(p, 64)
		if err != nil {
			return 0, err
		}
		total = total*60 + v
	}
	micros := int64(math.Round(total * 1e6))
	if strings.HasPrefix(text, "-") {
		micros = -micros
	}
	return micros, nil
}

// dropInfinite replaces floats that JSON does not have.
func dropInfinite(rows [][]any) {
	for _, row := range rows {
		for i, v := range row {
			if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				row[i] = nil
			}
		}
	}
}

// equalRows compares rows with canonical values: in their order, or as multisets.
func equalRows(a, b [][]any, columns []portable.Column, ordered bool) bool {
	if len(a) != len(b) {
		return false
	}
	if !ordered {
		a, b = slices.SortedFunc(slices.Values(a), compareRows), slices.SortedFunc(slices.Values(b), compareRows)
	}
	for i := range a {
		for j, c := range columns {
			if !equalValues(a[i][j], b[i][j], c.Rounded) {
				return false
			}
		}
	}
	return true
}

func compareRows(a, b []any) int {
	return strings.Compare(fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b))
}

// equalValues compares floats that depend on the order of additions with a tolerance.
func equalValues(a, b any, rounded bool) bool {
	x, ok := a.(float64)
	y, both := b.(float64)
	if !ok || !both {
		return a == b
	}
	if math.IsNaN(x) || math.IsInf(x, 0) || !rounded {
		return x == y || math.IsNaN(x) && math.IsNaN(y)
	}
	return math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y), 1)
}
