package engine

import (
	"reflect"
	"testing"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// builtins.txt must list the functions of the linked DuckDB; -update writes it.
func TestBuiltinsList(t *testing.T) {
	db := &DB{opts: withDefaults(Options{TempDir: t.TempDir()})}
	if err := db.openRaw(); err != nil {
		t.Fatal(err)
	}
	defer mapping.Close(&db.raw)
	defer db.helpers.wait()
	c, err := db.connect("")
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	asked, err := queryBuiltins(c)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "builtins.txt", asked.format(Version()))
	listed, version := parseBuiltins(asked.format(Version()))
	if version != Version() || !reflect.DeepEqual(listed, asked) {
		t.Error("the list does not have what DuckDB returned")
	}
}
