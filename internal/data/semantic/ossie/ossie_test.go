package ossie_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/semantic/ossie"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/spicepod"
)

// parser opens an engine that parses.
func parser(t testing.TB) (ossie.Parse, func(string) bool) {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	ctx := context.WithoutCancel(t.Context()) // a fuzz target may not ask for that of its F
	return func(text string) (*sqltree.Statement, error) { return db.Parse(ctx, text) }, db.Builtins().Aggregate
}

func listed(notes []ossie.Note) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString(n.String() + "\n")
	}
	return b.String()
}

// TestImport: each part of a document becomes a part of the Spicepod, or a note with its line.
func TestImport(t *testing.T) {
	parse, aggregates := parser(t)
	text, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out, notes, err := ossie.Import(text, parse, aggregates)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/shop.imported.yaml", string(out))
	golden.Equal(t, "testdata/shop.notes.txt", listed(notes))
}

// TestRoundTrip: an exported file is imported as the declarations that it is of.
func TestRoundTrip(t *testing.T) {
	parse, aggregates := parser(t)
	pod, err := spicepod.Load("../../../../testdata/spicepods/metrics")
	if err != nil {
		t.Fatal(err)
	}
	exported, notes, err := ossie.Export(pod, parse, aggregates)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/metrics.ossie.yaml", string(exported))
	golden.Equal(t, "testdata/metrics.notes.txt", listed(notes))
	imported, _, err := ossie.Import(exported, parse, aggregates)
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/metrics.imported.yaml", string(imported))
}

func TestImportRefuses(t *testing.T) {
	parse, aggregates := parser(t)
	for text, want := range map[string]string{
		"":                                   "no document of Ossie",
		"[]":                                 "no document of Ossie",
		"a: [":                               "read YAML",
		"version: 1.0\n":                     "semantic_model has no entries",
		"a: &a [1]\nb: *a\n":                 "line 2 is a YAML alias",
		strings.Repeat(" ", ossie.MaxFile+1): "the limit is",
	} {
		if _, _, err := ossie.Import([]byte(text), parse, aggregates); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}

// FuzzImport: a file of a stranger is sections or an error.
func FuzzImport(f *testing.F) {
	text, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("version: 0.2.0.dev0\nsemantic_model: [{name: m, datasets: [{name: a, source: b, fields: [1]}], " +
		"metrics: [{name: x, expression: {dialects: [{dialect: ANSI_SQL, expression: 'sum(a.b'}]}}]}]")
	parse, aggregates := parser(f)
	f.Fuzz(func(t *testing.T, text string) {
		out, _, err := ossie.Import([]byte(text), parse, aggregates)
		if (out == nil) != (err != nil) {
			t.Errorf("got %q and %v", out, err)
		}
	})
}
