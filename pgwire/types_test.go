package pgwire_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

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
	golden(t, "types.txt", out.Bytes())
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
