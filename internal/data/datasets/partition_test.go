package datasets

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// scanned returns how many rows DuckDB's scans have read for a query of a copy.
func (w *world) scanned(query string) (rows int) {
	w.t.Helper()
	text := ""
	if err := tables.Query(w.t.Context(), w.db, "EXPLAIN (ANALYZE, FORMAT JSON) "+query, func(c *engine.Chunk) {
		text += string(c.Column(1).Bytes(0))
	}); err != nil {
		w.t.Fatal(err)
	}
	type operator struct {
		Scanned  int `json:"operator_rows_scanned"`
		Children []operator
	}
	var root operator
	if err := json.Unmarshal([]byte(text), &root); err != nil {
		w.t.Fatal(err, text)
	}
	var add func(operator)
	add = func(o operator) {
		rows += o.Scanned
		for _, c := range o.Children {
			add(c)
		}
	}
	add(root)
	return rows
}

// TestPartitionBy: a statement with conditions on the columns of partition_by reads few of
// the other rows.
func TestPartitionBy(t *testing.T) {
	const rows = 2_000_000
	w := newWorld(t)
	w.exec(fmt.Sprintf("COPY (SELECT i AS id, (i * 7919 %% 40)::INTEGER AS region, TIMESTAMP '2020-01-01' + INTERVAL (i * 7919 %% 1440) HOUR AS made "+
		"FROM range(%d) t(i)) TO '%s/rows.parquet'", rows, w.dir))
	for _, c := range []struct {
		by, where, want string
		most            int
	}{
		{"", "region = 7", "50000", -1},
		{"partition_by: [region]", "region = 7", "50000", 400_000},
		{"partition_by: ['bucket(10, region)']", "region IN (7, 8)", "100000", 500_000},
		{"partition_by: [{month: \"date_trunc('month', made)\"}, 'truncate(10, region)']", "made < TIMESTAMP '2020-02-01' AND region = 3", "26390", 400_000},
	} {
		w.ok("datasets: [{name: t, from: 'file:rows.parquet', acceleration: {" + c.by + "}}]\n")
		w.want("SELECT count(*), count(DISTINCT id) FROM t", fmt.Sprintf("%d|%d", rows, rows))
		if got, err := w.read("SELECT count(*) FROM t WHERE " + c.where); err != nil || got != c.want {
			t.Errorf("%s: %s rows, %v, want %s", c.by, got, err, c.want)
		}
		scanned := w.scanned("SELECT count(*) FROM " + w.m.live["public.t"].Current().Rows + " WHERE " + c.where)
		t.Logf("%s: %d rows read", c.by, scanned)
		if c.most < 0 && scanned < rows/2 || c.most > 0 && (scanned > c.most || scanned == 0) {
			t.Errorf("%s: %d rows were read", c.by, scanned)
		}
	}
}

// TestPartitionByWithKeys: keys, appends and files are as without partition_by.
func TestPartitionByWithKeys(t *testing.T) {
	for _, mode := range []string{"memory", "file"} {
		w := newWorld(t)
		w.file("rows.csv", "id,kind,n\n1,b,1\n2,a,1\n1,a,2\n3,c,1\n")
		w.ok("datasets:\n- {name: t, from: 'file:rows.csv', time_column: n, acceleration: {mode: " + mode +
			", partition_by: [kind], primary_key: id, on_conflict: {id: upsert}, refresh_mode: append}}\n" +
			"- {name: d, from: 'file:rows.csv', acceleration: {mode: " + mode + ", partition_by: [kind], primary_key: id, on_conflict: {id: drop}}}\n")
		w.want("SELECT * FROM t ORDER BY id", "1|a|2, 2|a|1, 3|c|1")
		w.want("SELECT * FROM d ORDER BY id", "1|b|1, 2|a|1, 3|c|1")
		w.want("SELECT list(kind) FROM d", "[a, b, c]")
		w.file("rows.csv", "id,kind,n\n2,z,9\n5,y,9\n4,x,9\n")
		for _, name := range []string{"t", "d"} {
			if err := w.refresh(name, refresh.Override{}); err != nil {
				t.Error(err)
			}
		}
		w.want("SELECT * FROM t ORDER BY id", "1|a|2, 2|z|9, 3|c|1, 4|x|9, 5|y|9")
		w.want("SELECT list(kind) FROM d", "[x, y, z]")
	}
}

func TestPartitionByFaults(t *testing.T) {
	w := newWorld(t)
	w.file("rows.csv", "id,kind\n1,b\n")
	w.file("other.csv", "id\n1\n")
	for by, want := range map[string]string{
		"[5]":                                    "it is not an expression; write an expression, or one with its name: month: date_trunc('month', created_at)",
		"[{a: id, b: kind}]":                     "it is not an expression",
		"['']":                                   "it is not an expression",
		"['month(']":                             `"month(" is not an expression; write one expression of columns`,
		"['1']":                                  `"1" is not an expression of columns; write one expression of columns`,
		"['id, kind']":                           `"id, kind" is not an expression of columns`,
		"['*']":                                  `"*" is not an expression of columns`,
		"['id AS x']":                            `"id AS x" is not an expression of columns`,
		"['(SELECT max(id) FROM o)']":            `partition_by[0] reads "o"; it may read t only`,
		"['id FROM o --']":                       `"id FROM o --" is not an expression; write one expression of columns`,
		"[\"date_trunc('month', at)\"]":          `"date_trunc('month', at)" is not an expression; write a name that is a keyword in double quotes: "at"`,
		"['id +']":                               `"id +" is not an expression; write one expression of columns`,
		"['nope']":                               `"nope"`,
		"['max(id)']":                            "aggregate",
		"['bukket(3, id)']":                      "bukket",
		"['getenv(kind)']":                       `function "getenv" is refused`,
		"[" + strings.Repeat("id, ", 16) + "id]": "it has 17 expressions; the limit is 16",
	} {
		problems := w.reload("datasets:\n- {name: o, from: 'file:other.csv'}\n- {name: t, from: 'file:rows.csv', acceleration: {partition_by: " + by + "}}\n")
		if len(problems) != 1 || !strings.Contains(strings.ToLower(problems[0].Message+"; "+problems[0].Hint), strings.ToLower(want)) ||
			!strings.Contains(problems[0].Path, "partition_by") {
			t.Errorf("%s: got %v, want %s", by, problems, want)
		}
	}
	w.ok("datasets:\n- {name: t, from: 'file:rows.csv'}\nviews: [{name: v, sql: SELECT * FROM t, acceleration: {partition_by: [kind]}}]\n")
	w.want("SELECT kind FROM v", "b")
}
