package engine

import (
	"reflect"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// builtins.txt must list the functions of the linked DuckDB; -update writes it.
func TestBuiltinsList(t *testing.T) {
	in, err := openBare(Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer in.close(true)
	asked, err := queryBuiltins(in.writer)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "builtins.txt", asked.format(Version()))
	listed, version := parseBuiltins(asked.format(Version()))
	if version != Version() || !reflect.DeepEqual(listed, asked) {
		t.Error("the list does not have what DuckDB returned")
	}
}
