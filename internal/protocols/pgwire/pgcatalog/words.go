package pgcatalog

import (
	"maps"
	"slices"
	"strings"
)

// The words that tell what a statement needs. All are folded.
var (
	// ours are the functions that become macros: name → whether it is one.
	ours = functionNames()
	// relations are the views, by name. Those that begin with pg_ are found
	// without a schema too.
	relations = relationNames()
	// keywords are functions that SQL writes without brackets.
	keywords = set("user current_user session_user current_role current_catalog")
	// aliases are the OID alias types: names for the objects of a catalog.
	// https://www.postgresql.org/docs/15/datatype-oid.html
	aliases = map[string]alias{
		"regclass":     {"to_regclass", "to_regclass", "regclass_name"},
		"regtype":      {"to_regtype", "to_regtype", "regtype_name"},
		"regproc":      {"regproc_name", "to_regproc", "regproc_name"}, // typinput and the like hold names
		"regprocedure": {"to_regproc", "to_regproc", "regproc_name"},
		"regnamespace": {"to_regnamespace", "to_regnamespace", "regnamespace_name"},
		"regrole":      {"to_regrole", "to_regrole", "regrole_name"},
	}
	// differing are functions that DuckDB has too, with another meaning: they are
	// macros in statements on the catalog alone.
	differing = set("format encode array_length")
	// transactions are what age takes in addition to times: columns and casts of xid.
	transactions = set("xid xmin xmax transactionid datfrozenxid relfrozenxid relminmxid backend_xid backend_xmin")
	// renamed are functions that DuckDB has under another name.
	renamed = map[string]string{
		"json_build_object": "json_object", "jsonb_build_object": "json_object", "json_build_array": "json_array",
		"jsonb_build_array": "json_array",
		"json_agg":          "json_group_array", "jsonb_agg": "json_group_array", "json_object_agg": "json_group_object",
		"jsonb_object_agg": "json_group_object",
	}
	// series are functions in FROM whose alias names their one column too.
	series = set("generate_series generate_subscripts unnest regexp_split_to_table string_to_array " +
		"pg_indexam_has_property")
	// fromWord are the words before a relation, notAlias those that may follow it.
	fromWord = set("from join only table lateral")
	notAlias = set("where join left right inner full cross natural on using group order having limit offset " +
		"union except " +
		"intersect with as and or window fetch for lateral")
	// endsFrom are the words after which a comma separates no relations.
	endsFrom = set("where on group order union")
	// casts to these types become casts to DuckDB's.
	typeNames = map[string]string{
		"name": "VARCHAR", "char": `"char"`, "xid": "BIGINT", "cid": "BIGINT", "tid": "VARCHAR", "aclitem": "VARCHAR",
		"jsonb":      "JSON",
		"int2vector": "VARCHAR", "oidvector": "VARCHAR", "cstring": "VARCHAR", "unknown": "VARCHAR", "inet": "VARCHAR",
		"citext":         "VARCHAR",
		"sql_identifier": "VARCHAR", "character_data": "VARCHAR", "cardinal_number": "INTEGER", "yes_or_no": "VARCHAR",
		"pg_node_tree": "VARCHAR",
		"regoper":      "VARCHAR", "regoperator": "VARCHAR", "regcollation": "VARCHAR", "regconfig": "VARCHAR", "regdictionary": "VARCHAR", // not named
	}
	// collations that compare as DuckDB does.
	collations = set("default c posix ucs_basic")
	// triggers are the words, in addition to those that begin with pg_, that make it
	// worth while to look at a statement closely.
	triggers = triggerWords()
)

// alias is what a cast to an OID alias type becomes: the macro for a text, for a
// text that is cast to oid next, and for an OID.
type alias struct{ text, oid, name string }

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// helpers are macros that only Rewrite writes.
var helpers = set("age array_length encode format substring type_oid type_modifier pattern ipattern array vector " +
	"regclass_name regtype_name regtype_names to_regtypes regproc_name regnamespace_name regrole_name " +
	"user current_user session_user current_role current_catalog")

func functionNames() map[string]bool {
	names := map[string]bool{}
	for _, m := range slices.Concat(typeMacros(), macros) {
		if !helpers[m.name] {
			names[m.name] = true
		}
	}
	return names
}

func relationNames() map[string]bool {
	names := map[string]bool{}
	for _, r := range Relations() {
		names[r.Name] = true
	}
	return names
}

func triggerWords() map[string]bool {
	words := set("to_char to_timestamp to_date encode bytea nan user information_schema collate operator jsonb " +
		"xid inet citext name")
	maps.Copy(words, ours)
	maps.Copy(words, keywords)
	for name := range renamed {
		words[name] = true
	}
	for name := range aliases {
		words[name] = true
	}
	return words
}

// longest is the length of the longest trigger.
const longest = 32

// mentions reports whether sql has a word that Rewrite knows, be it in a string
// or a comment. It only looks at ASCII and allocates nothing.
func mentions(sql string) bool {
	var word [longest]byte
	for i := 0; i < len(sql); i++ {
		c := sql[i]
		if c == '\\' || c == '~' && i+1 < len(sql) && sql[i+1] == '*' {
			return true
		}
		if c == '\'' && i+1 < len(sql) && sql[i+1] == '{' {
			return true
		}
		if !letter(c) {
			continue
		}
		n, start := 0, i
		for ; i < len(sql) && (letter(sql[i]) || sql[i] >= '0' && sql[i] <= '9'); i++ {
			if n < longest {
				word[n] = lower(sql[i])
			}
			n++
		}
		i--
		switch {
		case n > 3 && word[0] == 'p' && word[1] == 'g' && word[2] == '_':
			return true
		case n > longest || !starts[word[0]] || !triggers[string(word[:n])]:
		case string(word[:n]) != "name" && string(word[:n]) != "version":
			return true
		case start > 0 && sql[start-1] == ':' || i+1 < len(sql) && sql[i+1] == '(': // columns are called so too
			return true
		}
	}
	return false
}

// starts are the first letters of triggers.
var starts = func() (first [256]bool) {
	for w := range triggers {
		first[w[0]] = true
	}
	return first
}()

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
