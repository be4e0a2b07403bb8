package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/spiced-sql/spiced/internal/sql/types"
)

// typeName is a type by one of its names, with a value.
type typeName struct {
	name, value string
	info        *types.Info
}

// formTexts are types with the words of the table that begin a form, if they are not like
// the form of the table.
var formTexts = map[string]string{
	"decimal32": "decimal32(9, 2)", "decimal64": "Decimal64(18, 2)", "decimal128": "Decimal128(38, 2)", "time32": "Time32(Millisecond)",
	"row": "row(a bigint, b text)", "list": "list<int64>", "array": "array<bigint>", "large_list": "large_list<int64>",
	"largelist": "LargeList(Int64)", "fixed_size_list": "fixed_size_list<int64, 2>", "fixedsizelist": "FixedSizeList(2 x Int64)",
	"duration": "Duration(Second)", "timestamp": `Timestamp(Microsecond, Some("UTC"))`,
}

// moreTypes are spellings of SQL and of DuckDB beyond the words of the table, with values.
var moreTypes = map[string]string{
	"int[]": `[1,2]`, "integer[]": `[1,null]`, "VARCHAR[2]": `["a","b"]`, "int[][]": `[[1],[]]`, "decimal(10)": `"7"`, "timestamp(3)": `"2024-02-29T12:30:00.500"`,
	"STRUCT(a INTEGER, \"b c\" VARCHAR)": `{"a":1,"b c":"x"}`, "MAP(VARCHAR, INTEGER)": `{"a":1}`,
	"map<date, list<hugeint>>": `{"2024-02-29":[7,"9007199254740993"]}`,
	"list<map<utf8, blob>>":    `[{"a":"aGk="}]`,
	"map<utf8, struct(b bit, t time_ns, u uuid, e enum('p'), a int[2], " +
		"m map<int, bool>)>": `{"k":{"b":"01","t":"12:00:00","u":"01234567-89ab-4def-8123-456789abcdef","e":"p","a":[1,2],"m":{"1":true}}}`,
	"struct<u: union(n int64, j json), t: time, i: interval>": `{"u":{"j":{"x":[1]}},"t":"12:00:00","i":"1 day"}`,
	"list<enum('a b', 'it''s')>":                              `["it's",null]`, "uuid[]": `["01234567-89ab-4def-8123-456789abcdef"]`,
	"UNION(n INTEGER, b BLOB)": `{"b":"aGk="}`, "map<boolean, float64>": `{"true":0.5}`,
}

func typeNames() []typeName {
	var all []typeName
	seen := map[string]bool{}
	add := func(name, value string, info *types.Info) {
		if !seen[name] {
			seen[name] = true
			all = append(all, typeName{name, value, info})
		}
	}
	infos := types.All()
	for i := range infos {
		info := &infos[i]
		for _, name := range info.Names {
			if info.Form == "" {
				add(name, info.Example, info)
				continue
			}
			_, parameters, _ := strings.Cut(info.Form, "(")
			text := name + "(" + parameters
			if strings.ContainsAny(info.Form, "<") {
				_, parameters, _ = strings.Cut(info.Form, "<")
				text = name + "<" + parameters
			}
			if other := formTexts[name]; other != "" {
				text = other
			}
			add(text, info.Example, info)
		}
		if info.Form != "" {
			add(info.Form, info.Example, info)
		} else if len(info.Names) > 0 { // as DESCRIBE prints it
			add(info.Type.String(), info.Example, info)
		}
	}
	for name, value := range moreTypes {
		add(name, value, nil)
	}
	return all
}

// TestEveryNameOfAType declares a function for each name of a type, and a table function
// with all types, and calls them over each protocol.
func TestEveryNameOfAType(t *testing.T) {
	t.Parallel()
	names := typeNames()
	var pod strings.Builder
	pod.WriteString("version: v1\nkind: Spicepod\nname: types\nruntime: {functions: {enabled: true}}\nfunctions:\n")
	yaml := func(s string) string { b, _ := json.Marshal(s); return string(b) } // JSON is YAML
	for i, n := range names {
		fmt.Fprintf(&pod, "- {name: f%d, from: sql, body: v, signature: {args: [{name: v, type: %s, default: %s}], returns: %s},\n   tests: [{args: {v: %[3]s}, "+
			"returns: %[3]s}]}\n", i, yaml(n.name), n.value, yaml(n.name))
	}
	p := start(t, folder(t, "spicepod.yaml", pod.String()), sqlProtocols()...)
	pg := pgxConnect(t, p, "x", "sslmode=disable")
	for i, n := range names {
		typeWorks(t, p, pg, fmt.Sprintf("f%d", i), n)
	}
}

func typeWorks(t *testing.T, p *program, pg *pgx.Conn, f string, n typeName) {
	t.Helper()
	for args, want := range map[string]string{`{"v":` + n.value + `}`: n.value, `{"v":null}`: "null", `{}`: n.value} {
		r := p.do("POST", "/v1/tools/"+f+":invoke", `{"args":`+args+`}`)
		var got struct {
			Result  json.RawMessage
			Notices []string
		}
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || string(got.Result) != want || len(got.Notices) > 0 {
			t.Errorf("%s: %s: got %s, want %s", n.name, args, r.body, want)
		}
	}
	if r := p.sql("SELECT " + f + "() = " + f + "(v := " + f + "()) AS same, " + f + "(NULL) IS NULL AS none"); !strings.Contains(r, `"same":true,"none":true`) {
		t.Errorf("%s: got %s", n.name, r)
	}
	rows, err := pg.Query(t.Context(), "SELECT "+f+"() AS v")
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		t.Errorf("%s: %v", n.name, err)
	} else if oid := rows.FieldDescriptions()[0].DataTypeOID; n.info != nil && n.info.OID != 0 && oid != n.info.OID {
		t.Errorf("%s: OID %d, want %d", n.name, oid, n.info.OID)
	}
}

const defaultsPod = `version: v1
kind: Spicepod
name: defaults
runtime: {functions: {enabled: true}}
datasets:
- {name: d, from: "file:d.csv", acceleration: {enabled: true, primary_key: id}}
functions:
- {name: twice, from: sql, signature: {args: [{name: n, type: bigint}, {name: m, type: int64, default: 7}], returns: int64}, body: n + n + m + m}
- {name: thrice, from: sql, signature: {args: [{name: n, type: int64, default: 1}], returns: int64}, body: "twice(n) + twice(m => 1, n := n) + twice(n, m := 2)"}
- {name: who, from: sql, signature: {args: [{name: i, type: int64, default: 2}, {name: s, type: text, default: "!"}], returns: text}, body: "(SELECT name || s FROM d WHERE id = i)"}
- {name: rng, from: sql, kind: table, signature: {args: [{name: lo, type: int64}, {name: hi, type: int64, default: 3}], returns: [{name: v, type: int64}]}, body: "SELECT unnest(range(args.lo, args.hi)) AS v FROM args"}
- {name: pick, from: sql, kind: table, signature: {tables: [{name: t, columns: [{name: id, type: int64}]}], args: [{name: k, type: int64, default: 2}], returns: [{name: id, type: int64}]}, body: "SELECT id FROM t WHERE id >= (SELECT k FROM args)"}
- {name: since, from: sql, signature: {args: [{name: from_day, type: date, default: "2024-01-01"}, {name: n, type: interval, required: false}], returns: timestamp}, body: "from_day + coalesce(n, INTERVAL 1 DAY)"}
- {name: bad, from: sql, signature: {args: [{name: n, type: int64, default: x}], returns: int64}, body: n}
`

// TestDefaultsInSQL omits and names arguments, in statements that run in the runtime and in
// workers.
func TestDefaultsInSQL(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"none", "process"} {
		pod := strings.Replace(defaultsPod, "runtime: {", "runtime: {query: {isolation: "+isolation+"}, ", 1)
		p := startProcess(t, folder(t, "spicepod.yaml", pod, "d.csv", "id,name\n1,ann\n2,bob\n3,cid\n"), sqlProtocols()...)
		pg := pgxConnect(t, p, "x", "sslmode=disable")
		for sql, want := range map[string]string{
			"SELECT twice(1) + twice(n := '1') + twice(m => 2, n => 1)":     "38",
			"SELECT thrice() * 100 + thrice(2)":                             "2632",
			"SELECT sum(twice(id)) FROM d":                                  "54",
			"SELECT (1).twice()":                                            "16",
			"SELECT sum(id.twice()) FROM d":                                 "54",
			"SELECT twice(CAST(random() * 0 AS BIGINT))":                    "14",
			"SELECT who()":                                                  "bob!",
			"SELECT who(s := '?')":                                          "bob?",
			"SELECT string_agg(who(id, s := name), ',' ORDER BY id) FROM d": "annann,bobbob,cidcid",
			"SELECT sum(v) FROM rng(1)":                                     "3",
			"SELECT sum(v) FROM rng(hi := 5, lo := 4)":                      "4",
			"SELECT sum(v) FROM d, LATERAL rng(d.id)":                       "5",
			"SELECT sum(id) FROM pick(d)":                                   "5",
			"SELECT sum(id) FROM pick((SELECT id FROM d), k := 3)":          "3",
			"SELECT sum(id) FROM pick((SELECT id FROM d))":                  "5",
			"SELECT since(n := '2 days')":                                   "2024-01-03 00:00:00",
			"SELECT since()":                                                "2024-01-02 00:00:00",
		} {
			var overHTTP []map[string]any
			cast := strings.Replace(strings.Replace(sql, "SELECT ", "SELECT CAST((", 1), " FROM", ")::VARCHAR AS VARCHAR) AS x FROM", 1)
			if cast == strings.Replace(sql, "SELECT ", "SELECT CAST((", 1) {
				cast += ")::VARCHAR AS VARCHAR) AS x"
			}
			if err := json.Unmarshal([]byte(p.sql(cast)), &overHTTP); err != nil || overHTTP[0]["x"] != want {
				t.Errorf("%s: %s: got %v, %v, want %s", isolation, cast, overHTTP, p.sql(cast), want)
			}
			var text string
			if err := pg.QueryRow(t.Context(), cast).Scan(&text); err != nil || text != want {
				t.Errorf("%s: postgres: %s: got %s, %v, want %s", isolation, cast, text, err, want)
			}
		}
		var n int64
		if err := pg.QueryRow(t.Context(), "SELECT twice($1, m := $2) + twice($1)", 1, 2).Scan(&n); err != nil || n != 22 {
			t.Errorf("%s: got %d, %v", isolation, n, err)
		}
		for sql, want := range map[string]string{
			"SELECT twice()":              `argument "n" is missing`,
			"SELECT twice(m := 1, 2)":     `argument 2 has no name and follows "m", which has one`,
			"SELECT * FROM rng(low := 1)": `there is no argument named "low" (line 1, column 15); did you mean "lo"?`,
			"SELECT twice(1, 2, 3)":       "expected at most 2 arguments, got 3",
			"SELECT twice(1, n := 2)":     `argument "n" was given more than once`,
			"SELECT bad()":                "expected 1 argument, got 0",
		} {
			if got := p.sql(sql); !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %s", sql, got, want)
			}
		}
		p.end()
	}
}
