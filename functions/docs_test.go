package functions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/types"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

const typesHead = `# Types

<!-- Written by functions/docs_test.go. Do not edit: change internal/sql/types/table.go
     and run: make docs -->

The types that arguments, results and columns of functions may have in a Spicepod. Each has the names of SQL, DuckDB, Arrow and Spice, in any case; what ` +
	"`DESCRIBE`" + ` prints is also a name.

- ` + "`int8` to `int64`" + ` are Arrow's names, of so many bits: PostgreSQL's ` + "`int8`, of 8 bytes, is `bigint` or `int64`" + ` here, and ` +
	"`float` is `float4`" + `, as in DuckDB.
- ` + "`T[]` and `list<T>`" + ` are lists; ` + "`T[3]`" + ` is an array of three elements; both nest. Fields of a struct are written ` +
	"`a: int64` or `a int64`" + `, with names in quotes where needed.
- The length in ` + "`varchar(20)`" + ` has no effect. ` + "`decimal` is `decimal(18,3)`, `decimal(10)` is `decimal(10,0)`" + `; 38 digits are the most. ` +
	"`timestamp(0)`, `(3)`, `(6)` and `(9)`" + ` have so many digits of a second.
- The keys of a map are the names of a JSON object, so they must be numbers, texts, dates or the like. The value of a union is an object with one member.
- Inside another type, an enum is VARCHAR in SQL; its values are checked in arguments of tools.
- BIGNUM, GEOMETRY and VARIANT are returned as text by statements, but are not types of arguments and results.

Arguments of tools have the schema *argument*; a call also takes ` + "`null`, and numbers as text such as `\"12\"`" +
	` ([0039](decisions/0039-plain-types-of-arguments.md)). For a float64, fractions are rounded to the nearest; an integer that it does not have (` +
	"`9007199254740993`" + `) and a number that would become 0 are refused, with the nearest one. Results have the schema *result*, or that of the argument, and may be ` + "`null`" + `. Examples are JSON. Text that holds an object or a list is read as that for ` + "`json`" + `. *Arrow* is the type of a column in results of Arrow and Flight SQL, *PostgreSQL* that over its protocol.

| DuckDB | names | Arrow | argument | result | PostgreSQL | example |
|---|---|---|---|---|---|---|
`

// TestDocsOfTypesAreFresh compares docs/types.md with the table.
func TestDocsOfTypesAreFresh(t *testing.T) {
	out := typesHead
	cell := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
	}
	for _, info := range types.All() {
		if len(info.Names) == 0 {
			continue
		}
		text, names := info.Names[0], make([]string, len(info.Names))
		for i, name := range info.Names {
			names[i] = cell(name)
		}
		if info.Form != "" {
			text, names = info.Form, append([]string{cell(info.Form)}, names...)
		}
		typ, err := ParseType(text)
		if err != nil {
			t.Fatal(err)
		}
		argument, err1 := json.Marshal(typ.JSONSchema())
		result := ""
		if info.Result != nil {
			b, _ := json.Marshal(info.Result)
			result = string(b)
		}
		arrow := typ.Arrow()
		if info.Arrow != nil {
			arrow = types.ArrowName(info.Arrow)
		}
		if err1 != nil {
			t.Fatal(err1)
		}
		postgres := "by element"
		if info.OID != 0 {
			postgres = fmt.Sprint(info.OID)
		}
		out += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", cell(typ.SQL()), strings.Join(names, ", "), cell(arrow), cell(string(argument)), cell(result),
			postgres, cell(info.Example))
	}
	golden.Equal(t, "../docs/types.md", out)
}
