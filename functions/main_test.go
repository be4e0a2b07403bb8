package functions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

// head begins the Spicepods of these tests.
const head = "version: v1\nkind: Spicepod\nname: test\nfunctions:\n"

// load reads a Spicepod whose functions section is given.
func load(t testing.TB, functions string) *spicepod.Pod {
	t.Helper()
	return podtest.Load(t, "functions:\n"+functions)
}

// open opens a database with the prelude and two datasets.
func open(t testing.TB) *engine.DB {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	err = db.Publish(t.Context(), engine.NewCatalog(engine.Contents{Relations: relations}), func(tx *engine.Tx) error {
		sqls := []string{
			"CREATE TABLE spice.public.orders AS SELECT range AS id, range % 3 AS customer, range * 10 AS amount FROM range(9)",
			"CREATE TABLE spice.public.numbers AS SELECT range AS value FROM range(1, 5)",
		}
		for _, m := range prelude.Macros {
			sqls = append(sqls, m.SQL())
		}
		for _, sql := range sqls {
			if err := tx.Exec(sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

var relations = []engine.Relation{{Schema: "public", Name: "orders"}, {Schema: "public", Name: "numbers"}}

// publish compiles and creates the functions and returns all problems.
func publish(t testing.TB, db *engine.DB, pod *spicepod.Pod, reuse *Set) (*Set, spicepod.Problems) {
	t.Helper()
	return publishOver(t, db, relations, pod, reuse)
}

// publishOver is publish over other datasets.
func publishOver(t testing.TB, db *engine.DB, relations []engine.Relation, pod *spicepod.Pod, reuse *Set) (*Set, spicepod.Problems) {
	t.Helper()
	set, problems := Compile(t.Context(), db, pod, relations, reuse)
	for range 3 {
		var failed []string
		err := db.Publish(t.Context(), engine.NewCatalog(engine.Contents{Generation: 1, Relations: relations, Functions: set.Engine()}), func(tx *engine.Tx) error {
			for _, f := range set.Changed(reuse) {
				if slices.ContainsFunc(f.Uses.Functions, func(n string) bool { return slices.Contains(failed, n) }) {
					failed = append(failed, f.Name)
					problems = append(problems, missingCallee(pod, f.Path, f.Name, "function "+f.Uses.Functions[0], 0))
					continue
				}
				if p := f.Create(tx, pod, Published()); p != nil {
					problems = append(problems, *p)
					failed = append(failed, f.Name)
				}
			}
			if failed != nil {
				return fmt.Errorf("%v failed", failed)
			}
			return nil
		})
		if failed == nil {
			if err != nil {
				t.Fatal(err)
			}
			return set, problems
		}
		var more spicepod.Problems
		set, more = set.Without(pod, failed...)
		problems = append(problems, more...)
	}
	t.Fatal("no generation could be published")
	return nil, nil
}

// query returns the rows of sql as text: columns with spaces between, rows with
// semicolons.
func query(t testing.TB, db *engine.DB, sql string, params ...any) (string, error) {
	t.Helper()
	rows, err := db.Query(context.Background(), engine.Request{SQL: sql, Params: engine.Params{Positional: params}})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var all []string
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return "", err
		}
		for i := range chunk.Len() {
			row := make([]string, len(rows.Columns()))
			for j := range row {
				row[j] = cell(chunk.Column(j), i)
			}
			all = append(all, strings.Join(row, " "))
		}
	}
	return strings.Join(all, "; "), nil
}

func cell(v *engine.Vector, i int) string {
	if !v.Valid(i) {
		return "NULL"
	}
	switch v.Type.ID {
	case engine.BigInt:
		return fmt.Sprint(engine.Value[int64](v, i))
	case engine.Integer:
		return fmt.Sprint(engine.Value[int32](v, i))
	case engine.Double:
		return fmt.Sprint(engine.Value[float64](v, i))
	case engine.Boolean:
		return fmt.Sprint(engine.Value[bool](v, i))
	case engine.Varchar:
		return string(v.Bytes(i))
	}
	return v.Type.String()
}
