package functions

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/internal/test/portable"
)

// TestGeneratedBodiesHoldOverColumns calls generated functions for constants and for the same
// values as columns, shuffled, each twice, with rows of NULL between them. A difference is a
// value of another row. difftest -postgres compares more of them, with PostgreSQL.
func TestGeneratedBodiesHoldOverColumns(t *testing.T) {
	g := &generated{T: t}
	for g.seed = range uint64(full.Size(4, 24)) {
		g.catalog()
	}
	t.Logf("%d functions hold, of them %d whose WITH clauses were written in place; %d are refused, %d fail over columns", g.held, g.inlined, g.refused, g.failed)
	if g.held < full.Size(15, 100) || g.inlined < full.Size(1, 15) || g.failed > 3 {
		t.Error("the generator makes too few functions that can be compared")
	}
}

// generated counts the functions of all catalogs.
type generated struct {
	*testing.T
	seed                           uint64 // of the catalog
	held, inlined, refused, failed int
}

// callee matches a call in a body, and clause a WITH clause, where DuckDB errs. Calls in calls
// can end DuckDB itself (docs/sql.md).
var callee, clause = regexp.MustCompile(`\bf\d+\(`), regexp.MustCompile(`\bWITH \w`)

// catalog compares the functions of one catalog.
func (g *generated) catalog() {
	r := rand.New(rand.NewPCG(g.seed, 1))
	c := portable.NewCatalog(r)
	c.Functions = slices.DeleteFunc(c.Functions, func(f portable.Function) bool { return callee.MatchString(f.Body) || !clause.MatchString(f.Body) })
	db, relations := g.open(c.Tables)
	var yaml strings.Builder
	for _, f := range c.Functions {
		yaml.WriteString(f.YAML())
	}
	set, problems := publishOver(g, db, relations, load(g, yaml.String()), nil)
	g.refused += len(problems)
	for _, f := range c.Functions {
		if compiled := set.Get(f.Name); compiled != nil && g.holds(db, f, r) && compiled.body.declared != nil {
			g.inlined++
		}
	}
}

// open opens a database with the tables of a catalog.
func (g *generated) open(tables []portable.Table) (*engine.DB, []engine.Relation) {
	db := open(g)
	var relations []engine.Relation
	for _, t := range tables {
		relations = append(relations, engine.Relation{Schema: engine.Public, Name: t.Name})
	}
	err := db.Publish(g.Context(), engine.NewCatalog(engine.Contents{Relations: relations}), func(tx *engine.Tx) error {
		for _, t := range tables {
			name := "spice.public." + t.Name
			for _, sql := range []string{t.Create(name), t.Insert(name)} {
				if err := tx.Exec(sql); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		g.Fatal(err)
	}
	return db, relations
}

// holds reports whether the calls of f over columns return what those for constants do. An
// error of DuckDB is no value of another row.
func (g *generated) holds(db *engine.DB, f portable.Function, r *rand.Rand) bool {
	const calls = 5
	var args [calls][]string
	var want [calls]string
	for i := range calls {
		args[i] = f.Arguments(r)
		got, err := g.rows(db, call(f, "(SELECT 0)", "0", args[i]))
		if err != nil {
			g.failed++
			return false
		}
		want[i] = got["0"]
	}
	none := slices.Repeat([]string{"NULL"}, len(args[0]))
	var values, columns []string
	for _, i := range r.Perm(2 * calls) {
		values = append(values, fmt.Sprintf("(%d, %s)", i, strings.Join(args[i%calls], ", ")), fmt.Sprintf("(-1, %s)", strings.Join(none, ", ")))
	}
	for i := range args[0] {
		columns = append(columns, fmt.Sprintf("v%d", i))
	}
	sql := call(f, fmt.Sprintf("(VALUES %s) AS v (i, %s)", strings.Join(values, ", "), strings.Join(columns, ", ")), "i", columns)
	got, err := g.rows(db, sql)
	if err != nil {
		g.failed++
		return false
	}
	for i := range 2 * calls {
		if got := got[fmt.Sprint(i)]; got != want[i%calls] {
			g.Errorf("seed %d: %s(%s) is [%s] for constants and [%s] over columns:\n%s%s", g.seed, f.Name, strings.Join(args[i%calls], ", "), want[i%calls],
				got, f.YAML(), sql)
			return false
		}
	}
	g.held++
	return true
}

// call is a statement that calls f for each row of a table, and returns the number of the row
// first.
func call(f portable.Function, from, number string, args []string) string {
	expr := f.Name + "(" + strings.Join(args, ", ") + ")"
	if f.Table {
		return fmt.Sprintf("SELECT %s, o.* FROM %s, LATERAL (SELECT * FROM %s) AS o", number, from, expr)
	}
	return fmt.Sprintf("SELECT %s, %s FROM %s", number, expr, from)
}

// rows are the rows of a statement by their first column, as text in an order of their own.
func (g *generated) rows(db *engine.DB, sql string) (map[string]string, error) {
	text, err := query(g, db, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ("+sql+")")
	rows := map[string]string{}
	list := strings.Split(text, "; ")
	slices.Sort(list)
	for _, row := range list {
		number, row, _ := strings.Cut(row, " ")
		rows[number] += strings.ReplaceAll(row, "-nan", "nan") + "; "
	}
	return rows, err
}
