package pgwire_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// TestEveryType writes down each type as it looks on the wire, in text and in
// binary.
func TestEveryType(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	text := c.ExecParams(f.context(), "SELECT * FROM types", nil, nil, nil, []int16{pgx.TextFormatCode}).Read()
	binary := c.ExecParams(f.context(), "SELECT * FROM types", nil, nil, nil, []int16{pgx.BinaryFormatCode}).Read()
	if text.Err != nil || binary.Err != nil {
		t.Fatal(text.Err, binary.Err)
	}
	var out bytes.Buffer
	for i, d := range text.FieldDescriptions {
		fmt.Fprintf(&out, "%-14s %4d %2d %7d  %s  %x\n", d.Name, d.DataTypeOID, d.DataTypeSize, d.TypeModifier, text.Rows[0][i], binary.Rows[0][i])
		if d.Name == "union" { // its NULL has a member, of DuckDB's choice
			continue
		}
		if text.Rows[1][i] != nil || binary.Rows[1][i] != nil {
			t.Errorf("%s: NULL is %q, %x", d.Name, text.Rows[1][i], binary.Rows[1][i])
		}
	}
	golden.Equal(t, "testdata/types.txt", out.Bytes())
}

// TestISOIntervals: what is wanted is what PostgreSQL 15 writes.
func TestISOIntervals(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	if _, _, err := f.simple(c, "SET intervalstyle = ISO_8601"); err != nil || c.ParameterStatus("IntervalStyle") != "iso_8601" {
		t.Errorf("IntervalStyle is %q, %v", c.ParameterStatus("IntervalStyle"), err)
	}
	for _, tt := range []struct {
		months, days, micros int64
		want                 string
	}{
		{0, 0, 0, "PT0S"},
		{14, 3, 14_706_700_000, "P1Y2M3DT4H5M6.7S"},
		{-14, -3, -14_706_700_000, "P-1Y-2M-3DT-4H-5M-6.7S"},
		{-2, -3, 14_706_000_001, "P-2M-3DT4H5M6.000001S"},
		{0, 1, 0, "P1D"},
		{0, 0, -1, "PT-0.000001S"},
		{0, 0, 60_000_000, "PT1M"},
		{0, 0, 3_600_000_000, "PT1H"},
		{0, 0, -3_599_999_999, "PT-59M-59.999999S"},
		{1200, 0, 9_000_000_000_000_001, "P100YT2500000H0.000001S"},
		{13, 0, -500_000, "P1Y1MT-0.5S"},
		{0, 0, math.MinInt64, "PT-2562047788H-54.775808S"},
	} {
		sql := fmt.Sprintf("SELECT to_months(%d) + to_days(%d) + to_microseconds(%d)", tt.months, tt.days, tt.micros)
		if lines, _, err := f.simple(c, sql); err != nil || lines[0] != tt.want {
			t.Errorf("%s: %q, %v; want %s", sql, lines, err, tt.want)
		}
	}
	const sql = "SELECT [INTERVAL '1 year', NULL, INTERVAL '-1.5 s'], [INTERVAL '1 mon -1 day', INTERVAL '0 s']"
	if lines, _, err := f.simple(c, sql); err != nil || lines[0] != "{P1Y,NULL,PT-1.5S}|{P1M-1D,PT0S}" {
		t.Errorf("lists: %q, %v", lines, err)
	}
	var out bytes.Buffer
	if _, err := c.CopyTo(f.context(), &out, "COPY (SELECT INTERVAL '1 day') TO STDOUT"); err != nil || out.String() != "P1D\n" {
		t.Errorf("COPY: %q, %v", &out, err)
	}
	if lines, _, err := f.simple(c, "RESET intervalstyle; SELECT INTERVAL '1 day'"); err != nil || lines[0] != "1 day" {
		t.Errorf("after RESET: %q, %v", lines, err)
	}
	if got := c.ParameterStatus("IntervalStyle"); got != "postgres" {
		t.Errorf("IntervalStyle is %q at the end", got)
	}
	_, _, err := f.simple(c, "SET intervalstyle = sql_standard")
	wantState(t, err, "0A000", "postgres or iso_8601")
}

// TestFormatsAgree reads each value in both formats through pgx.
func TestFormatsAgree(t *testing.T) {
	f := serve(t, nil)
	c := f.connect("")
	values := func(code int16) []any {
		rows, err := c.Query(f.context(), "SELECT * FROM types", pgx.QueryResultFormats{code})
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	text, binary := values(pgx.TextFormatCode), values(pgx.BinaryFormatCode)
	for i, want := range text {
		got := binary[i]
		if n, ok := want.(pgtype.Numeric); ok { // 1e3 and 1000 are equal
			want, got = number(t, n), number(t, got.(pgtype.Numeric))
		}
		if n, ok := want.(float64); ok && math.IsNaN(n) {
			want, got = "NaN", fmt.Sprint(got)
		}
		if everyType[i].name == "timetz" { // pgx knows no such type
			continue
		}
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s: %v as text, %v as binary", everyType[i].name, want, got)
		}
	}
}

func number(t *testing.T, n pgtype.Numeric) string {
	b, err := n.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
