package engine

import (
	_ "embed" // the list
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Builtins are the functions of the linked DuckDB, by folded name.
type Builtins struct {
	kinds    map[string]builtin
	names    []string        // as DuckDB lists them, sorted
	reserved map[string]bool // words that must be quoted as names
	foreign  map[string]bool // functions of extensions, which no statement may call
}

type builtin struct {
	scalar, table, random, aggregate bool
	unstable                         bool // its value may differ between statements
}

// builtinsList has what [queryBuiltins] returned for one version of DuckDB. Asking
// DuckDB at each start takes longer than making the database.
//
//go:embed builtins.txt
var builtinsList string

// loadBuiltins returns the built-in functions of the linked DuckDB.
func loadBuiltins(c *conn) (*Builtins, error) {
	if b, version := parseBuiltins(builtinsList); version == Version() {
		return b, nil
	}
	return queryBuiltins(c)
}

// BuiltinNames returns the names of DuckDB's functions that statements may call.
var BuiltinNames = sync.OnceValue(func() []string {
	b, _ := parseBuiltins(builtinsList)
	return b.allowed()
})

// The kinds of functions in builtinsList, a letter each.
const builtinLetters = "strau"

func (k *builtin) flags() []*bool {
	return []*bool{&k.scalar, &k.table, &k.random, &k.aggregate, &k.unstable}
}

// format is the text that parseBuiltins reads: the version, the reserved words, and a
// line for each function with its name and letters.
func (b *Builtins) format(version string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n%s\n", version, strings.Join(slices.Sorted(maps.Keys(b.reserved)), " "))
	for _, name := range b.names {
		k, letters := b.kinds[name], ""
		for i, is := range k.flags() {
			if *is {
				letters += builtinLetters[i : i+1]
			}
		}
		fmt.Fprintf(&out, "%s %s\n", name, letters)
	}
	return out.String()
}

func parseBuiltins(text string) (b *Builtins, version string) {
	version, text, _ = strings.Cut(text, "\n")
	reserved, text, _ := strings.Cut(text, "\n")
	b = &Builtins{kinds: make(map[string]builtin, strings.Count(text, "\n")), reserved: set(reserved)}
	for line := range strings.Lines(text) {
		name, letters, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var k builtin
		for i, is := range k.flags() {
			*is = strings.IndexByte(letters, builtinLetters[i]) >= 0
		}
		b.names = append(b.names, name)
		b.kinds[name] = k
	}
	return b, version
}

// queryBuiltins asks DuckDB for its functions, before any other is created.
func queryBuiltins(c *conn) (*Builtins, error) {
	b := &Builtins{kinds: map[string]builtin{}, reserved: map[string]bool{}}
	const reserved = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
	err := c.each(reserved, func(chunk *Chunk) error {
		for i := range chunk.Len() {
			b.reserved[string(chunk.Column(0).Bytes(i))] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	const query = `SELECT DISTINCT lower(function_name), function_type IN ('table', 'table_macro', 'pragma'),
		coalesce(stability = 'VOLATILE', false), function_type = 'aggregate',
		coalesce(stability <> 'CONSISTENT', false) FROM duckdb_functions() ORDER BY ALL`
	return b, c.each(query, func(chunk *Chunk) error {
		for i := range chunk.Len() {
			name := string(chunk.Column(0).Bytes(i))
			b.add(name, Value[bool](chunk.Column(1), i), Value[bool](chunk.Column(2), i), Value[bool](chunk.Column(3), i))
			k := b.kinds[name]
			k.unstable = k.unstable || Value[bool](chunk.Column(4), i)
			b.kinds[name] = k
		}
		return nil
	})
}

func (b *Builtins) add(name string, table, random, aggregate bool) {
	k, known := b.kinds[name]
	if !known {
		b.names = append(b.names, name)
	}
	k.random = k.random || random
	k.table = k.table || table
	k.scalar = k.scalar || !table
	k.aggregate = k.aggregate || aggregate
	b.kinds[name] = k
}

// Has reports whether DuckDB or an extension has a function of that name, of any kind.
func (b *Builtins) Has(name string) bool {
	name = sqltree.Fold(name)
	_, ok := b.kinds[name]
	return ok || b.foreign[name]
}

// Random reports whether the value may change with each evaluation, as for
// random() and uuid().
func (b *Builtins) Random(name string) bool { return b.kinds[sqltree.Fold(name)].random }

// Aggregate reports whether DuckDB has an aggregate function of that name.
func (b *Builtins) Aggregate(name string) bool { return b.kinds[sqltree.Fold(name)].aggregate }

// Names returns every name, folded and sorted.
func (b *Builtins) Names() []string { return b.names }

// allowed returns the names that a statement may call.
func (b *Builtins) allowed() []string {
	return slices.DeleteFunc(slices.Clone(b.names), func(name string) bool { return b.refuses(name, false) })
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
