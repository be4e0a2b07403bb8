package datasets

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/tables"
)

func gz(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a,b\n1,x\n2,y\n")
	w.file("a.tsv", "a\tb\n1,5\tx\n")
	w.file("a.json", `[{"a":1,"b":"x"},{"a":2,"b":"y"}]`)
	w.file("a.ndjson", "{\"a\":1}\n{\"a\":2}\n")
	w.file("a.jsonl", "{\"a\":3}\n")
	w.file("odd name's.csv", "a\n7\n")
	w.file("x[1].csv", "a\n1\n")
	w.file("x1.csv", "a\n2\n")
	w.file("semi.csv", "a;b\n1,5;2\n2,5;3\n")
	w.file("head.csv", "a,b\n")
	w.file("words.csv", "name,city\nAnn Lee,Rome\nBob Ray,Bonn\n")
	w.file("z.csv.gz", gz(t, "a\n9\n"))
	w.file("raw.txt", "1|2\n3|4\n")
	w.file("sub/1.csv", "a\n1\n")
	w.file("sub/2.csv", "a\n2\n")
	w.file("sub/deep/3.csv", "a\n3\n")
	w.file("sub/_SUCCESS", "")
	w.file("hive/year=2020/1.csv", "v\n1\n")
	w.file("hive/year=2021/1.csv", "v\n2\n")
	w.exec("COPY (SELECT 1 AS a, 'x' AS b) TO '" + filepath.Join(w.dir, "a.parquet") + "'")
	w.exec("COPY (SELECT 4 AS a) TO '" + filepath.Join(w.dir, "z.csv.zst") + "' (compression zstd)")
	cases := []struct{ name, from, params, sql, want string }{
		{"csv", "file:a.csv", "", "SELECT * FROM t", "1|x, 2|y"},
		{"csv as file://", "file://a.csv", "", "SELECT * FROM public.t", "1|x, 2|y"},
		{"csv by absolute path", "file:" + filepath.Join(w.dir, "a.csv"), "", "SELECT * FROM spice.public.t", "1|x, 2|y"},
		{"csv as file:///", "file://" + filepath.Join(w.dir, "a.csv"), "", "SELECT count(*) FROM t", "2"},
		{"csv as file/", "file/a.csv", "", "SELECT count(*) FROM t", "2"},
		{"tsv", "file:a.tsv", "", "SELECT * FROM t", "1,5|x"},
		{"json", "file:a.json", "", "SELECT * FROM t", "1|x, 2|y"},
		{"ndjson", "file:a.ndjson", "", "SELECT * FROM t", "1, 2"},
		{"jsonl", "file:a.jsonl", "", "SELECT * FROM t", "3"},
		{"parquet", "file:a.parquet", "", "SELECT * FROM t", "1|x"},
		{"gz", "file:z.csv.gz", "", "SELECT * FROM t", "9"},
		{"zst", "file:z.csv.zst", "", "SELECT * FROM t", "4"},
		{"quote in the name", "file:odd name's.csv", "", "SELECT * FROM t", "7"},
		{"glob character in the name", "file:x[1].csv", "", "SELECT * FROM t", "1"},
		{"semicolons", "file:semi.csv", "", "SELECT b FROM t", "2, 3"},
		{"a header alone", "file:head.csv", "", "SELECT count(*) FROM t", "0"},
		{"blanks in values", "file:words.csv", "", "SELECT * FROM t", "Ann Lee|Rome, Bob Ray|Bonn"},
		{"folder", "file:sub", "", "SELECT sum(a) FROM t", "6"},
		{"folder with a slash", "file:sub/", "{file_format: csv}", "SELECT sum(a) FROM t", "6"},
		{"glob", "file:sub/*.csv", "", "SELECT sum(a) FROM t", "3"},
		{"deep glob", "file:sub/**/*.csv", "", "SELECT sum(a) FROM t", "6"},
		{"hive", "file:hive", "{hive_partitioning_enabled: true}", "SELECT year, v FROM t ORDER BY 1", "2020|1, 2021|2"},
		{"no hive", "file:hive", "{hive_partitioning: false}", "SELECT count(*) FROM (SELECT * FROM t)", "2"},
		{"hive types", "file:hive/*/*.csv", "{hive_types: {year: VARCHAR}}", "SELECT DISTINCT typeof(year) FROM t", "VARCHAR"},
		{"format by name", "file:raw.txt", "{file_format: csv, csv_has_header: false, csv_delimiter: '|'}", "SELECT * FROM t", "1|2, 3|4"},
		{"names", "file:raw.txt", "{file_format: csv, header: false, sep: '|', names: [x, y]}", "SELECT y FROM t", "2, 4"},
		{
			"columns", "file:raw.txt", "{file_format: csv, header: false, delim: '|', columns: {x: VARCHAR, y: DOUBLE}}", "SELECT typeof(x), y FROM t LIMIT 1",
			"VARCHAR|2.0",
		},
		{"all_varchar", "file:a.csv", "{all_varchar: true}", "SELECT typeof(a) FROM t LIMIT 1", "VARCHAR"},
		{"nullstr", "file:a.csv", "{nullstr: [x]}", "SELECT b FROM t", "NULL, y"},
		{"nullstr text", "file:a.csv", "{nullstr: x}", "SELECT b FROM t", "NULL, y"},
		{"skip", "file:a.csv", "{skip: 1}", "SELECT * FROM t", "2|y"},
		{"filename", "file:sub/1.csv", "{filename: true}", "SELECT filename LIKE '%1.csv' FROM t", "true"},
		{"union_by_name", "file:*.ndjson", "{union_by_name: true, json_maximum_depth: 3}", "SELECT sum(a) FROM t", "3"},
		{"schema_infer_max_records", "file:a.json", "{schema_infer_max_records: 1, json_format: array}", "SELECT count(*) FROM t", "2"},
		{"compression", "file:z.csv.gz", "{file_compression_type: GZIP}", "SELECT * FROM t", "9"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			yaml := "datasets:\n  - name: t\n    from: " + quoteYAML(c.from) + "\n"
			if c.params != "" {
				yaml += "    params: " + c.params + "\n"
			}
			w.ok(yaml)
			w.want(c.sql, c.want)
		})
	}
}

func quoteYAML(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func TestProblems(t *testing.T) {
	w := newWorld(t)
	outside := filepath.Join(t.TempDir(), "o.csv")
	if err := os.WriteFile(outside, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.file("a.csv", "a,b\n1,x\n")
	w.file("rag.csv", "a,b\n1,2\n3,4,5\n6,7\n")
	w.file("short.csv", "a,b,c\n1,2,3\n4,5\n")
	w.file("bad.json", `[{"a":1,"b":`)
	w.file("bad.parquet", "xxxx")
	w.file("no.db", "this is not a database at all, it is only text")
	w.file("mixed/a.csv", "a\n1\n")
	w.file("mixed/a.json", "[]")
	w.file("data", "a\n1\n")
	w.file("empty.csv", "")
	w.file("long.csv", "a\n\""+strings.Repeat("x", 3_000_000)+"\"\n")
	w.file("book.xls", "PK")
	if err := os.Symlink(outside, filepath.Join(w.dir, "link.csv")); err != nil {
		t.Skip("the temporary folder takes no symbolic links: set TMPDIR to one that does:", err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(w.dir, "linked")); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, dataset, want string }{
		{"missing", "from: file:flights.csv", `4:11: dataset t: file "` + w.dir + `/flights.csv" does not exist (paths are relative to`},
		{"missing but near", "from: file:aa.csv", `did you mean "a.csv"?`},
		{"no match", "from: file:nope/*.csv", `no file matches "` + w.dir + `/nope/*.csv"`},
		{"outside", "from: file:" + outside, `is outside of the data roots (add "` + filepath.Dir(outside) + `" to runtime.data_roots and restart spiced)`},
		{"dots", "from: file:../../etc/*.csv", "outside of the data roots"},
		{"link", "from: file:link.csv", "leads through a symbolic link to"},
		{"linked folder", "from: file:linked/*.csv", "leads through a symbolic link to"},
		{"link in a glob", "from: file:l*.csv", "leads through a symbolic link to"},
		{"ragged", "from: file:rag.csv", `rag.csv", line 3: expected 2 columns, found 3: "3,4,5" (repair the file, or set params.null_padding`},
		{"short row", "from: file:short.csv", `short.csv", line 3: expected 3 columns, found 2: "4,5"`},
		{"json", "from: file:bad.json", "Malformed JSON in file"},
		{"parquet", "from: file:bad.parquet", `bad.parquet" is not a Parquet file (set params.file_format`},
		{"mixed folder", "from: file:mixed", "files of several formats: csv and json (set params.file_format"},
		{"long row", "from: file:long.csv", `the row is too long, or cannot be read`},
		{"empty", "from: file:empty.csv", `empty.csv" is empty (write at least the line with the names of the columns to it`},
		{"spreadsheet", "from: file:book.xls", `spreadsheets (.xls) are not read (save the sheet as xlsx, CSV or Parquet)`},
		{"no extension", "from: file:data", `does not show the format of the file (set params.file_format`},
		{
			"connector", "from: oracle:t",
			`connector "oracle" is not served by this build (served: abfs, abfss, delta_lake, duckdb, ducklake, file, flightsql, github, gs, http, https, iceberg, mysql, postgres, s3, spice.ai, spiceai, sqlite)`,
		},
		{"connector typo", "from: fil:a.csv", `did you mean "file"?`},
		{"no connector", "from: a.csv", `"a.csv" does not name a connector (write connector:path, for example file:a.csv)`},
		{"a connector with a path", "from: sqlit/a.db/t", `"sqlit/a.db/t" does not name a connector (did you mean "sqlite"? write connector:path, for example file:sqlit/a.db/t)`},
		{"format", "{from: 'file:a.csv', params: {file_format: parket}}", `file format "parket" is not served (did you mean "parquet"?`},
		{"param", "{from: 'file:a.csv', params: {csv_delimter: ','}}", `params.csv_delimter is not an option of csv files (did you mean "csv_delimiter"?)`},
		{
			"params", "{from: 'file:a.csv', params: {csv_delimter: ',', file_watcher: enabled, zzz: 1}}",
			`params.csv_delimter is not an option of csv files; nor are there params.file_watcher, params.zzz (did you mean "csv_delimiter"?)`,
		},
		{"other format's param", "{from: 'file:a.csv', params: {json_format: array}}", `params.json_format is an option of json files, but the file is read as csv`},
		{"bool", "{from: 'file:a.csv', params: {header: maybe}}", `params.header takes true or false, not "maybe"`},
		{"int", "{from: 'file:a.csv', params: {skip: [1]}}", `params.skip takes a whole number, not a list`},
		{"twice", "{from: 'file:a.csv', params: {delim: ',', csv_delimiter: ','}}", `params.csv_delimiter and params.delim both set delim`},
		{"inject", `{from: 'file:a.csv', params: {delim: "'', ''), evil(''"}}`, "The delimiter option cannot exceed"},
		{"column", "{from: 'file:a.csv', columns: [{name: aa}]}", `the source has no column "aa" (it has a, b)`},
		{"column near", "{from: 'file:a.parquet', columns: [{name: pricee}]}", `did you mean "price"?`},
		{"column type", "{from: 'file:a.csv', columns: [{name: a, type: bigin}]}", `Type with name bigin does not exist`},
		{"column type injection", "{from: 'file:a.csv', columns: [{name: a, type: 'INT) x FROM y --'}]}", `is not a type`},
		{"append without time", "{from: 'file:a.csv', acceleration: {refresh_mode: append}}", "refresh_mode append needs a time_column"},
		{"append with a wrong time", "{from: 'file:a.csv', time_column: c, acceleration: {refresh_mode: append}}", `the rows have no column "c"`},
		{"changes", "{from: 'file:a.csv', acceleration: {refresh_mode: changes}}", "changes is not served, and without it the copy would not follow its source"},
		{"use_source", "{from: 'file:a.csv', acceleration: {on_zero_results: use_source}}", "use_source is not served, and without it statements would find no rows"},
		{"refresh_sql syntax", "{from: 'file:a.csv', acceleration: {refresh_sql: 'SELECT * FROM t WHER a'}}", `syntax error`},
		{"refresh_sql other", "{from: 'file:a.csv', acceleration: {refresh_sql: 'SELECT * FROM u'}}", `refresh_sql reads "u" (it may read t only)`},
		{"refresh_sql file", "{from: 'file:a.csv', acceleration: {refresh_sql: \"SELECT * FROM t, read_csv('/etc/passwd')\"}}", `function "read_csv" is refused`},
		{"refresh_sql two", "{from: 'file:a.csv', acceleration: {refresh_sql: 'SELECT * FROM t; DROP TABLE t'}}", `the text is not one SELECT statement`},
		{"index", "{from: 'file:a.csv', acceleration: {indexes: {a: yes please}}}", `index on "a" is "yes please"`},
		{"duckdb file", "from: duckdb:no.db", "it is not a valid DuckDB database file"},
		{"duckdb missing", "from: duckdb:none.db", "none.db\" does not exist"},
		{"duckdb param", "{from: 'duckdb:no.db', params: {tabel: x}}", `did you mean "table"?`},
		{"types", "{from: 'file:a.csv', params: {types: 1}}", `params.types takes a mapping of names to values, or a list of texts, not 1`},
		{"headers", "{from: 'http://127.0.0.1:1/x.csv', params: {http_headers: x}}", `the first header has no name and colon (write Name: value, Name: value`},
		{"url", "from: http:/x", `"http:/x" has no path`},
		{"schema", "{from: 'file:a.csv', name: spiced.x}", `schema "spiced" is reserved`},
	}
	w.exec("COPY (SELECT 1 AS price) TO '" + filepath.Join(w.dir, "a.parquet") + "'")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			decl := c.dataset
			if !strings.HasPrefix(decl, "{") {
				decl = "{" + strings.Replace(decl, "from: ", "from: '", 1) + "'}"
			}
			if !strings.Contains(decl, "name: spiced") {
				decl = "{name: t, " + decl[1:]
			}
			pod := w.load("datasets: [" + decl + "]\n")
			p := w.m.Prepare(t.Context(), Request{Pod: pod})
			ready, problems := p.Ready, p.Problems
			if len(ready) != 0 || len(problems) != 1 {
				t.Fatalf("got %d datasets and problems %v", len(ready), problems)
			}
			text := strings.Replace(problems[0].Error(), "spicepod.yaml:4:28", "4:11", 1)
			if !strings.Contains(text, c.want) {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			if problems[0].Line != 4 || problems[0].Component == "" {
				t.Errorf("problem is at %s, component %q", problems[0].Position, problems[0].Component)
			}
		})
	}
}

func TestOneBadDatasetLeavesTheOthers(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	problems := w.reload("datasets:\n  - {name: a, from: 'file:a.csv'}\n  - {name: b, from: 'file:b.csv'}\n  - {name: public.A, from: 'file:a.csv'}\n")
	if len(problems) != 2 || problems[0].Component != "dataset b" || !strings.Contains(problems[1].Message, "has the same name") {
		t.Fatal(problems)
	}
	w.want("SELECT * FROM a", "1")
	if s := w.status("b"); s.State != Failed || !strings.Contains(s.Error, "does not exist") || s.Position.Line != 6 {
		t.Errorf("status of b: %+v", s)
	}
	w.file("b.csv", "b\n2\n")
	w.ok("datasets:\n  - {name: a, from: 'file:a.csv'}\n  - {name: b, from: 'file:b.csv'}\n")
	w.want("SELECT * FROM b", "2")
	os.Remove(filepath.Join(w.dir, "b.csv"))
	if problems := w.reload("datasets:\n  - {name: a, from: 'file:a.csv'}\n"); len(problems) != 0 {
		t.Fatal(problems)
	}
}

func TestLateRaggedRow(t *testing.T) {
	w := newWorld(t)
	path := w.file("late.csv", "a,b\n"+strings.Repeat("1,2\n", 30_000)+"1,2,3\n")
	problems := w.m.Prepare(t.Context(), Request{Pod: w.load("datasets: [{name: t, from: 'file:late.csv', acceleration: {}}]\n")}).Problems
	want := `file "` + path + `", line 30002: expected 2 columns, found 3: "1,2,3"`
	if len(problems) != 1 || problems[0].Message != want {
		t.Fatalf("got %v, want %s", problems, want)
	}
	w.file("late.csv", "a\n"+strings.Repeat("1\n", 30_000)+"x\n")
	problems = w.m.Prepare(t.Context(),
		Request{Pod: w.load("datasets: [{name: t, from: 'file:late.csv', acceleration: {}, params: {sample_size: 20480}}]\n")}).Problems
	if len(problems) != 1 || !strings.Contains(problems[0].Message, `line 30002: column "a" is read as BIGINT, but the value is "x"`) {
		t.Fatal(problems)
	}
	w.ok("datasets: [{name: t, from: 'file:late.csv', acceleration: {}, columns: [{name: A, type: utf8}]}]\n")
	w.want("SELECT count(*) FROM t WHERE a = 'x'", "1")
}

func TestColumnsKeepDescriptionAndType(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "id,zip\n1,01234\n")
	w.ok("datasets:\n  - name: sales.t\n    from: file:a.csv\n    description: it's sales\n    columns: [{name: ZIP, type: utf8, description: a 'zip'}]\n")
	w.want("SELECT zip FROM sales.t", "01234")
	w.want("SELECT zip FROM spice.sales.t", "01234")
	s := w.status("sales.t")
	if s.Schema != "sales" || s.Description != "it's sales" || s.Columns[1] != (tables.Column{Name: "zip", Type: "VARCHAR", Description: "a 'zip'"}) ||
		s.Format != "csv" {
		t.Errorf("%+v", s)
	}
	var comment string
	_ = tables.Query(t.Context(), w.db, "SELECT comment FROM duckdb_columns() WHERE table_name = 't' AND column_name = 'zip' AND comment IS NOT NULL",
		chunkText(&comment))
	if comment != "a 'zip'" {
		t.Errorf("comment is %q", comment)
	}
}

func TestSecretsStaySecret(t *testing.T) {
	t.Setenv("FOLDER", "hush-hush")
	w := newWorld(t)
	problems := w.m.Prepare(t.Context(), Request{Pod: w.load("datasets: [{name: t, from: 'file:${env:FOLDER}/a.csv'}]\n")}).Problems
	if len(problems) != 1 || strings.Contains(problems.Error(), "hush") || !strings.Contains(problems.Error(), "***") {
		t.Error(problems)
	}
	w.file("hush-hush/a.csv", "a,b\n1\n")
	problems = w.m.Prepare(t.Context(), Request{Pod: w.load("datasets: [{name: t, from: 'file:${env:FOLDER}/a.csv'}]\n")}).Problems
	if len(problems) != 1 || strings.Contains(problems.Error(), "hush") {
		t.Error(problems)
	}
	if strings.Contains(w.log.String(), "hush") || strings.Contains(w.status("t").Error, "hush") {
		t.Error("the log or the status shows the secret")
	}
}

func TestDuckDBSource(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.dir, "shop.db")
	w.exec("ATTACH '" + path + "' AS shop")
	w.exec("CREATE SCHEMA shop.sales")
	w.exec("CREATE TABLE shop.sales.orders AS SELECT range AS id FROM range(3)")
	w.exec("CREATE TABLE shop.main.items AS SELECT 'x' AS sku")
	w.exec("DETACH shop")
	for name, decl := range map[string]string{
		"open":  "{name: t, from: 'duckdb:sales.orders', params: {open: shop.db}}",
		"slash": "{name: t, from: 'duckdb:shop.db/sales.orders'}",
		"param": "{name: t, from: 'duckdb:shop.db', params: {table: sales.orders}}",
		"accel": "{name: t, from: 'duckdb:shop.db', params: {table: sales.orders}, acceleration: {mode: file}}",
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.ok("datasets: [" + decl + ", {name: items, from: 'duckdb:shop.db'}]\n")
			w.want("SELECT sum(id) FROM t", "3")
			w.want("SELECT * FROM items", "x")
		})
	}
	w.t = t
	problems := w.reload("datasets: [{name: t, from: 'duckdb:shop.db/sales.order'}]\n")
	if len(problems) != 1 || !strings.Contains(problems.Error(), `did you mean "sales.orders"?`) {
		t.Error(problems)
	}
	w.ok("")
	w.drain()
	if n := w.attached(); n != 0 {
		t.Errorf("%d databases are still attached", n)
	}
}

// TestCommentsOfDuckDBFiles shows that comments of a file describe tables, views and
// columns that the Spicepod does not describe.
func TestCommentsOfDuckDBFiles(t *testing.T) {
	w := newWorld(t)
	w.exec("ATTACH '" + filepath.Join(w.dir, "shop.db") + "' AS shop")
	w.exec("CREATE SCHEMA shop.sales")
	w.exec("CREATE TABLE shop.sales.orders AS SELECT range AS id, range / 2 AS amount, 'a' AS owner FROM range(3)")
	w.exec("COMMENT ON TABLE shop.sales.orders IS 'what was bought'")
	w.exec("COMMENT ON COLUMN shop.sales.orders.amount IS 'in euros'")
	w.exec("COMMENT ON COLUMN shop.sales.orders.owner IS 'the buyer'")
	w.exec("CREATE TABLE shop.main.orders AS SELECT 1 AS amount")
	w.exec("COMMENT ON COLUMN shop.main.orders.amount IS 'of another table'")
	w.exec("CREATE VIEW shop.main.recent AS SELECT 1 AS id")
	w.exec("COMMENT ON VIEW shop.main.recent IS 'the last orders'")
	w.exec("DETACH shop")
	for _, more := range []string{"", ", access: read_write", ", acceleration: {mode: file}"} {
		w.ok("datasets: [{name: t, from: 'duckdb:shop.db/sales.orders', columns: [{name: owner, description: the seller}]" + more +
			"}, {name: recent, from: 'duckdb:shop.db/recent'}]\n")
		w.want("SELECT name, description FROM spiced.datasets ORDER BY 1", "recent|the last orders, t|what was bought")
		w.want("SELECT name, description FROM spiced.dataset_columns WHERE dataset = 't' AND description IS NOT NULL ORDER BY 1", "amount|in euros, owner|the seller")
		w.ok("")
		w.drain()
	}
}

// Statements cannot use macros and types of an attached file, under any name.
func TestAttachedMacrosAndTypes(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.dir, "shop.db")
	w.exec("ATTACH '" + path + "' AS shop")
	w.exec("CREATE TABLE shop.main.orders AS SELECT range AS id FROM range(3)")
	w.exec("CREATE TYPE shop.main.mood AS ENUM ('hidden')")
	w.exec("CREATE MACRO shop.main.top(t) AS TABLE FROM query_table(t)")
	w.exec("DETACH shop")
	for _, access := range []string{"read", "read_write"} {
		w.ok("datasets: [{name: t, from: 'duckdb:shop.db/orders', access: " + access + "}]\n")
		w.drain()
		w.want("SELECT sum(id) FROM t", "3")
		var alias string
		err := tables.Query(t.Context(), w.db, "SELECT database_name FROM duckdb_databases() WHERE path LIKE '%shop.db'", chunkText(&alias))
		if err != nil || alias == "" {
			t.Fatalf("the file is attached as %q, %v", alias, err)
		}
		for _, sql := range []string{
			"FROM " + alias + ".top('" + alias + ".orders')", "FROM " + alias + ".main.top('t')", "SELECT enum_range(NULL::" + alias + ".main.mood)",
		} {
			if got, err := w.read(sql); err == nil || !strings.Contains(err.Error(), "attached database file") {
				t.Errorf("%s: %s, %v", sql, got, err)
			}
		}
		w.ok("")
		w.drain()
	}
}

// TestDependencyReadsItsFolder declares datasets of files in a dependency.
func TestDependencyReadsItsFolder(t *testing.T) {
	w := newWorld(t)
	w.file("secret/x.csv", "a\n1\n")
	w.file("dep/own.csv", "a\n2\n")
	w.exec("ATTACH '" + filepath.Join(w.dir, "secret/shop.db") + "' AS shop")
	w.exec("CREATE TABLE shop.t AS SELECT 1 AS a")
	w.exec("DETACH shop")
	if err := os.Symlink(filepath.Join(w.dir, "secret"), filepath.Join(w.dir, "dep/link")); err != nil {
		t.Fatal(err)
	}
	pod := "version: v1\nkind: Spicepod\nname: dep\ndatasets:\n- {name: own, from: 'file:own.csv'}\n"
	outside := []string{"file:../secret/x.csv", "file:link/x.csv", "file:../secret/*.csv", "duckdb:../secret/shop.db/t"}
	if w.db.Extension("delta") == nil {
		outside = append(outside, "delta_lake:../secret")
	}
	for i, from := range outside {
		pod += fmt.Sprintf("- {name: t%d, from: '%s'}\n", i, from)
	}
	w.file("dep/spicepod.yaml", pod)
	problems := w.reload("dependencies: [dep]")
	if len(problems) != len(outside) {
		t.Error(problems)
	}
	for i := range outside {
		wantProblem(t, problems, fmt.Sprintf("dataset t%d", i), "is outside of the folder of the dependency", "declare it in the Spicepod itself")
	}
	w.want("FROM own", "2")
}
