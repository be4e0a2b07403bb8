// Package portable generates statements in the part of SQL that PostgreSQL and DuckDB
// share, tables for them, and functions that they call: one text that must return the same
// on both.
//
//	catalog := portable.NewCatalog(rand.New(rand.NewPCG(7, 0)))
//	statement := catalog.Statement(portable.Random(rand.New(rand.NewPCG(7, 1))))
//	smallest := catalog.Shrink(statement, func(s portable.Statement) bool { return differs(s.SQL) })
//
// What SQL leaves open does not occur: rows that LIMIT, DISTINCT ON and window frames
// choose from have a total order, expressions neither fail nor leave their types for any value,
// and sums of floats are exact. What only the dialects differ in does not occur either:
// division of integers, texts of floats, the default order of NULLs.
package portable

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is a type that both databases have.
type Kind int

// The kinds, with their types.
const (
	Integer   Kind = iota // bigint
	Text                  // text, of collation "C"
	Boolean               // boolean
	Double                // float8
	Numeric               // numeric(18,3)
	Date                  // date
	Timestamp             // timestamp
	Interval              // interval
)

// types are the names of the kinds in SQL, and in signatures of a Spicepod.
var types = [...]struct{ sql, declared string }{
	Integer:   {"bigint", "int64"},
	Text:      {"text", "utf8"},
	Boolean:   {"boolean", "boolean"},
	Double:    {"float8", "float64"},
	Numeric:   {"numeric(18,3)", "decimal(18,3)"},
	Date:      {"date", "date32"},
	Timestamp: {"timestamp", "timestamp(us)"},
	Interval:  {"interval", "interval"},
}

// Column is a column of a result. Its name is c1, c2, ….
type Column struct {
	Kind    Kind
	Rounded bool // a float that depends on the order of additions or on the library of maths
}

// Statement is a generated statement.
type Statement struct {
	SQL      string
	Columns  []Column
	Ordered  bool     // the rows have one order
	Features []string // of [Features]
	Calls    []string // names of functions of the catalog

	choices []int // that the generator made
}

// Statement generates a statement.
func (c *Catalog) Statement(from *Choices) Statement {
	g := &generator{catalog: c, choices: from}
	s := Statement{}
	kinds := g.kinds(4)
	depth := 1 + g.n(3)
	switch {
	case g.chance(4):
		s.SQL, s.Columns = g.rounded(depth)
	case g.chance(3):
		s.Ordered = true
		s.SQL = g.totalOrder(g.query(kinds, depth, nil), kinds)
	default:
		s.SQL = g.query(kinds, depth, nil)
	}
	if s.Columns == nil {
		for _, k := range kinds {
			s.Columns = append(s.Columns, Column{Kind: k})
		}
	}
	s.choices, s.Features, s.Calls = from.made, g.used(), g.called()
	return s
}

// generator makes one statement or the body of one function.
type generator struct {
	catalog  *Catalog
	choices  *Choices
	names    int             // of aliases that were made
	ctes     []relation      // that the text here may read
	features map[string]bool // that were used
	calls    map[string]bool
}

// field is an expression that a query may use: a column of its FROM, or of one around it.
type field struct {
	sql  string
	kind Kind
}

// relation is a CTE.
type relation struct {
	name  string
	kinds []Kind
}

// n returns a choice from 0 to of-1. 0 is the simplest.
func (g *generator) n(of int) int { return g.choices.next(of) }

// chance is true once in some times. It is false where the choices are at their end.
func (g *generator) chance(of int) bool { return g.n(of) == of-1 }

func choose[T any](g *generator, of ...T) T { return of[g.n(len(of))] }

// name returns an alias that no other part of the statement has.
func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// use notes a feature of the statement.
func (g *generator) use(feature string) {
	if g.features == nil {
		g.features = map[string]bool{}
	}
	g.features[feature] = true
}

func (g *generator) used() []string   { return keys(g.features) }
func (g *generator) called() []string { return keys(g.calls) }

func keys(of map[string]bool) (all []string) {
	for k := range of {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// kinds chooses the kinds of 1 to most columns.
func (g *generator) kinds(most int) []Kind {
	kinds := make([]Kind, 1+g.n(most))
	for i := range kinds {
		kinds[i] = g.kind()
	}
	return kinds
}

// kind chooses a kind; those with the most functions come most often.
func (g *generator) kind() Kind {
	return choose(g, Integer, Integer, Integer, Text, Text, Boolean, Numeric, Double, Date, Timestamp, Interval)
}

// cast is the expression with exactly the type of the kind.
func cast(sql string, k Kind) string { return "CAST(" + sql + " AS " + types[k].sql + ")" }

// columnNames are c1, c2, …, with a prefix.
func columnNames(prefix string, n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%sc%d", prefix, i+1)
	}
	return strings.Join(names, ", ")
}

// fieldsOf are the columns c1, c2, … of a relation.
func fieldsOf(alias string, kinds []Kind) []field {
	fields := make([]field, len(kinds))
	for i, k := range kinds {
		fields[i] = field{fmt.Sprintf("%s.c%d", alias, i+1), k}
	}
	return fields
}
