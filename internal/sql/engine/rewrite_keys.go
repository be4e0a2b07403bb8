package engine

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// A relation with a row filter hides its rows from the conditions of a statement, so that
// each statement reads all of them. A condition key = constant can neither fail nor show
// a value: the rewriter gives its constants to a table macro that selects the rows with
// these keys before it applies the filter (docs/decisions). The statement keeps the
// condition: the macro may return other rows too.

// KeyKind is the kind of the constants that a key is compared with. Together with the type
// of the column it decides whether the rows with such keys can be selected.
type KeyKind string

// The kinds of constants. KeyText is also the kind of literals of other types, which DuckDB
// casts to the type of the column.
const (
	KeyInteger     KeyKind = "integer"
	KeyText        KeyKind = "text"
	KeyDate        KeyKind = "date"
	KeyTimestamp   KeyKind = "timestamp"
	KeyTimestampTZ KeyKind = "timestamptz"
	KeyUUID        KeyKind = "uuid"
)

// KeyKinds are all kinds.
var KeyKinds = []KeyKind{KeyInteger, KeyText, KeyDate, KeyTimestamp, KeyTimestampTZ, KeyUUID}

// KindOf returns the kind of the values of a type, by its name in DuckDB; "" if values of
// the type are not selected by key.
func KindOf(typ string) KeyKind {
	switch typ {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT":
		return KeyInteger
	case "VARCHAR":
		return KeyText
	case "DATE":
		return KeyDate
	case "TIMESTAMP":
		return KeyTimestamp
	case "TIMESTAMP WITH TIME ZONE":
		return KeyTimestampTZ
	case "UUID":
		return KeyUUID
	}
	return ""
}

// ByKey returns the name in schema [Core] of the table macro that takes a list of keys of
// a kind and returns the rows of r that the caller may see, at least those with one of
// the keys in the column.
func ByKey(r Relation, column string, kind KeyKind) string {
	return sqltree.Fold(r.Schema) + "." + sqltree.Fold(r.Name) + ":" + sqltree.Fold(column) + ":" + string(kind)
}

// KeyColumn is a column for which there are [ByKey] macros.
type KeyColumn struct {
	Name string
	Type string // DuckDB's, when the catalog was made; a refresh may change it
}

// takes reports whether rows can be selected by keys of a kind. DuckDB casts text to the
// type of the column that it is compared with.
func (c KeyColumn) takes(kind KeyKind) bool {
	own := KindOf(c.Type)
	return kind != "" && own != "" && (own == kind || kind == KeyText)
}

// Keys returns the columns of r for which there are [ByKey] macros.
func (c *Catalog) Keys(r Relation) []KeyColumn {
	return c.contents.Keys[Relation{sqltree.Fold(r.Schema), sqltree.Fold(r.Name)}]
}

// byKey returns the edits that read relations with a condition on a key through a macro,
// the macros' names, and the parameters on whose values they depend. given is nil while
// the values are not known.
func (db *DB) byKey(text string, st *sqltree.Statement, names Names,
	given *Params,
) (edits []sqltree.Edit, macros, params []string) {
	var tokens []sqltree.Token
	value := func(v sqltree.Constant, typ string) (key string, kind KeyKind) {
		if v.Kind != sqltree.Parameter {
			return "", ""
		}
		params = append(params, v.Text)
		if kind = given.kind(v.Text); kind == KindOf(typ) { // DuckDB infers the type of a parameter from its first use
			return "TRY_CAST($" + v.Text + " AS " + typ + ")", kind
		}
		return "$" + v.Text, kind
	}
	for _, ref := range st.Relations {
		if len(ref.Equal) == 0 {
			continue
		}
		relation, ok := names.Relation(ref.Catalog, ref.Schema, ref.Name)
		if !ok || namesSchema(st, relation) {
			continue
		}
		macro, call := CallByKey(relation, ref, names.Keys(relation), value)
		if macro == "" {
			continue
		}
		if tokens == nil {
			tokens = sqltree.Scan(text)
		}
		if span, ok := sqltree.LocateRelation(text, tokens, ref); ok {
			edits, macros = append(edits, sqltree.Edit{Span: span, New: call}), append(macros, macro)
		}
	}
	if len(params) > 0 && len(edits) > 0 {
		edits, _ = sqltree.Merge(edits, numberedParams(text, tokens))
	}
	return edits, macros, params
}

// CallByKey returns the name and the call of the macro that can replace the reference to
// a relation with these key columns, "" if there is none. value returns what is neither a
// literal nor cast, for a column of a type, as SQL, and its kind.
func CallByKey(r Relation, ref sqltree.Relation, columns []KeyColumn,
	value func(v sqltree.Constant, typ string) (string, KeyKind),
) (macro, call string) {
	for _, e := range ref.Equal {
		at := slices.IndexFunc(columns, func(c KeyColumn) bool { return sqltree.Fold(c.Name) == sqltree.Fold(e.Column) })
		if at < 0 {
			continue
		}
		keys, kind := keysOf(e, columns[at].Type, value)
		if !columns[at].takes(kind) {
			continue
		}
		macro = ByKey(r, e.Column, kind)
		call = Qualified(Core, macro) + "(" + keys + ")"
		if ref.Alias == "" {
			call += " AS " + Identifier(ref.Name)
		}
		return macro, call
	}
	return "", ""
}

// namesSchema reports whether the statement may name columns by the relation's schema,
// which a macro does not have.
func namesSchema(st *sqltree.Statement, r Relation) bool {
	return slices.ContainsFunc(st.Columns, func(c sqltree.Column) bool {
		first := sqltree.Fold(c.Parts[0])
		return len(c.Parts) > 2 && (first == sqltree.Fold(r.Schema) || first == CatalogName)
	})
}

// keysOf returns the list of keys of a condition on a column of a type as SQL, and their
// kind, "" if they have none or several.
func keysOf(e sqltree.Equality, typ string, value func(sqltree.Constant, string) (string, KeyKind)) (string, KeyKind) {
	kind, keys := KeyKind(""), make([]string, len(e.Values))
	for i, v := range e.Values {
		var own KeyKind
		keys[i], own = keyOf(v, typ, value)
		if own == "" || i > 0 && own != kind {
			return "", ""
		}
		kind = own
	}
	return "[" + strings.Join(keys, ", ") + "]", kind
}

func keyOf(v sqltree.Constant, typ string,
	value func(sqltree.Constant, string) (string, KeyKind),
) (key string, kind KeyKind) {
	switch {
	case v.Kind == sqltree.StringLiteral:
		key, kind = Literal(v.Text), KeyText
	case v.Kind == sqltree.IntegerLiteral:
		key, kind = v.Text, KeyInteger
	case v.Kind == sqltree.Parameter && v.Cast != "":
		key = "$" + v.Text
	default:
		return value(v, typ)
	}
	if v.Cast != "" {
		return "CAST(" + key + " AS " + v.Cast + ")", KindOf(v.Cast)
	}
	return key, kind
}

// kind returns the kind of a parameter's value, "" if a comparison with it may be inexact
// or the value is not known.
func (p *Params) kind(name string) KeyKind {
	if p == nil {
		return ""
	}
	given, ok := p.Named[name]
	if !ok {
		n, err := strconv.Atoi(name)
		if err != nil || n < 1 || n > len(p.Positional) {
			return ""
		}
		given = p.Positional[n-1]
	}
	switch v := given.(type) {
	case int, int64, uint64:
		return KeyInteger
	case json.Number:
		if plainInteger(v.String()) {
			return KeyInteger
		}
	case string:
		if _, err := strconv.ParseFloat(v, 64); err != nil || plainInteger(v) { // other numbers may become DOUBLE
			return KeyText
		}
	case value.Date:
		return KeyDate
	case value.Timestamp:
		return KeyTimestamp
	case value.TimestampTZ:
		return KeyTimestampTZ
	}
	return ""
}

// plainInteger reports whether a text is an integer that BIGINT holds.
func plainInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// kinds describes what a verdict may depend on in the values of parameters.
func (p *Params) kinds(names []string) string {
	kinds := make([]string, len(names))
	for i, name := range names {
		kinds[i] = string(p.kind(name))
	}
	return strings.Join(kinds, ",")
}

// keyMacro returns the name of the macro that a call names, if it is one of [ByKey].
func keyMacro(c sqltree.Call) (string, bool) {
	return c.Name, c.Table && c.Catalog == CatalogName && c.Schema == Core && strings.Count(c.Name, ":") >= 2
}

// given returns the values of the parameters, nil if they are not known yet.
func (r *Request) given() *Params {
	if r.describe {
		return nil
	}
	return &r.Params
}
