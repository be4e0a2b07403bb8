package main

import (
	"context"
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// function is a function that statements may call, with all its signatures.
type function struct {
	name       string
	signatures []signature
	whole      []string // or these statements, which the guard judges
}

// is reports whether name, of the flag -only, means the function.
func (f *function) is(name string) bool {
	return f.name == name || f.name == "("+name+")" || len(f.whole) > 0 && name == "statements"
}

// signature is one form of a function, as duckdb_functions() lists it.
type signature struct {
	kind     string   // "scalar", "aggregate", "table", "macro", "table_macro"
	params   []string // type names, "" if any
	variadic string   // type of further arguments, "" for none
}

const listFunctions = `SELECT lower(function_name), function_type, coalesce(array_to_string(list_transform(parameter_types, lambda t: coalesce(t, '')), '|'), ''),
	len(parameters)::BIGINT, coalesce(varargs, '') FROM duckdb_functions() ORDER BY ALL`

// collation matches the collations of ICU but a few: all run the same code.
var collation = regexp.MustCompile(`^icu_collate_([a-c]|d[az]|e[elst]|f|g|h|i|k|l|m|nb|ne|nl|nn|ns|o|p|r|s|t|u|v|w|x|y|zu)`)

// loadFunctions returns the functions that statements may call, sorted by name.
func loadFunctions(ctx context.Context, db *engine.DB) ([]*function, error) {
	rows, err := db.Query(ctx, engine.Request{SQL: listFunctions, Trusted: true})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*function
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return nil, err
		}
		for i := range chunk.Len() {
			text := func(column int) string { return string(chunk.Column(column).Bytes(i)) }
			name, s := text(0), signature{kind: text(1), variadic: text(4)}
			if !db.Builtins().Allows(name, strings.HasPrefix(s.kind, "table")) || collation.MatchString(name) {
				continue
			}
			if n := engine.Value[int64](chunk.Column(3), i); n > 0 {
				s.params = make([]string, n)
				copy(s.params, strings.Split(text(2), "|"))
			}
			if len(all) == 0 || all[len(all)-1].name != name {
				all = append(all, &function{name: name})
			}
			f := all[len(all)-1]
			f.signatures = append(f.signatures, s)
		}
	}
	return all, nil
}
