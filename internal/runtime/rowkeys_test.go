package runtime

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// keyRows declares two datasets over the same rows with the same policy: k has keys, whose
// conditions pass below the policy, and w has none.
func keyRows() files {
	var rows strings.Builder
	rows.WriteString("id,owner,code,day,at,uid,num,big,secret,note\n")
	for i := range 300 {
		cell := func(every int, text string) string {
			if i%every == every-1 {
				return ""
			}
			return text
		}
		fmt.Fprintf(&rows, "%d,%s,%s,%s,%s,%s,%s,%d,%d,%s\n", i, []string{"ann", "bob", ""}[i%3], cell(7, fmt.Sprintf("c%02d", i)),
			cell(5, fmt.Sprintf("2026-01-%02d", i%28+1)), cell(6, fmt.Sprintf("2026-01-%02d 10:%02d:00", i%28+1, i/28)),
			cell(9, fmt.Sprintf("00000000-0000-0000-0000-%012d", i)), cell(4, fmt.Sprintf("%d.5", i)), int64(9007199254740992)+int64(i%4), 98700000+i,
			cell(11, "MARK"+[]string{"ANN", "BOB", "NONE"}[i%3]))
	}
	const columns = "columns: [{name: id, type: int32}, {name: code, type: utf8}, {name: day, type: date32}, {name: at, type: timestamp}, {name: uid, type: " +
		"UUID}, {name: num, type: 'DECIMAL(9,2)'}, {name: big, type: int64}]"
	dataset := func(name, more string) string {
		return "- {name: " + name + ", from: 'file:k.csv', row_filter: \"owner = ctx('user_id') AND note <> 'x'\", column_mask: {secret: '7'}, " + columns +
			", acceleration: {" + more + "}}\n"
	}
	functions := func(name string) string {
		return strings.ReplaceAll(`- {name: note_X, from: sql, volatility: stable, signature: {args: [{name: k, type: int64}], returns: utf8}, body: (SELECT note FROM X WHERE id = k)}
- {name: sum_X, from: sql, volatility: stable, signature: {args: [{name: c, type: utf8}, {name: n, type: int64}], returns: int64}, body: "(SELECT sum(secret) + count(*) FROM X o WHERE o.code = c AND 7 < n)"}
- {name: rows_X, from: sql, kind: table, as_tool: true, volatility: stable, signature: {args: [{name: d, type: date32}], returns: [{name: id, type: int64}, {name: note, type: utf8}]}, body: "SELECT id, note FROM X WHERE day = (SELECT d FROM args)"}
- {name: join_X, from: sql, kind: table, as_tool: true, volatility: stable, signature: {args: [{name: c, type: utf8}], returns: [{name: id, type: int64}, {name: note, type: utf8}]}, body: "SELECT o.id, o.note FROM X o, args WHERE o.code = args.c"}
`, "X", name)
	}
	return files{"k.csv": rows.String(), "spicepod.yaml": "datasets:\n" +
		dataset("k", "primary_key: id, indexes: {code: unique, day: enabled, at: unique, uid: unique, num: unique, secret: unique, '(code, big)': enabled, "+
			"note: enabled}") + dataset("w", "enabled: true") +
		"- {name: open, from: 'file:k.csv'}\nviews:\n- {name: vk, sql: 'SELECT * FROM k'}\n- {name: vw, sql: 'SELECT * FROM w'}\n" +
		"functions:\n" + functions("k") + functions("w")}
}

// keyConditions are conditions on o: some pass below the policy, others must not.
var keyConditions = []string{
	"o.id = 3", "3 = o.id", "o.id = -1", "o.id = 9999", "o.id = NULL", "o.id = 3.0", "o.id = 3.4", "o.id = '3'", "o.id = ' 3 '", "o.id = 'x'",
	"o.id = 3::TINYINT", "o.id = 99999999999", "o.id = 99999999999999999999999999", "o.id = '3'::BIGINT", "o.id = 'x'::BIGINT", "o.id = TRY_CAST('x' AS BIGINT)",
	"o.id IN (1, 2, 3, 4, 6)", "o.id IN (3, NULL)", "o.id IN ('3', '6')", "o.id IN ('3', 6)", "o.id IN (3, 6.0)", "o.id NOT IN (3)", "NOT o.id = 3", "o.id <> 3",
	"o.id = 3 AND o.code = 'c03'", "o.id = 3 OR o.code = 'c06'", "(o.id = 3 AND o.code = 'c03') AND o.secret = 7", "o.id = 3 AND o.id = 6", "o.id = 1 + 2",
	"o.id = abs(-3)",
	"o.code = 'c03'", "o.code = 3", "o.code = 'C03'", "o.code = 'c03' COLLATE NOCASE", "o.code COLLATE NOCASE = 'C03'", "o.code LIKE 'c03'", "o.code = ''",
	"lower(o.code) = 'c03'",
	"o.day = '2026-01-04'", "o.day = DATE '2026-01-04'", "o.day = TIMESTAMP '2026-01-04 00:00:00'", "o.day = TIMESTAMP '2026-01-04 10:00:00'", "o.day = 'nope'",
	"o.day IN (DATE '2026-01-04', '2026-01-07')",
	"o.at = '2026-01-04 10:00:00'", "o.at = DATE '2026-01-04'", "o.at = TIMESTAMP '2026-01-04 10:00:00'", "o.at = TIMESTAMPTZ '2026-01-04 10:00:00+00'",
	"o.uid = '00000000-0000-0000-0000-000000000003'", "o.uid = UUID '00000000-0000-0000-0000-000000000003'", "o.uid = '00000000000000000000000000000003'",
	"o.uid = 'x'",
	"o.num = 3.5", "o.num = '3.5'", "o.num = 3.5::DOUBLE", "o.big = 9007199254740993", "o.big = 9007199254740993.0::DOUBLE", "o.big = 9007199254740992::DOUBLE",
	"o.secret = 7", "o.secret = 98700003", "o.secret IN (98700003)", "o.note = 'MARKBOB'", "o.note = 'MARKANN' AND CAST(o.note AS INTEGER) > 0",
	"o.id = 1 AND CAST(o.note AS INTEGER) > 0",
	"o.id = 4 AND error(o.note)", "o.id = 999 AND error('x')", "o.id = 1 AND 1 / (o.id - 1) > 0", "o.id = (SELECT 3)", "o.id = (SELECT max(id) FROM open)",
	"o.id IN (SELECT id FROM open WHERE owner = 'bob')",
	"EXISTS (SELECT 1 FROM open p WHERE p.id = o.id AND o.id = 3)", "o.id = 3 AND random() >= 0", "o.id = o.id", "(o.id, o.code) = (3, 'c03')", "o.id = 3 IS TRUE",
	"o.id IS NOT DISTINCT FROM 3", "o.id == 3", "o.id BETWEEN 3 AND 3",
}

// TestKeysBelowAPolicy compares statements over a dataset with keys with the same over one
// without.
func TestKeysBelowAPolicy(t *testing.T) {
	r := start(t, keyRows())
	r.problems(r.LastReport())
	var list []string
	for _, c := range keyConditions {
		list = append(list, "SELECT id, owner, code, day, secret, note FROM k o WHERE "+c)
	}
	list = append(list,
		"SELECT * FROM k WHERE id = 3", "SELECT k.* FROM k WHERE k.id = 3", "SELECT public.k.id FROM k WHERE id = 3", "SELECT k.id FROM public.k WHERE id = 3",
		"SELECT id FROM spice.public.k WHERE id = 3", "SELECT id FROM main.k WHERE id = 3",
		"SELECT k FROM k WHERE id = 3", "SELECT x FROM k o(x) WHERE x = 3", "SELECT x FROM k o(x) WHERE o.x = 3", "SELECT id FROM k o(code, id) WHERE id = 'ann'",
		"SELECT o.id, p.id FROM k o JOIN open p ON o.id = p.id WHERE o.id = 3",
		"SELECT o.id, p.id FROM open p LEFT JOIN k o ON o.id >= p.id AND p.id < 9 WHERE o.id = 3",
		"SELECT o.id, p.id FROM k o FULL JOIN open p ON o.id = p.id WHERE o.id = 3", "SELECT o.id, p.id FROM k o, open p WHERE o.id = 3 AND p.id = 1",
		"SELECT a.id, b.id FROM k a, k b WHERE a.id = 3 AND b.code = 'c06'",
		"SELECT o.id, p.id FROM open p ASOF JOIN k o ON p.id >= o.id WHERE o.id = 3",
		"SELECT o.id, p.id FROM open p ASOF LEFT JOIN k o ON p.id >= o.id WHERE o.id = 3", "SELECT o.id, p.id FROM k o POSITIONAL JOIN open p WHERE o.id = 3",
		"SELECT p.id FROM open p SEMI JOIN k o ON o.id = p.id WHERE p.id = 3", "SELECT o.id FROM k o ANTI JOIN open p ON o.id = p.id + 1 WHERE o.id = 0",
		"SELECT id FROM k JOIN open USING (id) WHERE id = 3", "SELECT id FROM k NATURAL JOIN open WHERE id = 3",
		"SELECT count(*) FROM k TABLESAMPLE reservoir(300) WHERE id = 3", "SELECT id FROM k WHERE id = 3 LIMIT 0",
		"SELECT count(*), sum(secret) FROM k WHERE code = 'c03'", "SELECT code, count(*) FROM k WHERE code IN ('c03', 'c06') GROUP BY ALL",
		"SELECT id FROM k WHERE id = 3 UNION ALL SELECT id FROM k WHERE id = 6", "WITH k AS (SELECT 3 AS id) SELECT * FROM k WHERE id = 3",
		"WITH c AS (SELECT * FROM k WHERE id = 3) SELECT id FROM c",
		"SELECT (SELECT note FROM k WHERE id = 3), (SELECT note FROM k WHERE id = p.id) FROM open p WHERE p.id < 9",
		"SELECT id FROM (SELECT id + 1 AS id FROM k) WHERE id = 4", "SELECT id FROM vk WHERE id = 3", "SELECT row_number() OVER (), id FROM k WHERE id = 3",
		"SELECT id FROM k QUALIFY id = 3", "SELECT max(id) AS id FROM k HAVING id = 3",
		"SELECT 1 AS id FROM k WHERE id = 3", "PIVOT (SELECT id, code FROM k WHERE id = 3) ON code IN ('c03') USING count(*)",
		"SELECT o.id FROM k o, LATERAL (SELECT o.id + 1 AS j) x WHERE o.id = 3", "SELECT list_transform([1], lambda id: id) FROM k WHERE id = 3",
		"SELECT count(*) FROM open p, k o WHERE o.id = 1 AND CAST(p.note AS INTEGER) = 1",
		"SELECT count(*) FROM open p, k o WHERE o.id = 777 AND CAST(p.note AS INTEGER) = 1",
		"SELECT id FROM k WHERE id = 3 AND 3 IN (SELECT id FROM k WHERE code = 'c03')",
		`FROM spice.core."public.k:id:integer"([3])`, `FROM core."public.k:id:integer"([3])`, `FROM "public.k:id:integer"([3])`,
		"SELECT note_k(3), note_k(1), note_k(777), note_k(NULL), sum_k('c03', 9), sum_k('c04', 1)", "FROM rows_k('2026-01-04')", "FROM rows_k(DATE '2026-01-05')",
		"FROM join_k('c03')", "SELECT id, note_k(id) FROM open WHERE id < 9", "SELECT note_k(3)",
	)
	compare := func(what string, run func(sql string) string, sql string) {
		t.Helper()
		without := strings.NewReplacer(" k ", " w ", "k.", "w.", ".k", ".w", "vk", "vw", "_k(", "_w(", "FROM k,", "FROM w,", "SELECT k ",
			"SELECT w ").Replace(sql + " ")
		got, want := run(sql), run(without)
		if strings.HasPrefix(want, "error: ") && strings.HasPrefix(got, "error: ") || strings.Contains(sql, "error(") {
			return // which rows a condition is evaluated on is up to DuckDB
		}
		if got != want && !strings.Contains(sql, "core") && !strings.Contains(sql, `"public`) {
			t.Errorf("%s: %s\n got %s\nwant %s", what, sql, got, want)
		}
	}
	for u, user := range []string{"ann", "bob"} {
		for i, sql := range list {
			if u > 0 && i%4 > 0 {
				continue
			}
			got := r.as(user, sql)
			if hidden := map[string]string{"ann": "MARKBOB", "bob": "MARKANN"}[user]; strings.Contains(strings.ReplaceAll(got, sql, ""), hidden) &&
				!strings.Contains(sql, "open") && !strings.Contains(sql, hidden) || strings.Contains(got, "MARKNONE") && !strings.Contains(sql, "open") {
				t.Errorf("%q: %s gives %s", user, sql, got)
			}
			compare(user, func(sql string) string { return r.as(user, sql) }, sql)
		}
	}
	for _, sql := range []string{
		"SELECT id FROM k WHERE id = $1", "SELECT id FROM k WHERE code = $1", "SELECT id FROM k WHERE day = $1",
		"SELECT id FROM k WHERE at = ?", "SELECT id FROM k WHERE big = $1", "SELECT id, ? FROM k WHERE id = 3", "SELECT id FROM k WHERE id IN ($1, 3)",
		"SELECT id FROM k WHERE id = $1::BIGINT",
	} {
		for _, p := range []any{
			int64(3), "3", "c03", nil, 3.4, float64(9007199254740992), "9007199254740992.0", "2026-01-04", value.Date(20457),
			value.TimestampTZ(1767520800e6),
		} {
			compare(fmt.Sprint(p), func(sql string) string {
				return r.request(caller.Caller{UserID: "ann"}, engine.Request{SQL: sql, Params: engine.Params{Positional: []any{p}}})
			}, sql)
		}
	}
	for _, sql := range []string{ // a key that is hidden, one that does not exist, and one beyond all
		"SELECT * FROM k WHERE id = %d", "SELECT count(*) FROM open p, k o WHERE o.id = %d AND CAST(p.note AS INTEGER) = 1", "SELECT error('x') FROM k WHERE id = %d",
		"SELECT * FROM k WHERE id = %d AND error(note)", "SELECT (SELECT count(*) FROM k WHERE id = %d) + CAST(note AS INTEGER) FROM open",
		"SELECT count(*) FROM open p LEFT JOIN k o ON p.id = o.id WHERE o.id = %d AND CAST(p.note AS INTEGER) = 1",
	} {
		hidden := r.as("ann", fmt.Sprintf(sql, 100))
		for _, key := range []int{-99, 999} {
			if got := r.as("ann", fmt.Sprintf(sql, key)); got != hidden {
				t.Errorf("%s: %d gives %s, and a hidden key %s", sql, key, got, hidden)
			}
		}
	}
	for _, call := range []string{`note_k {"k":3}`, `note_k {"k":1}`, `rows_k {"d":"2026-01-04"}`, `join_k {"c":"c03"}`, `sum_k {"c":"c03","n":9}`} {
		name, args, _ := strings.Cut(call, " ")
		invoke := func(name string) string {
			result := r.Tools().Invoke(t.Context(), registry.Call{Name: name, Arguments: []byte(args), Scope: tools.Scope{Caller: caller.Caller{UserID: "ann"}}})
			return fmt.Sprint(string(result.Result), result.Error)
		}
		if got, want := invoke(name), invoke(strings.Replace(name, "_k", "_w", 1)); got != want {
			t.Errorf("%s gives %s, want %s", call, got, want)
		}
	}
}
