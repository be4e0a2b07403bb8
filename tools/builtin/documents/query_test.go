package documents_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// records is a dataset whose tables have the values that others reported as read wrongly: numbers in
// texts, with separators, NULL in several spellings, postal codes, names that differ in case.
const records = `SELECT * FROM (VALUES
	('1', 'sales.xlsx', 's1', '[
		{"Region":"EU","Amount":"1,234.50","Units":3,"Zip":"01067","Day":"2026-01-02","At":"2026-01-02 10:00:00","Paid":true,"Note":"a","Big":"12345678901234567890","Mixed":"5","Empty":null,"E":"1e3"},
		{"Region":"US","Amount":"n/a","Units":"4","Zip":"90210","Day":"2026-02-03","At":"2026-02-03T11:30:00","Paid":false,"Note":null,"Big":"2","Mixed":"five","Empty":"","E":"5"},
		{"Region":"EU","amount":"15.25","Units":null,"Zip":"8001","Day":"","At":null,"Paid":"true","Note":"it''s \"x\" | y","Big":"3","Mixed":null,"E":null}]'),
	('2', 'one.json', 's1', '{"Region":"JP","Amount":-10,"Tags":["a","b"],"document_id":"mine","a.b":1,"q\"t":"v"}'),
	('3', 'text.md', 's1', 'no table'),
	('4', 'scalars.json', 's1', '[1, "x", null, [2]]'),
	('5', 'other.xlsx', 's2', '[{"Region":"SECRET","Amount":"999999"}]'),
	('6', 'none', 's1', NULL)
) t(id, name, space_id, data)`

func TestQuestions(t *testing.T) {
	w := newWorld(t, records)
	w.scope.SpaceID = "s1"
	for sql, want := range map[string]string{
		// aggregates and numbers
		`SELECT sum(Amount) AS s, sum(Units) AS u, count(*) AS n FROM records`:             `[{"s":1239.75,"u":7,"n":4}]`,
		`SELECT "Region", sum(amount) AS s FROM records GROUP BY ALL ORDER BY "Region"`:    `[{"Region":"EU","s":1249.75},{"Region":"JP","s":-10.00},{"Region":"US","s":null}]`,
		`SELECT max(Big) AS b, sum(E) AS e FROM records`:                                   `[{"b":1.2345678901234567e19,"e":1005.0}]`,
		`WITH x AS (SELECT avg(Amount) AS a FROM records) SELECT round(a, 2) AS a FROM x;`: `[{"a":413.25}]`,
		`SELECT count(*) AS n FROM records WHERE Paid`:                                     `[{"n":2}]`,
		// filters
		`SELECT Zip FROM records WHERE Day > DATE '2026-01-15'`:                                              `[{"Zip":"90210"}]`,
		`SELECT document, Mixed FROM records WHERE Mixed IS NOT NULL ORDER BY Mixed -- a comment`:            `[{"document":"sales.xlsx","Mixed":"5"},{"document":"sales.xlsx","Mixed":"five"}]`,
		`SELECT Zip FROM records WHERE hour("At") = 11`:                                                      `[{"Zip":"90210"}]`,
		`SELECT Note FROM records WHERE Note LIKE 'it%'`:                                                     `[{"Note":"it's \"x\" | y"}]`,
		`SELECT document_id, document_id_, "a.b" + 1 AS c, "q""t", Tags FROM records WHERE Tags IS NOT NULL`: `[{"document_id":"2","document_id_":"mine","c":2,"q\"t":"v","Tags":["a","b"]}]`,
		`SELECT DISTINCT document_id FROM records ORDER BY 1`:                                                `[{"document_id":"1"},{"document_id":"2"}]`,
		`SELECT * FROM records WHERE Region = 'SECRET'`:                                                      `[]`,
	} {
		w.sql = sql
		got := decode[struct {
			SQL  string
			Rows json.RawMessage
			More bool
		}](w, "query_documents", `{"question":"How much?"}`)
		if canonical(t, string(got.Rows)) != canonical(t, want) || got.SQL != sql || got.More {
			t.Errorf("%s:\ngot  %s\nwant %s", sql, got.Rows, want)
		}
	}
	for _, want := range []string{
		"| Region | VARCHAR | 3 different values, such as EU, JP, US |",
		"| Amount | DECIMAL(18,2) | 3 different values, such as -10, 1,234.50, 15.25; NULL in 1 of 4 rows |",
		"| Units | BIGINT |", "| Zip | VARCHAR |", "| Day | DATE |", "| At | TIMESTAMP |",
		"| Paid | BOOLEAN |", "| Big | DOUBLE |", "| Mixed | VARCHAR |", "| Empty | VARCHAR |",
		"| E | DOUBLE |", "| Tags | JSON |", "| document_id_ | VARCHAR |", "| a.b | BIGINT |", `| q"t | VARCHAR |`, `it's "x" \| y`,
	} {
		if !strings.Contains(w.question.Schema, want) {
			t.Errorf("no %q in:\n%s", want, w.question.Schema)
		}
	}
	if strings.Contains(w.question.Schema, "SECRET") {
		t.Errorf("a value of another space:\n%s", w.question.Schema)
	}
}

func TestQuestionsOfOneDocument(t *testing.T) {
	w := newWorld(t, records)
	w.scope.SpaceID = "s1"
	w.sql = "SELECT * FROM records"
	w.expect("query_documents", `{"question":"x","document_id":"2"}`, `{"sql":"SELECT * FROM records","more":false,"rows":[{"document_id":"2","document":"one.json","sheet":null,"Region":"JP","Amount":-10,"Tags":["a","b"],"document_id_":"mine","a.b":1,"q\"t":"v"}]}`)
	w.refuses("query_documents", `{"question":"x","document_id":"3"}`, errcode.NotFound, `no document with the id "3" that has a table`)
	w.refuses("query_documents", `{"question":"x","document_id":"5"}`, errcode.NotFound, `no document with the id "5" that has a table`)
	w.refuses("query_documents", `{"question":"x","document_id":"' OR true --"}`, errcode.NotFound, "no document with the id")
	// The model reads no other table, changes nothing and gets out of no bracket.
	for sql, part := range map[string]string{
		"SELECT * FROM spiced.tools":                "",
		"SELECT 1) UNION ALL (SELECT 2":             "",
		"INSERT INTO docs VALUES ('x')":             "",
		"SELECT * FROM read_text('/etc/passwd')":    "",
		"SELECT * FROM records; DROP TABLE records": "",
		"SELECT $1":                             "",
		"SELECT nothing FROM records":           "nothing",
		"COPY records TO '/tmp/x'":              "",
		"SELECT * FROM records) TO '/tmp/x' --": "",
		"ATTACH '/tmp/x.db'":                    "",
	} {
		w.sql = sql
		if got, err := w.call(t.Context(), w.tool("query_documents"), `{"question":"x"}`); err == nil || err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %s %v", sql, got, err)
		}
	}
	w = newWorld(t, "SELECT 1 AS id, 'text' AS data")
	w.refuses("query_documents", `{"question":"x"}`, errcode.NotFound, "no document has a table")
}

// TestManyFields leaves out columns, and says how many.
func TestManyFields(t *testing.T) {
	var fields []string
	for i := range 250 {
		fields = append(fields, fmt.Sprintf(`"f%03d":%d`, i, i))
	}
	w := newWorld(t, "SELECT 1 AS id, '{"+strings.Join(fields, ",")+"}' AS data")
	w.sql = "SELECT f199 FROM records"
	w.expect("query_documents", `{"question":"x"}`, `{"sql":"SELECT f199 FROM records","rows":[{"f199":199}],"more":false,"columns_left_out":50}`)
}

// TestSheets has a workbook with several sheets, as a dataset of documents has it.
func TestSheets(t *testing.T) {
	w := newWorld(t, `SELECT * FROM (VALUES
		('1', '{"Q1":[{"region":"EU","amount":1},{"region":"US","amount":2}],"Q2":[{"region":"EU","amount":4,"sheet":"x"}],"Empty":[]}'),
		('2', '{"tags":["a"],"amount":8}'), ('3', '{}'), ('4', '{"a":[1]}'), ('5', '[[{"amount":99}]]'), ('6', '')) t(id, data)`)
	w.sql = "SELECT document_id, sheet, sheet_, sum(amount) AS s FROM records GROUP BY ALL ORDER BY ALL"
	w.expect("query_documents", `{"question":"x"}`, `{"sql":"`+w.sql+`","more":false,"rows":[{"document_id":"1","sheet":"Q1","sheet_":null,"s":3},
		{"document_id":"1","sheet":"Q2","sheet_":"x","s":4},{"document_id":"2","sheet":null,"sheet_":null,"s":8},
		{"document_id":"3","sheet":null,"sheet_":null,"s":null},{"document_id":"4","sheet":null,"sheet_":null,"s":null}]}`)
}

// TestHostileJSON has texts that DuckDB takes for JSON and others do not, and JSON that is very deep.
func TestHostileJSON(t *testing.T) {
	w := newWorld(t, `SELECT * FROM (VALUES
		('1', 'x', '{"a":nan,"b":Infinity}', '[{"a":nan,"b":1},{"a":2,"b":3}]'),
		('2', 'y', '"\ud800"', '[{"a":"\ud800"}]'),
		('3', 'z', '{"a":1,"a":2}', '[{"a":7,"a":8}]'),
		('4', 'w', repeat('[', 50000) || repeat(']', 50000), repeat('[', 50000) || repeat(']', 50000))) t(id, content, metadata, data)`)
	for id := range 4 {
		got := decode[struct{ Metadata json.RawMessage }](w, "document_info", fmt.Sprintf(`{"id":"%d"}`, id+1))
		if len(got.Metadata) == 0 {
			t.Errorf("document %d has no metadata", id+1)
		}
	}
	w.sql = "SELECT document_id, a, b FROM records ORDER BY ALL"
	w.expect("query_documents", `{"question":"x"}`, `{"sql":"`+w.sql+`","more":false,"rows":[{"document_id":"1","a":"2","b":3},
		{"document_id":"1","a":"nan","b":1},{"document_id":"3","a":"7","b":null}]}`)
}
