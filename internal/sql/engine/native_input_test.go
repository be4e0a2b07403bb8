package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/value"
)

// inputRow runs a statement with an input of one row and returns the first column's text.
func inputRow(t *testing.T, db *DB, sql string, rows ...[]any) (string, error) {
	t.Helper()
	out, err := db.Query(context.Background(), Request{SQL: sql, Input: &Input{Rows: rows}})
	if err != nil {
		return "", err
	}
	defer out.Close()
	var text []string
	for chunk, err := range out.Chunks() {
		if err != nil {
			return "", err
		}
		for i := range chunk.Len() {
			if !chunk.Column(0).Valid(i) {
				text = append(text, "NULL")
				continue
			}
			text = append(text, string(chunk.Column(0).Bytes(i)))
		}
	}
	return strings.Join(text, ","), nil
}

// TestInputHasEveryType passes values of every type through one cached plan.
func TestInputHasEveryType(t *testing.T) {
	db := fixture(t, Options{Connections: 1})
	db.maxRun = time.Hour // even on a busy machine
	long := strings.Repeat("long ä ", 100)
	for _, c := range []struct {
		typ   string
		id    *Type
		given []any
		want  string
	}{
		{"BIGINT", &Type{ID: BigInt}, []any{int64(-5), nil, int64(1<<63 - 1)}, "-5,NULL,9223372036854775807"},
		{"UBIGINT", &Type{ID: UBigInt}, []any{uint64(1<<64 - 1), nil}, "18446744073709551615,NULL"},
		{"VARCHAR", &Type{ID: Varchar}, []any{"", "short", nil, long, "twelve bytes"}, ",short,NULL," + long + ",twelve bytes"},
		{"DOUBLE", &Type{ID: Double}, []any{1.5, nil, 0.0}, "1.5,NULL,0.0"},
		{"BOOLEAN", &Type{ID: Boolean}, []any{true, false, nil}, "true,false,NULL"},
		{"BLOB", &Type{ID: Blob}, []any{[]byte{0, 255}, nil}, "\\x00\\xFF,NULL"},
		{"DATE", &Type{ID: Date}, []any{value.Date(0), nil, value.Date(-1)}, "1970-01-01,NULL,1969-12-31"},
		{"TIMESTAMP", &Type{ID: Timestamp}, []any{value.Timestamp(1), nil}, "1970-01-01 00:00:00.000001,NULL"},
		{"TIMESTAMPTZ", &Type{ID: TimestampTZ}, []any{value.TimestampTZ(0), nil}, "1970-01-01 00:00:00+00,NULL"},
		{"TIMESTAMP_NS", &Type{ID: TimestampNS}, []any{value.TimestampNS(1), nil}, "1970-01-01 00:00:00.000000001,NULL"},
		{"DECIMAL", &Type{ID: Decimal, Width: 4, Scale: 1}, []any{value.Numeric("-12.5"), nil}, "-12.5,NULL"},
		{"DECIMAL", &Type{ID: Decimal, Width: 9, Scale: 2}, []any{value.Numeric("1234567.89"), nil}, "1234567.89,NULL"},
		{"DECIMAL", &Type{ID: Decimal, Width: 18, Scale: 0}, []any{value.Numeric("-123456789012345678"), nil}, "-123456789012345678,NULL"},
		{"DECIMAL", &Type{ID: Decimal, Width: 38, Scale: 3}, []any{value.Numeric("-12345678901234567890.125"), nil}, "-12345678901234567890.125,NULL"},
	} {
		if !InputType(c.id) {
			t.Errorf("%s is no type of an input", c.typ)
		}
		sql := "SELECT CAST(v AS VARCHAR) FROM " + InputFrom([]Column{{"v", c.id}}, 1)
		rows := make([][]any, len(c.given))
		for i, v := range c.given {
			rows[i] = []any{v}
		}
		got, err := inputRow(t, db, sql, rows...)
		if err != nil || got != c.want {
			t.Errorf("%s: %.80s %v, want %.80s", c.typ, got, err, c.want)
		}
		if _, err = inputRow(t, db, sql, []any{struct{}{}}); err == nil {
			t.Errorf("%s: a value of another type is no error", c.typ)
		}
		if got, err = inputRow(t, db, sql); got != "" || err != nil {
			t.Errorf("%s: no rows give %q, %v", c.typ, got, err)
		}
	}
	sql := "SELECT CAST(sum(v) AS VARCHAR) FROM " + InputFrom([]Column{{"v", &Type{ID: BigInt}}}, 1)
	rows := make([][]any, 3*ChunkRows+1)
	for i := range rows {
		rows[i] = []any{int64(i)}
	}
	var plan *stmt
	for range 3 {
		if got, err := inputRow(t, db, sql, rows...); err != nil || got != fmt.Sprint(len(rows)*(len(rows)-1)/2) {
			t.Errorf("%d rows: %s, %v", len(rows), got, err)
		}
		if p := cachedPlan(t, db, sql); plan == nil {
			plan = p
		} else if p != plan {
			t.Error("the plan was made again")
		}
	}
}

// TestInputIsTheRuntimes names the table of an input without one.
func TestInputIsTheRuntimes(t *testing.T) {
	db := fixture(t, Options{Connections: 1})
	from := InputFrom([]Column{{"v", &Type{ID: BigInt}}}, 1)
	sql := "SELECT CAST(v AS VARCHAR) FROM " + from
	for range 2 { // the second time, the verdict of the statement with an input is cached
		for _, sql := range []string{sql, "EXPLAIN " + sql, "SELECT 1 WHERE EXISTS (FROM " + from + ")", "FROM " + strings.ToUpper(inputTable) + "({'v': 1}, 1)"} {
			_, err := db.Query(context.Background(), Request{SQL: sql})
			if err == nil || !strings.Contains(err.Error(), inputTable) && !strings.Contains(strings.ToLower(err.Error()), inputTable) {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if got, err := inputRow(t, db, sql, []any{int64(7)}); got != "7" || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// TestInputSeesWrites writes what the statistics of a cached plan rule out.
func TestInputSeesWrites(t *testing.T) {
	db, _ := writing(t, Options{Connections: 2})
	sql := "SELECT CAST(count(*) AS VARCHAR) FROM orders, " + InputFrom([]Column{{"v", &Type{ID: BigInt}}}, 1) + " WHERE id = v"
	check := func(key int64, want string) {
		t.Helper()
		for range 4 {
			if got, err := inputRow(t, db, sql, []any{key}); err != nil || got != want {
				t.Errorf("%d: %s rows, %v; want %s", key, got, err, want)
			}
		}
	}
	for i := range int64(3) {
		check(200+i, "0")
		if _, err := changeRows(context.Background(), db, fmt.Sprintf("INSERT INTO orders VALUES (%d, 'new', 1)", 200+i)); err != nil {
			t.Fatal(err)
		}
		check(200+i, "1")
	}
}
