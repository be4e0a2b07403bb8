package wasm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// TestFunctionsEqualSQL compares functions with the same ones in SQL, for random rows with
// NULLs, empty texts and lists, and numbers at the ends of their types.
func TestFunctionsEqualSQL(t *testing.T) {
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	const (
		integers = "CASE WHEN random() < 0.1 THEN NULL WHEN random() < 0.1 THEN 9223372036854775806 ELSE (random() * 1e18 - 5e17)::BIGINT END"
		texts    = "CASE WHEN random() < 0.1 THEN NULL ELSE array_to_string([chr((33 + random() * 400)::INTEGER) FOR x IN range((random() * 20)::INTEGER)], '') END"
		lists    = "CASE WHEN random() < 0.1 THEN NULL ELSE [CASE WHEN random() < 0.2 THEN NULL ELSE (random() * 1e6)::BIGINT END FOR x IN range((random() " +
			"* 9)::INTEGER)] END"
		booleans = "CASE WHEN random() < 0.1 THEN NULL ELSE (random() * 4e9 - 2e9)::INTEGER END"
	)
	for _, c := range []struct{ declaration, value, sql string }{
		{"body_ref: arrow.wasm, " + number, integers, "v + 1"},
		{"body_ref: numbers.wasm, entrypoint: add, " + two, integers, "(v // 2) + (v // 2)"},
		{"body_ref: numbers.wasm, entrypoint: is_even, signature: {args: [{name: x, type: int32}], returns: boolean}", booleans, "v % 2 = 0"},
		{
			"body_ref: arrow.wasm, entrypoint: shout, signature: {args: [{name: s, type: utf8}], returns: utf8}", texts,
			"translate(v, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') || '!'",
		},
		{"body_ref: arrow.wasm, entrypoint: total, signature: {args: [{name: l, type: list<int64>}], returns: int64}", lists, "list_sum(v)::BIGINT"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			b := function(t, c.declaration)
			args := "v"
			if b.spec.Args.NumFields() == 2 {
				args = "v // 2, v // 2"
			}
			rows := query(t, db, fmt.Sprintf("SELECT %s, %s FROM (SELECT %s AS v FROM range(6000))", args, c.sql, c.value))
			compared := 0
			for _, r := range rows {
				last := int(r.NumCols()) - 1
				in := array.NewRecordBatch(b.spec.Args, r.Columns()[:last], r.NumRows())
				got, err := b.Call(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				compared += got.Len()
				if want := r.Column(last); !array.Equal(got, want) {
					t.Fatalf("got %v\nwant %v\nfor %v", got, want, r.Column(0))
				}
			}
			if compared != 6000 {
				t.Errorf("%d rows were compared", compared)
			}
		})
	}
}

// query returns the rows of a statement.
func query(t *testing.T, db *engine.DB, sql string) (rows []arrow.RecordBatch) {
	t.Helper()
	result, err := db.Query(t.Context(), engine.Request{SQL: sql})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	arrowFormat, _ := format.ByName("arrow")
	var data bytes.Buffer
	if _, err := format.Copy(arrowFormat.NewWriter(&data), result); err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(&data)
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
		r.RecordBatch().Retain()
		rows = append(rows, r.RecordBatch())
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return rows
}
