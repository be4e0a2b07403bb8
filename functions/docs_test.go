package functions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/sql/types"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

const typesHead = `# Types

<!-- Written by functions/docs_test.go. Do not edit: change internal/sql/types/table.go
     and run: make docs -->

The types of arguments, results and columns of functions have the names of SQL, DuckDB, Arrow and Spice, in any case:

` + "```yaml" + `
signature:
  args: [{ name: city, type: utf8 }, { name: tags, type: "list<utf8>" }]
  returns: "struct<km: float64, day: date>"
` + "```" + `

- ` + "`int8` to `int64`" + ` are Arrow's names, by bits: PostgreSQL's ` + "`int8`, of 8 bytes, is `bigint`" + ` here.
- ` + "`T[]` and `list<T>`" + ` are lists, ` + "`T[3]`" + ` is an array of three elements.
- The length in ` + "`varchar(20)`" + ` has no effect. ` + "`decimal(10)` is `decimal(10,0)`" + `, with at most 38 digits. ` +
	"`timestamp(3)`" + ` has milliseconds.
- Keys of a map must be simple values, such as numbers, texts and dates. A union is an object with one member.
- Statements return BIGNUM, GEOMETRY and VARIANT as text; arguments cannot have these types.

*JSON* is an argument or result of a tool; ` + "`spiced call NAME --schema`" + ` prints the schema. Numbers may be text in arguments, ` + "`\"12\"`" +
	`; those that the type cannot hold are refused. *Arrow* and *PostgreSQL* are the types of results.

| type | other names | JSON | Arrow | PostgreSQL |
|---|---|---|---|---|
`

// typeRow is a row of docs/types.md: the entries of the table for one type of DuckDB.
type typeRow struct{ sql, names, json, arrow, postgres string }

// unregistered are the types of PostgreSQL that pgx does not name.
var unregistered = map[uint32]string{pgtype.TimetzOID: "timetz"}

// TestDocsOfTypesAreFresh compares docs/types.md with the table.
func TestDocsOfTypesAreFresh(t *testing.T) {
	plain := map[string]bool{} // names that are a type without parameters
	for _, info := range types.All() {
		for _, name := range info.Names {
			plain[name] = plain[name] || info.Form == ""
		}
	}
	var rows []*typeRow
	byFamily := map[string]*typeRow{} // by the name of DuckDB without parameters
	for _, info := range types.All() {
		if len(info.Names) == 0 {
			continue
		}
		text, names := info.Names[0], info.Names
		if info.Form != "" {
			text, names = info.Form, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return plain[name] })
			names = append([]string{info.Form}, names...)
		}
		typ, err := ParseType(text)
		if err != nil {
			t.Fatal(err)
		}
		family, _, _ := strings.Cut(typ.SQL(), "(")
		r := byFamily[family]
		if r == nil {
			r = &typeRow{sql: typ.SQL(), json: info.Example, arrow: typ.Arrow(), postgres: postgresName(t, info.OID)}
			if info.Arrow != nil {
				r.arrow = types.ArrowName(info.Arrow)
			}
			rows, byFamily[family] = append(rows, r), r
		}
		for _, name := range names {
			if !strings.EqualFold(name, r.sql) {
				r.names = strings.TrimPrefix(r.names+", "+code(name), ", ")
			}
		}
	}
	out := typesHead
	for _, r := range rows {
		out += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", code(r.sql), r.names, code(r.json), code(r.arrow), r.postgres)
	}
	golden.Equal(t, "../docs/types.md", out)
}

// postgresName is the name of a type of PostgreSQL.
func postgresName(t *testing.T, oid uint32) string {
	t.Helper()
	if oid == 0 {
		return "array"
	}
	if known, ok := pgtype.NewMap().TypeForOID(oid); ok {
		if element, array := strings.CutPrefix(known.Name, "_"); array {
			return element + "[]"
		}
		return known.Name
	}
	name, ok := unregistered[oid]
	if !ok {
		t.Errorf("pgx does not name the type %d: add it to unregistered", oid)
	}
	return name
}

// code returns text as code in a cell of a table.
func code(text string) string { return "`" + strings.ReplaceAll(text, "|", `\|`) + "`" }
