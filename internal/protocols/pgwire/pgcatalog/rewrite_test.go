package pgcatalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ name, sql, want string }{
		{"a plain statement", "SELECT a, b::BIGINT FROM orders WHERE name = 'x'", ""},
		{"words in strings and comments", "SELECT 'pg_catalog.pg_class', $$version()$$ -- pg_class::regclass\n/* COLLATE \"C\" */", ""},
		{"columns of the same name", "SELECT t.version, version, pg_class FROM t AS pg_type", ""},
		{"a chained call", "SELECT x.version() FROM t", ""},
		{"a cast of nothing to bytea", "::bytea", ""},
		{"a cast of nothing to numeric", "::numeric nan", ""},
		{"a schema", "SELECT * FROM PG_CATALOG.pg_class, \"information_schema\".tables", "SELECT * FROM pgcatalog.pg_class, pgcatalog.tables"},
		{
			"no schema", "SELECT * FROM pg_class c, pg_type JOIN pg_proc ON true",
			"SELECT * FROM pgcatalog.pg_class c, pgcatalog.pg_type JOIN pgcatalog.pg_proc ON true",
		},
		{
			"brackets in FROM", "SELECT * FROM (pg_class JOIN pg_am ON (pg_am.oid = relam))",
			"SELECT * FROM (pgcatalog.pg_class JOIN pgcatalog.pg_am ON (pg_am.oid = relam))",
		},
		{"a function of DuckDB's", "SELECT pg_catalog.lower('A')", "SELECT lower('A')"},
		{"a function of the catalog", "SELECT pg_table_is_visible(c.oid) AND x", "SELECT pgcatalog.compat_pg_table_is_visible(c.oid) AND x"},
		{
			"a title", "SELECT version(), current_user FROM t",
			"SELECT pgcatalog.compat_version() AS \"version\", pgcatalog.compat_current_user() AS \"current_user\" FROM t",
		},
		{"no title in a call", "SELECT f(1, version())", "SELECT f(1, pgcatalog.compat_version())"},
		{"a text as regclass", "SELECT 'a'::regclass::oid", "SELECT  pgcatalog.compat_to_regclass('a')::oid"},
		{"a column as regclass", "SELECT c.oid::pg_catalog.regclass", "SELECT  pgcatalog.compat_regclass_name(c.oid) AS \"oid\""},
		{"an expression as regclass", "SELECT (a || b)::regclass", "SELECT  pgcatalog.compat_to_regclass((a || b))"},
		{"CAST", "SELECT CAST(c.oid AS regclass), CAST(x AS pg_catalog.text)", "SELECT pgcatalog.compat_regclass_name(c.oid  ), CAST(x AS text)"},
		{"types", "SELECT 'a'::name, 'b'::\"char\", '{}'::jsonb", "SELECT 'a'::VARCHAR, 'b'::\"char\", '{}'::JSON"},
		{"an array", "SELECT '{1,2}'::int[]", "SELECT  pgcatalog.compat_array('{1,2}')::int[]"},
		{"OPERATOR", "SELECT a OPERATOR(pg_catalog.~) '^x$' COLLATE pg_catalog.default", "SELECT a  ~   pgcatalog.compat_pattern('^x$')  "},
		{
			"no procedure", "SELECT 1 FROM pg_type t WHERE t.typreceive <> 0 OR 0=typsend OR typlen <> 0",
			"SELECT 1 FROM pgcatalog.pg_type t WHERE  pgcatalog.compat_to_regproc(t.typreceive) <> 0 OR 0= pgcatalog.compat_to_regproc(typsend) OR typlen <> 0",
		},
		{
			"the OID of a procedure", "SELECT 1 FROM pg_type JOIN pg_proc p ON p.oid = typinput AND typoutput = $1",
			"SELECT 1 FROM pgcatalog.pg_type JOIN pgcatalog.pg_proc p ON p.oid =  pgcatalog.compat_to_regproc(typinput) AND " +
				" pgcatalog.compat_to_regproc(typoutput) = $1",
		},
		{
			"names of procedures", "SELECT 1 FROM pg_type WHERE typinput = 'a' AND 'b' = typsend AND typinput = typoutput AND typsend = x::text",
			"SELECT 1 FROM pgcatalog.pg_type WHERE typinput = 'a' AND 'b' = typsend AND typinput = typoutput AND typsend = x::text",
		},
		{"a column of another table", "SELECT typsend::name FROM mine WHERE typsend <> 0", "SELECT typsend::VARCHAR FROM mine WHERE typsend <> 0"},
		{"other operators", "SELECT a OPERATOR(pg_catalog.>=) 1, a OPERATOR(pg_catalog.!~*) 'x'", "SELECT a  >=  1, a  !~   pgcatalog.compat_ipattern('x')"},
		{
			"matching on the catalog", "SELECT 1 FROM pg_class WHERE a !~ '^pg_' OR b ~* (x) OR c ~~ 'y'",
			"SELECT 1 FROM pgcatalog.pg_class WHERE a !~  pgcatalog.compat_pattern('^pg_') OR b ~  pgcatalog.compat_ipattern((x)) OR c ~~ 'y'",
		},
		{"matching a subscript", "SELECT 1 FROM pg_class WHERE a ~ b[1]::text", "SELECT 1 FROM pgcatalog.pg_class WHERE a ~  pgcatalog.compat_pattern(b[1]::text)"},
		{"matching elsewhere", "SELECT version() WHERE a ~ 'x'", "SELECT pgcatalog.compat_version() WHERE a ~ 'x'"},
		{"a collation that stays", "SELECT a COLLATE nocase", ""},
		{
			"matching in any case", "SELECT a ~* 'x', b !~* lower(c) FROM t",
			"SELECT a ~  pgcatalog.compat_ipattern('x'), b !~  pgcatalog.compat_ipattern(lower(c)) FROM t",
		},
		{
			"overlay", "SELECT overlay(a PLACING f(b, 'from') FROM 2 FOR (3)) FROM t",
			"SELECT pgcatalog.compat_overlay(a , f(b, 'from') , 2 , (3)) AS \"overlay\" FROM t",
		},
		{
			"a time in seconds", "SELECT current_timestamp, current_timestamp(0)",
			"SELECT current_timestamp, pgcatalog.compat_current_timestamp(0) AS \"current_timestamp\"",
		},
		{
			"bytes", `SELECT '\x1F20'::bytea, CAST('\x' AS bytea), bytea '\x00ff', '\x1f20'::blob, '\x1f2'::bytea`,
			`SELECT '\x1F\x20'::bytea, CAST('' AS bytea), bytea '\x00\xff', '\x1f20'::blob, '\x1f2'::bytea`,
		},
		{"lines stay", "SELECT 1\nFROM pg_class c\nWHERE c.relname COLLATE\n\"C\" = 'x'", "SELECT 1\nFROM pgcatalog.pg_class c\nWHERE c.relname  \n = 'x'"},
		{"a series", "SELECT s FROM pg_class, generate_series(1, 3) s WHERE s > 1", "SELECT s FROM pgcatalog.pg_class, generate_series(1, 3) s(s) WHERE s > 1"},
		{
			"several lists", "SELECT * FROM pg_index i, unnest(i.indkey, f(1, 2)) k (a, b)",
			"SELECT * FROM pgcatalog.pg_index i, (SELECT unnest(i.indkey), unnest( f(1, 2))) k (a, b)",
		},
		{
			"several lists with numbers", "SELECT * FROM pg_index i, unnest(i.indkey, i.indoption)\nWITH ORDINALITY k(a, b, n)",
			"SELECT * FROM pgcatalog.pg_index i, (SELECT unnest(i.indkey), unnest( i.indoption), generate_subscripts(i.indkey, 1))\n  k(a, b, n)",
		},
		{
			"one list with numbers", "SELECT * FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k(a, n)",
			"SELECT * FROM pgcatalog.pg_index i, unnest(i.indkey) WITH ORDINALITY k(a, n)",
		},
		{
			"subscripts", "SELECT k FROM pg_catalog.generate_subscripts('{1}'::int[], 1) AS k",
			"SELECT k FROM (SELECT generate_subscripts( pgcatalog.compat_array('{1}')::int[], 1)) AS k(k)",
		},
		{
			"a series in SELECT", "SELECT generate_series(1, attnum) FROM pg_attribute",
			"SELECT unnest(generate_series(1, attnum)) AS \"generate_series\" FROM pgcatalog.pg_attribute",
		},
		{
			"ANY of a column", "SELECT 1 FROM pg_index i WHERE a=ANY(i.indkey) AND b <> ANY (i.indkey) AND c = ANY ($1)",
			"SELECT 1 FROM pgcatalog.pg_index i WHERE a IN i.indkey  AND b <> ANY (i.indkey) AND c = ANY ($1)",
		},
		{
			"ANY of a vector", "SELECT 1 FROM pg_proc p WHERE 25 = ANY (p.proargtypes)",
			"SELECT 1 FROM pgcatalog.pg_proc p WHERE 25  IN  pgcatalog.compat_vector(p.proargtypes) ",
		},
		{
			"a pattern that escapes", "SELECT 1 FROM pg_class WHERE a NOT LIKE 'pg\\_%' AND b LIKE 'pg_%' OR c LIKE 'a\\_' || d",
			"SELECT 1 FROM pgcatalog.pg_class WHERE a NOT LIKE 'pg\\_%' ESCAPE chr(92) AND b LIKE 'pg_%' OR c LIKE 'a\\_' || d",
		},
		{
			"a pattern that escapes, elsewhere", `SELECT 1 FROM t WHERE a LIKE '100\%' OR b NOT ILIKE '%\_\\x' OR c LIKE 'C:\dir%' OR d LIKE 'a\_' ESCAPE '!'`,
			`SELECT 1 FROM t WHERE a LIKE '100\%' ESCAPE chr(92) OR b NOT ILIKE '%\_\\x' ESCAPE chr(92) OR c LIKE 'C:\dir%' OR d LIKE 'a\_' ESCAPE '!'`,
		},
		{
			"a substring that matches", "SELECT substring(a FROM 'b'), substring(a FROM 2) FROM pg_class",
			"SELECT pgcatalog.compat_substring(a , 'b'), substring(a FROM 2) FROM pgcatalog.pg_class",
		},
		{
			"an alias that is a word", "SELECT at.attname, now() AT TIME ZONE 'UTC' FROM pg_attribute at",
			"SELECT \"at\".attname, now() AT TIME ZONE 'UTC' FROM pgcatalog.pg_attribute \"at\"",
		},
		{"the database", "SELECT * FROM \"spice\".INFORMATION_SCHEMA.columns", "SELECT * FROM pgcatalog.columns"},
		{"to_char", "SELECT a, to_char(f(x, 1), 'YYYY-MM') FROM t", "SELECT a, list_transform([f(x, 1)], lambda t: (strftime(t, '%Y-%m')))[1] AS \"to_char\" FROM t"},
		{
			"to_char of a dollar quote", "SELECT to_char(x, $$YYYY$$) AS y, to_char(x, $a$MM$a$) AS m",
			"SELECT list_transform([x], lambda t: (strftime(t, '%Y')))[1] AS y, list_transform([x], lambda t: (strftime(t, '%m')))[1] AS m",
		},
		{
			"to_char of capitals", "SELECT to_char(x, 'FMDD MON') AS y",
			"SELECT list_transform([x], lambda t: (strftime(t, '%-d ') || upper(strftime(t, '%b'))))[1] AS y",
		},
		{
			"a text as a time", "SELECT to_timestamp(a || b, 'YYYY-MM-DD HH24:MI:SS.US'), pg_catalog.to_date(x, $$DD Mon YYYY$$) AS d",
			"SELECT CAST(strptime(a || b, '%Y-%m-%d %H:%M:%S.%f') AS TIMESTAMPTZ) AS \"to_timestamp\", CAST(strptime(x, '%d %b %Y') AS DATE) AS d",
		},
		{"the time of seconds", "SELECT to_timestamp(1.5)", ""},
		{"a text as a time by strptime", "SELECT 1 WHERE d = to_date(x, '%d.%m.%Y')", "SELECT 1 WHERE d = CAST(strptime(x, '%d.%m.%Y') AS DATE)"},
		{
			"patterns that are not read", "SELECT 1 + to_date(x, 'IYYY-IW')",
			"SELECT 1 + error('to_date does not serve the pattern IYYY-IW; write strptime(text, format)')::DATE",
		},
		{
			"patterns without a year or AM", "SELECT 1 + to_timestamp(x, 'HH24:MI') + to_timestamp(x, 'YYYY HH12')",
			"SELECT 1 + error('to_timestamp does not serve the pattern HH24:MI; write strptime(text, format)')::TIMESTAMPTZ + error('to_timestamp does not serve the " +
				"pattern YYYY HH12; write strptime(text, format)')::TIMESTAMPTZ",
		},
		{
			"a computed pattern to read", "SELECT 1 + to_date(x, y)",
			"SELECT 1 + error('the pattern of to_date must be a literal; write strptime(text, format) for one that is computed')::DATE",
		},
		{"encode", "SELECT encode(a, 'hex') AS h, encode(b)", "SELECT pgcatalog.compat_encode(a, 'hex') AS h, encode(b)"},
		{"NaN as a numeric", "SELECT 'NaN'::numeric, 'nan'::decimal(9,2), 'x'::numeric", "SELECT 'NaN'::DOUBLE, 'nan'::decimal(9,2), 'x'::numeric"},
		{"the user", "SELECT user, x AS user", "SELECT pgcatalog.compat_user() AS \"user\", x AS user"},
		{
			"a column user", "SELECT user, current_user FROM t WHERE user = 'a'",
			"SELECT user, pgcatalog.compat_current_user() AS \"current_user\" FROM t WHERE user = 'a'",
		},
		{"to_char of strftime", "SELECT 1 + to_char(x, '%d')", "SELECT 1 + strftime(x, '%d')"},
		{
			"to_char of a number", "SELECT 1 + to_char(x, '999')",
			"SELECT 1 + error('to_char does not serve the pattern 999; write strftime(t, format) for times, or printf and format for numbers')::VARCHAR",
		},
		{"a vector", "SELECT p.proargtypes[0] FROM pg_proc p", "SELECT  pgcatalog.compat_vector(p.proargtypes)[1+0] FROM pgcatalog.pg_proc p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, changed := pgcatalog.Rewrite(c.sql)
			want := c.want
			if want == "" {
				want = c.sql
			}
			if got != want || changed != (c.want != "") {
				t.Errorf("got  %q, %t\nwant %q", got, changed, want)
			}
			if again, changed := pgcatalog.Rewrite(got); changed {
				t.Errorf("and once more: %q", again)
			}
		})
	}
}

// TestRewriteIsLinear repeats what can nest or follow itself to half a megabyte,
// which takes a fraction of a second, and half a minute or more if each walks
// over the others.
func TestRewriteIsLinear(t *testing.T) {
	const size, limit = 1 << 19, 10 * time.Second
	for _, c := range []struct{ head, open, middle, shut string }{
		{"SELECT ", "version(", "", ")"},
		{"SELECT ", "CAST(", "1", " AS regclass)"},
		{"SELECT ", "[", "1", "::regclass]"},
		{"SELECT ", "f(", "1", ")::regclass::name"},
		{"SELECT 1", "::name", "", ""},
		{"SELECT 1", "::int[1]::name", "", ""},
		{"SELECT a", "[1]", "::name", "::regclass"},
		{"SELECT a", ".a", "::regclass", "::regclass"},
		{"SELECT '", "1", "'::regclass::text", "::regclass::text"},
		{"SELECT 'a", "''", "'::regclass::text", "::regclass::text"},
		{"SELECT a ", "OPERATOR(pg_catalog.~) (", "b", ")"},
		{"SELECT a ", "OPERATOR(pg_catalog.~ ", "b", ")"},
		{"SELECT 1 FROM pg_class WHERE a ", "~ (", "1", ")"},
		{"SELECT 1 FROM pg_class WHERE a ", "!~* b::text ", "", ""},
		{"SELECT * FROM ", "(", "pg_class", ")"},
		{"SELECT * FROM pg_class, ", "unnest(a, ", "b", ")"},
		{"SELECT * FROM pg_class, ", "unnest(a, b), ", "pg_am", ""},
		{"SELECT version() WHERE a", " BETWEEN b /* c */ AND 'd' OR a", "", ""},
	} {
		n := size / len(c.open+c.shut)
		sql := c.head + strings.Repeat(c.open, n) + c.middle + strings.Repeat(c.shut, n)
		done := make(chan struct{})
		go func() {
			pgcatalog.Rewrite(sql)
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(limit):
			t.Fatalf("%s%s%s%s… takes more than %s", c.head, c.open, c.middle, c.shut, limit)
		}
	}
}

// TestNothingInternalShows reads every view whole, and calls what tells
// definitions and settings, for what the guard keeps from statements.
func TestNothingInternalShows(t *testing.T) {
	for _, r := range pgcatalog.Relations() {
		got, err := query(t, "SELECT * FROM "+r.Schema+"."+r.Name)
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		for _, secret := range []string{
			"secret", "undeclared", "orders_copy", "broken", "udfs", "compat_", "declared_", "haversine(", "1000)", "memory_limit",
			"none.csv",
		} {
			if strings.Contains(got, secret) {
				t.Errorf("%s shows %q", r.Name, secret)
			}
		}
	}
	for _, sql := range []string{
		"SELECT * FROM pgcatalog.declared_relations",
		"SELECT * FROM pgcatalog.own_columns",
		"SELECT * FROM pg_catalog.duckdb_settings",
		"SELECT current_setting('memory_limit')",
		"SELECT * FROM pg_catalog.duckdb_functions()",
		"SELECT pgcatalog.current_setting('temp_directory')",
		"SELECT core.secret_macro('x')",
	} {
		if got, err := query(t, sql); err == nil {
			t.Errorf("%s gives %q", sql, got)
		}
	}
	if got, err := query(t, "SELECT pg_get_viewdef('large_orders'::regclass)"); err != nil || !strings.Contains(got, "-- not shown\n") ||
		strings.Contains(got, "1000") {
		t.Errorf("the view is %q, %v", got, err)
	}
	for sql, body := range map[string]string{
		"SELECT pg_get_functiondef('haversine'::regproc::oid)":  "lat + lon",
		"SELECT pg_get_functiondef('top_orders'::regproc::oid)": "ORDER BY",
	} {
		if got, err := query(t, sql); err != nil || !strings.Contains(got, body) {
			t.Errorf("%s gives %q, %v", sql, got, err)
		}
	}
}

func TestRelationsAreOursAlone(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range pgcatalog.Relations() {
		if r.Schema != pgcatalog.Schema || seen[r.Name] || r.Name != sqltree.Fold(r.Name) {
			t.Errorf("relation %+v", r)
		}
		seen[r.Name] = true
	}
}

func FuzzRewrite(f *testing.F) {
	for _, sql := range []string{
		"SELECT 'a'::regclass, c.oid::regclass FROM pg_class c WHERE a !~ '^pg_' COLLATE \"C\"",
		"SELECT CAST(x AS regtype), version(), '{1}'::int[] FROM information_schema.tables, generate_series(1,2) s",
		"SELECT a OPERATOR(pg_catalog.~*) (b)::name FROM pg_type -- x",
		"SELECT p.proargtypes[0]::regclass::regtype FROM pg_proc, (pg_am)",
		"SELECT k FROM pg_index i, unnest(i.indkey, '{1}'::int[]) WITH ORDINALITY x(k, o, n), pg_catalog.generate_subscripts(a, 1) s",
		"SELECT at.attname::regclass, generate_series(1, 2), substring(a FROM 'b') FROM spice.pg_catalog.pg_attribute at WHERE 25 = ANY (p.proargtypes) " +
			"AND a LIKE 'pg\\_%'",
		"SELECT 1",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		got, changed := pgcatalog.Rewrite(sql)
		if changed != (got != sql) {
			t.Fatalf("changed is %t for %q", changed, got)
		}
		again, _ := pgcatalog.Rewrite(got)
		for _, text := range []string{got, again} {
			if a, b := literals(sql), literals(text); a != b {
				t.Fatalf("%q\nbecomes %q\nstrings were %s, are %s", sql, text, a, b)
			}
		}
	})
}

// literals are the strings of a text, in their order.
func literals(sql string) string {
	var list []string
	for _, t := range sqltree.Scan(sql) {
		if t.Kind == sqltree.String {
			list = append(list, t.Text(sql))
		}
	}
	return strings.Join(list, "\x00")
}

func BenchmarkRewrite(b *testing.B) {
	for name, sql := range map[string]string{
		"plain": "SELECT o.id, o.amount, c.name FROM orders AS o JOIN customers AS c ON c.id = o.customer_id WHERE o.amount > $1 LIMIT 10",
		"catalog": "SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'v') AND (c.relname) LIKE 'ord%' " +
			"AND pg_catalog.pg_table_is_visible(c.oid)",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pgcatalog.Rewrite(sql)
			}
		})
	}
}

// BenchmarkCatalog is what one look at the tables costs a client.
func BenchmarkCatalog(b *testing.B) {
	db := open(b)
	text, _ := pgcatalog.Rewrite("SELECT relname, obj_description(oid, 'pg_class') FROM pg_class WHERE pg_table_is_visible(oid)")
	for b.Loop() {
		rows, err := db.Query(b.Context(), engine.Request{SQL: text})
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range rows.Chunks() {
			if err != nil {
				b.Fatal(err)
			}
		}
		rows.Close()
	}
}

// TestRoles has the views of roles, in which clients look for their own.
func TestRoles(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user": "ann,false",
		"SELECT string_agg(pg_roles.rolname, ' ') AS s FROM pg_roles":         "spice ann",
		"SELECT r.oid FROM pg_catalog.pg_roles AS r WHERE r.rolname = 'ann'":  "16385",
		"SELECT u.usesysid FROM pg_user u WHERE usename = 'ann'":              "16385",
		"SELECT count(*) AS n FROM pg_authid, pg_shadow":                      "4",
	} {
		text, _ := pgcatalog.RewriteFor(sql, pgcatalog.Session{User: "ann"})
		if again, changed := pgcatalog.RewriteFor(text, pgcatalog.Session{User: "ann"}); changed {
			t.Errorf("%s: rewritten again to %s", sql, again)
		}
		got, err := query(t, text)
		if _, row, _ := strings.Cut(strings.TrimSpace(got), "\n"); err != nil || row != want {
			t.Errorf("%s: %q, %v, want %q", sql, row, err, want)
		}
	}
}
