package engine

import (
	"strconv"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// nested returns statements of n levels.
func nested(before, open, inside, end, after string) func(int) string {
	return func(n int) string {
		return before + strings.Repeat(open, n) + inside + strings.Repeat(end, n) + after
	}
}

// series returns statements with n parts, in which # is the number of a part and @
// that of the one before, and in after the number of the last.
func series(before, part, after string) func(int) string {
	return func(n int) string {
		b := before
		for i := 1; i <= n; i++ {
			b += strings.NewReplacer("#", strconv.Itoa(i), "@", strconv.Itoa(i-1)).Replace(part)
		}
		return b + strings.ReplaceAll(after, "#", strconv.Itoa(n))
	}
}

// TestNestingLimits runs what may be nested so deep, and refuses one level more: the
// time to plan it would double with each level.
func TestNestingLimits(t *testing.T) {
	db := fixture(t, Options{})
	for _, c := range []struct {
		name  string
		sql   func(int) string
		limit int
		text  string
	}{
		{"scalar subqueries", nested("SELECT ", "(SELECT ", "1", ")", ""), 12, "a subquery is nested too deeply"},
		{"EXISTS", nested("SELECT 1 WHERE ", "EXISTS (SELECT 1 WHERE ", "true", ")", ""), 12, "a subquery"},
		{"IN", nested("SELECT ", "(1 IN (SELECT ", "1", "))::INT", ""), 12, "a subquery"},
		{"correlated", nested("SELECT i FROM k WHERE ", "i > (SELECT max(m) FROM range(9) u(m) WHERE m < i AND ", "true", ")", ""), 12, "a subquery"},
		{"ARRAY", nested("SELECT ", "ARRAY(SELECT ", "1", ")", ""), 6, "ARRAY(SELECT …) is nested too deeply"},
		{"SUMMARIZE", nested("SELECT * FROM ", "(SUMMARIZE FROM ", "range(1)", ")", ""), 4, "SUMMARIZE is nested too deeply"},
		{"BETWEEN", nested("SELECT ", "(", "i", " BETWEEN 0 AND 5)::INT", " FROM k LIMIT 1"), 8, "BETWEEN is nested too deeply"},
		{"NOT BETWEEN", nested("SELECT ", "(", "i", " NOT BETWEEN 0 AND 5)::INT", " FROM k LIMIT 1"), 8, "BETWEEN"},
		{"nullif", nested("SELECT ", "nullif(", "i", ", 3)", " FROM k LIMIT 1"), 8, "nullif(…) is nested too deeply"},
		{"split_part", nested("SELECT ", "split_part(", "'a'", ", ',', 1)", ""), 8, "split_part(…)"},
		{"round_even", nested("SELECT ", "round_even(", "1.5", ", 1)", ""), 4, "round_even(…)"},
		{"declared", nested("SELECT ", "same(", "i", ", 'x')", " FROM k LIMIT 1"), 8, "same(…)"},
		{"lambdas", nested("SELECT ", "list_transform([1], lambda x: ", "1", ")", ""), 12, ""},
		{"mixed", nested("SELECT ", "(SELECT nullif(", "1", ", 3))", ""), 4, "is nested too deeply"},
		{"arrows", nested("SELECT '{}'::JSON", "->'a'", "", "", ""), 12, ""},
		{"CASE", nested("SELECT ", "CASE ", "i", " WHEN 1 THEN 1 WHEN 2 THEN 3 END", " FROM k LIMIT 1"), 8, "CASE x WHEN is nested too deeply"},
		{"CASE in WHEN", nested("SELECT ", "CASE CASE WHEN ", "i = 1", " THEN 1 END WHEN 1 THEN true WHEN 2 THEN false END", " FROM k LIMIT 1"), 8, "CASE x WHEN"},
		{"aliases", series("SELECT i AS a0", ", a@ + a@ AS a#", " FROM k LIMIT 1"), 9, "refers to others by name more than 1000 times"},
		{
			"CTEs", series("WITH a0 AS NOT MATERIALIZED (SELECT 1 AS v)", ", a# AS NOT MATERIALIZED (FROM a@ UNION ALL FROM a@)", " SELECT count(*) FROM a#"),
			9, "refers to others by name",
		},
		{"from_json", nested("SELECT from_json('[]', '", "[", `"INTEGER"`, "]", "')"), 100, "the type that from_json reads is nested deeper than 100"},
		{"json_transform", nested(`SELECT json_transform('[]', '{"]]\"]}": [1], "b": `, `{"a":`, `"INTEGER"`, "}", "}')"), 99, "the type that json_transform reads"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := run(t.Context(), db, Request{SQL: c.sql(c.limit)}); err != nil && asError(t, err).Code != errcode.Execution &&
				asError(t, err).Code != errcode.Argument {
				t.Errorf("%d levels: %s: %v", c.limit, asError(t, err).Code, err)
			}
			if c.text == "" {
				return
			}
			for _, n := range []int{c.limit + 1, 200} {
				_, err := run(t.Context(), db, Request{SQL: c.sql(n)})
				if err == nil {
					t.Fatalf("%d levels: no error", n)
				}
				if e := asError(t, err); e.Code != errcode.Refused || !strings.Contains(e.Message, c.text) || e.Hint == "" || e.Offset <= 0 {
					t.Errorf("%d levels: %s at %d: %v; %s", n, e.Code, e.Offset, err, e.Hint)
				}
			}
		})
	}
}

// TestHonestNesting judges statements as programs write them.
func TestHonestNesting(t *testing.T) {
	db := fixture(t, Options{})
	for name, sql := range map[string]string{
		"and":           nested("SELECT 1 WHERE 1 > 0", " AND 2 <> 1", "", "", "")(2_000),
		"or":            nested("SELECT 1 WHERE 1 > 0", " OR 2 = 1", "", "", "")(2_000),
		"sum":           nested("SELECT 1", " + 1", "", "", "")(900),
		"concatenation": nested("SELECT 'a'", " || 'a'", "", "", "")(900),
		"calls":         nested("SELECT ", "replace(", "'a'", ", 'a', 'b')", "")(300),
		"else":          nested("SELECT ", "CASE WHEN 1 > 2 THEN 0 ELSE ", "1", " END", "")(300),
		"else with x":   nested("SELECT ", "CASE 1 WHEN 2 THEN 0 ELSE ", "1", " END", "")(300),
		"branches":      nested("SELECT CASE lower(trim('a')) ", "WHEN 'b' THEN 2 ", "", "", "END")(2_000),
		"mapped twice": nested("SELECT CASE ", "", nested("CASE 'a' ", "WHEN 'b' THEN 'c' ", "", "", "END ")(50), "",
			nested("", "WHEN 'd' THEN 'e' ", "", "", "END")(50))(1),
		"between":        nested("SELECT 1 WHERE 1 BETWEEN 0 AND 2", " AND lower('b') BETWEEN 'a' AND 'c'", "", "", "")(1_000),
		"nullif":         nested("SELECT 0", ", nullif(1, 2)", "", "", "")(1_000),
		"sum of aliases": series("SELECT 1 AS a0", ", a0 AS a#", ", 0")(900) + series("", " + a#", " AS total")(900),
		"subqueries":     nested("SELECT 0", ", (SELECT 1)", "", "", "")(500),
		"FROM":           nested("", "SELECT n + n AS n FROM (", "SELECT 1 AS n", ")", "")(100),
		"CTEs":           series("WITH a0 AS (SELECT 1 AS v)", ", a# AS (FROM a@ UNION ALL FROM a@)", " FROM a#")(100),
		"words as names": "SELECT t.end, t.case, x AS case, y AS end FROM t",
		"structure":      nested(`SELECT from_json('[]', '{"a": 1`, `, "b": ["INTEGER"]`, "", "", "}')")(300),
	} {
		if _, err := db.Parse(t.Context(), sql); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMacrosThatCopy compares the list of macros that evaluate an argument more than
// once with those of the linked DuckDB.
func TestMacrosThatCopy(t *testing.T) {
	db := fixture(t, Options{})
	const macros = `SELECT lower(function_name), macro_definition, parameters::VARCHAR[] FROM duckdb_functions()
		WHERE function_type = 'macro' AND database_name = 'system'`
	stage, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	copies := map[string]bool{"roundbankers": true, "wavg": true} // through another one
	err = stage.Query("SELECT name || chr(10) || parameter || chr(10) || definition FROM (SELECT name, definition, unnest(parameters) AS parameter FROM ("+macros+
		") t(name, definition, parameters))", func(c *Chunk) error {
		for i := range c.Len() {
			parts := strings.SplitN(string(c.Column(0).Bytes(i)), "\n", 3)
			uses := 0
			tokens := sqltree.Scan(parts[2])
			for i, token := range tokens {
				if named := i+1 < len(tokens) && tokens[i+1].Is(parts[2], ":="); !named && sqltree.Fold(strings.Trim(token.Text(parts[2]), `"`)) == parts[1] {
					uses++
				}
			}
			if name := parts[0]; uses > 1 && db.Builtins().Allows(name, false) {
				copies[name] = true
			}
		}
		return nil
	})
	if err != nil || len(copies) < 5 {
		t.Fatal(err, copies)
	}
	for _, name := range db.Builtins().Names() {
		if sqltree.Copies(name) != copies[name] {
			t.Errorf("%s: %v in sqltree, %v in DuckDB", name, sqltree.Copies(name), copies[name])
		}
	}
}
