package pgcatalog

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// keywordValue is what a function that SQL writes without brackets becomes.
func (r *rewriter) keywordValue(name string) string {
	if r.session.User != "" && name != "current_catalog" {
		return engine.Literal(r.session.User)
	}
	return call(name) + ")"
}

// schemaCall rewrites current_schema() and current_schemas(x), whose name with its
// schema are tokens from to i, for the path of the session, and reports whether
// it did.
func (r *rewriter) schemaCall(from, i int, name string) bool {
	if r.session.Path == nil || name != "current_schema" && name != "current_schemas" || r.items[from] == fromItem {
		return false
	}
	end := r.partner[i+1]
	text := engine.Literal(r.session.Path[0])
	if name == "current_schemas" {
		list := make([]string, len(r.session.Path))
		for n, schema := range r.session.Path {
			list[n] = engine.Literal(schema)
		}
		text = "[" + strings.Join(list, ", ") + "]"
		if r.keywordAt(i+2) == "true" {
			text = "['pg_catalog', " + text[1:]
		}
	}
	r.replace(from, end, text)
	r.nameItem(from, end, name)
	return true
}

// settingCall rewrites current_setting('name') for the values of the session, as
// schemaCall does.
func (r *rewriter) settingCall(from, i int, name string) bool {
	if r.session.Setting == nil || name != "current_setting" || r.items[from] == fromItem ||
		!r.isKind(i+2, sqltree.String) {
		return false
	}
	end := r.partner[i+1]
	value, ok := r.session.Setting(strings.ReplaceAll(strings.Trim(r.tokens[i+2].Text(r.sql), "'"), "''", "'"))
	if !ok || !r.isSymbol(i+3, ",") && i+3 != end {
		return false
	}
	r.replace(from, end, engine.Literal(value))
	r.nameItem(from, end, name)
	return true
}

// findCTEs notes the names of the statement's CTEs, which come before relations.
func (r *rewriter) findCTEs() {
	if r.session.Path == nil {
		return
	}
	r.ctes = map[string]bool{}
	for i := range r.tokens {
		if word := r.keywordAt(i - 1); r.nameAt(i) == "" || word != "with" && word != "recursive" && !r.isSymbol(i-1, ",") {
			continue
		}
		next := i + 1
		if r.isSymbol(next, "(") {
			next = r.partner[next] + 1
		}
		if r.keywordAt(next) == "as" {
			r.ctes[r.nameAt(i)] = true
		}
	}
}

// searchPath writes the schema of a relation that token i names without one, if the
// path of the session finds it outside public.
func (r *rewriter) searchPath(i int, name string) {
	if r.session.Path == nil || name == "" || r.ctes[name] || r.isSymbol(i+1, ".") ||
		r.isSymbol(i+1, "(") && r.keywordAt(i-1) != "into" {
		return
	}
	if word := r.keywordAt(i - 1); r.items[i] != fromItem && word != "into" && word != "update" {
		return
	}
	if schema := r.session.Schema(name); schema != "" && schema != engine.Public {
		r.insert(r.tokens[i].Start, engine.Identifier(schema)+".")
	}
}

// rolesView makes a view of roles, whose name with its schema are tokens from to i, one that has
// the session's user too, and reports whether it did: clients look for what it may do.
func (r *rewriter) rolesView(from, i int) bool {
	view := r.nameAt(i)
	columns, is := roleColumns[view]
	user := r.session.User
	if !is || user == "" || user == owner || r.items[from] != fromItem {
		return false
	}
	alias := " AS " + view
	if next := r.nameAt(i + 1); next == "as" || next != "" && !(r.isKind(i+1, sqltree.Ident) && notAlias[next]) {
		alias = ""
	}
	view = Schema + "." + view
	r.replace(from, i, "(FROM "+view+" UNION ALL SELECT * REPLACE ("+engine.Literal(user)+" AS "+columns.name+
		", 16385::BIGINT AS "+columns.oid+") FROM "+view+")"+alias)
	return true
}

// owner is the role that everything belongs to.
const owner = "spice"

// roleColumns are the views of roles, with their columns of the name and the OID.
var roleColumns = map[string]struct{ name, oid string }{
	"pg_roles": {"rolname", "oid"}, "pg_authid": {"rolname", "oid"}, "pg_user": {"usename", "usesysid"},
	"pg_shadow": {"usename", "usesysid"},
}
