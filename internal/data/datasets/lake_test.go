package datasets

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/extension"
	"github.com/spiced-sql/spiced/internal/test/azuretest"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/laketest"
	"github.com/spiced-sql/spiced/internal/test/s3test"
)

// newLake returns a world with the extensions of a connector for lakes.
func newLake(t *testing.T, name string) *world {
	t.Helper()
	var extensions []engine.Extension
	for _, e := range extension.Needed(name) {
		extensions = append(extensions, exttest.Find(t, e))
	}
	return newWorld(t, extensions...)
}

// lakeRows is what the function show of laketest prints of a dataset.
const lakeRows = `SELECT to_json(list(json_array(id, part, i, f, d, b, s, lower(hex(bin)), day::VARCHAR, epoch_us("at"), dec::VARCHAR, list, st, z) ORDER BY id)) FROM `

// wantRows compares a dataset with what the library that wrote it reads.
func (w *world) wantRows(dataset, written string) {
	w.t.Helper()
	text, err := w.read(lakeRows + dataset)
	if err != nil {
		w.t.Fatalf("%s: %v", dataset, err)
	}
	var got, want any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(written), &want); err != nil {
		w.t.Fatal(err)
	}
	if len(want.([]any)) < 50 {
		w.t.Fatalf("the library reads %d rows", len(want.([]any)))
	}
	if !reflect.DeepEqual(got, want) {
		w.t.Errorf("%s:\n got %s\nwant %s", dataset, text, written)
	}
}

// lakes are the connectors for tables with the functions of laketest.
var lakes = []struct{ connector, extension, function, log string }{
	{"delta_lake", "delta", "delta", "_delta_log"},
	{"iceberg", "iceberg", "iceberg", "metadata"},
}

// TestLakes reads a table with partitions, NULLs, deletes, and columns that were added and
// renamed, in a folder whose name has what a URL must escape.
func TestLakes(t *testing.T) {
	for _, l := range lakes {
		t.Run(l.connector, func(t *testing.T) {
			w := newLake(t, l.extension)
			table := filepath.Join(w.dir, "a data/data", "tä ble")
			if err := os.MkdirAll(filepath.Dir(table), 0o755); err != nil {
				t.Fatal(err)
			}
			state := "LAKE_STATE=" + t.TempDir()
			written := laketest.Write(t, l.function, table, state)
			if err := os.CopyFS(filepath.Join(w.dir, "moved/metadata/x%20+"), os.DirFS(table)); err != nil {
				t.Fatal(err)
			}
			pod := "datasets:\n" +
				"- {name: moved, from: '" + l.connector + ":moved/metadata/x%20+'}\n" +
				"- {name: direct, from: '" + l.connector + ":a data/data/tä ble'}\n" +
				"- {name: url, from: '" + l.connector + ":file://" + table + "'}\n" +
				"- {name: fast, from: '" + l.connector + ":" + table + "/', acceleration: {primary_key: id}}\n" +
				"- {name: part, from: '" + l.connector + ":" + table + "', acceleration: {refresh_sql: \"SELECT id, part FROM part WHERE part = 'c=1' AND id < 1000\"}}\n"
			w.ok(pod)
			for _, name := range []string{"direct", "url", "moved", "fast"} {
				w.wantRows(name, written)
			}
			same, err := w.read("SELECT list(id ORDER BY id) FROM direct WHERE part = 'c=1' AND id < 1000")
			if err != nil {
				t.Fatal(err)
			}
			w.want("SELECT list(id ORDER BY id) FROM part", same)

			// A commit is seen by the next statement, and by the copy after its refresh.
			more := laketest.Write(t, l.function+"_append", table, state)
			w.wantRows("direct", more)
			w.wantRows("fast", written)
			if err := w.refresh("fast", refresh.Override{}); err != nil {
				t.Error(err)
			}
			w.wantRows("fast", more)

			// The table goes away and comes back.
			if err := os.Rename(table, table+"2"); err != nil {
				t.Fatal(err)
			}
			if _, err := w.read("FROM direct"); err == nil || strings.Contains(err.Error(), engine.Hidden) || strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("without the table: got %v", err)
			}
			w.wantRows("fast", more)
			if err := w.refresh("fast", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "does not exist") {
				t.Errorf("a refresh without the table: got %v", err)
			}
			if err := os.Rename(table+"2", table); err != nil {
				t.Fatal(err)
			}
			w.wantRows("direct", more)

			// A condition on the column of partitions reads no file of others. DuckDB
			// keeps what it has read of the others, so that they get rows.
			laketest.Write(t, l.function+"_append", table, state)
			removed := 0
			err = filepath.WalkDir(table, func(path string, e os.DirEntry, err error) error {
				if err != nil || e.IsDir() || !strings.Contains(path, "=a"+string(filepath.Separator)) {
					return err
				}
				removed++
				return os.Remove(path)
			})
			if err != nil || removed == 0 {
				t.Fatal(removed, err)
			}
			if _, err := w.read("FROM direct"); err == nil || !strings.Contains(err.Error(), "the object store answered HTTP 404 for ") {
				t.Errorf("without a file: got %v", err)
			}
			w.want("SELECT list(id ORDER BY id) FROM direct WHERE part = 'c=1' AND id < 1000", same)
		})
	}
}

// TestLakesInS3 reads tables of a store, with its keys.
func TestLakesInS3(t *testing.T) {
	for _, l := range lakes {
		t.Run(l.connector, func(t *testing.T) {
			w := newLake(t, l.extension)
			s := s3test.Start(t)
			t.Setenv("LAKE_SECRET", s.Secret)
			t.Setenv("WRONG", "hunter2")
			s.Bucket("lake")
			environment := []string{
				"AWS_ENDPOINT_URL=" + s.URL, "AWS_ACCESS_KEY_ID=" + s.Key, "AWS_SECRET_ACCESS_KEY=" + s.Secret, "AWS_REGION=us-east-1",
				"LAKE_STATE=" + t.TempDir(),
			}
			written := laketest.Write(t, l.function, "s3://lake/data/orders", environment...)
			prefix := map[string]string{"delta_lake": "delta_lake_aws", "iceberg": "iceberg_s3"}[l.connector]
			params := func(key, secret, endpoint string) string {
				return fmt.Sprintf("params: {%[1]s_access_key_id: %[2]s, %[1]s_secret_access_key: '%[3]s', %[1]s_endpoint: '%[4]s'}", prefix, key, secret, endpoint)
			}
			right := params(s.Key, "${secrets:lake_secret}", s.URL)
			pod := "datasets:\n" +
				"- {name: direct, from: '" + l.connector + ":s3://lake/data/orders/', " + right + "}\n" +
				"- {name: fast, from: '" + l.connector + ":s3a://lake/data/orders', " + right + ", acceleration: {primary_key: id}}\n"
			w.ok(pod)
			w.wantRows("direct", written)
			w.wantRows("fast", written)
			more := laketest.Write(t, l.function+"_append", "s3://lake/data/orders", environment...)
			w.wantRows("direct", more)

			for _, c := range []struct{ name, from, params, message, hint string }{
				{"table", "s3://lake/data/order", right, "is not a table of", "name the folder that has " + l.log},
				{"bucket", "s3://laek/data/orders", right, `has no bucket "laek"`, "correct the bucket, or params." + prefix + "_endpoint"},
				{"bucket's name", "s3://a/data/orders", right, `"a" is not the name of a bucket`, l.connector + ":s3://bucket/table/"},
				{"dots", "s3://lake/x/../data/orders", right, "must not be empty, . or ..", "write the folder itself"},
				{
					"secret", "s3://lake/data/orders", params(s.Key, "${secrets:wrong}", s.URL), "The request signature we calculated does not match",
					"correct params." + prefix + "_access_key_id and params." + prefix + "_secret",
				},
				{"half a key", "s3://lake/data/orders", "params: {" + prefix + "_access_key_id: x}", "a key has two parts", prefix + "_secret_access_key"},
				{"http", "s3://lake/data/orders", params(s.Key, "x", "http://minio.example.com"), "sends keys and data in the clear", prefix + "_allow_http: true"},
				{
					"host", "s3://lake/data/orders", params(s.Key, "x", "nowhere.invalid"), "there is no host of that name",
					"correct params." + prefix + "_endpoint or params." + prefix + "_region",
				},
				{"param", "s3://lake/data/orders", "params: {" + prefix + "_acces_key_id: x}", prefix + "_acces_key_id", prefix + "_access_key_id"},
				{"scheme", "gs://lake/data/orders", right, "tables at gs:// are not served", "s3://bucket/table/"},
			} {
				t.Run(c.name, func(t *testing.T) {
					w.t = t
					problems := w.reload(pod + "- {name: bad, from: '" + l.connector + ":" + c.from + "', " + c.params + "}\n")
					if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
						t.Errorf("got %v\nwant %s; %s", problems, c.message, c.hint)
					}
					if text := problems.Error() + w.status("bad").Error; strings.Contains(text, "hunter2") || strings.Contains(text, s.Secret) {
						t.Errorf("a secret is shown: %s", text)
					}
				})
			}
			w.t = t
			w.ok(pod)
			s.Stop()
			away := map[string]string{"delta_lake": "connection refused", "iceberg": "the newest metadata file of the Iceberg table cannot be found"}[l.connector]
			if _, err := w.read("FROM direct"); err == nil || !strings.Contains(err.Error(), away) {
				t.Errorf("without the server: got %v", err)
			}
			w.wantRows("fast", written)
			if err := w.refresh("fast", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("a refresh without the server: got %v", err)
			}
			if strings.Contains(w.log.String(), s.Secret) {
				t.Errorf("the log has the secret: %s", w.log)
			}
		})
	}
}

// TestLakesInAzure reads tables of a storage account, which were copied there.
func TestLakesInAzure(t *testing.T) {
	t.Setenv("AZURE_KEY", azuretest.Key)
	t.Setenv("WRONG", "aHVudGVyMg==")
	for _, l := range lakes {
		t.Run(l.connector, func(t *testing.T) {
			w, s := newLake(t, l.extension), azuretest.Start(t)
			local, container := filepath.Join(t.TempDir(), "data/orders"), "lake"
			if err := os.MkdirAll(filepath.Dir(local), 0o755); err != nil {
				t.Fatal(err)
			}
			written := laketest.Write(t, l.function, local, "LAKE_STATE="+t.TempDir())
			s.Container(container)
			err := fs.WalkDir(os.DirFS(local), ".", func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				text, err := os.ReadFile(filepath.Join(local, path))
				s.Put(container, "data/ä orders/"+path, string(text))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			prefix := l.connector + "_azure_storage"
			params := func(key, endpoint string) string {
				return fmt.Sprintf("params: {%[1]s_account_key: '%[2]s', %[1]s_endpoint: '%[3]s'}", prefix, key, endpoint)
			}
			right, at := params("${secrets:azure_key}", s.URL), "abfss://"+container+"@"+azuretest.Account
			pod := "datasets:\n" +
				"- {name: direct, from: '" + l.connector + ":" + at + ".dfs.core.windows.net/data/ä orders/', " + right + "}\n" +
				"- {name: fast, from: '" + l.connector + ":" + at + "/data/ä orders', " + right + ", acceleration: {primary_key: id}}\n"
			w.ok(pod)
			w.wantRows("direct", written)
			w.wantRows("fast", written)
			faults := []struct{ from, params, message, hint string }{
				{at + "/data/order", right, "is not a table of", "name the folder that has " + l.log},
				{"abfss://other@" + azuretest.Account + "/data", right, "has no such container", "correct the container or the account"},
				{at + "/x/../data", right, "must not be empty, . or ..", "write the folder itself"},
				{at + "/data/ä orders", params("${secrets:wrong}", s.URL), "refuses the access key", "correct params." + prefix + "_account_key"},
				{at + "/data/ä orders", params("no base64!", s.URL), "the access key is not base64", "copy the whole key"},
				{at + "/data/ä orders", params("x", "http://azure.example.com"), "sends keys and data in the clear", prefix + "_allow_http: true"},
				{at + "/data/ä orders", "params: {" + prefix + "_client_id: x}", "it is used with params." + prefix + "_client_secret only", ""},
				{
					at + "/data/ä orders", "params: {" + prefix + "_endpoint: '" + s.URL + "'}", "the way to authenticate is missing",
					"set one of params." + prefix + "_account_key, " + prefix + "_sas_key, ",
				},
				{at + "/data/ä orders", "params: {" + prefix + "_acount_key: x}", prefix + "_acount_key", prefix + "_account_key"},
			}
			bad := pod
			for i, c := range faults {
				bad += fmt.Sprintf("- {name: bad%d, from: '%s:%s', %s}\n", i, l.connector, c.from, c.params)
			}
			problems := w.reload(bad)
			for i, c := range faults {
				wantProblem(t, problems, fmt.Sprintf("dataset bad%d", i), c.message, c.hint)
			}
			if len(problems) != len(faults) || strings.Contains(problems.Error(), "abfs_") {
				t.Errorf("got %v", problems)
			}
			s.Stop()
			if _, err := w.read("FROM direct"); err == nil {
				t.Error("without the server: no error")
			}
			w.wantRows("fast", written)
			if err := w.refresh("fast", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("a refresh without the server: got %v", err)
			}
			if strings.Contains(w.log.String(), azuretest.Key) {
				t.Errorf("the log has the key: %s", w.log)
			}
		})
	}
}

// TestLakesNeedExtensions declares tables where an extension is not installed, and where it
// was not loaded.
func TestLakesNeedExtensions(t *testing.T) {
	w := newWorld(t, engine.Extension{Name: "delta"})
	problems := w.reload("datasets: [{name: a, from: 'delta_lake:a'}, {name: b, from: 'iceberg:b'}, {name: c, from: 'ducklake:c'}]")
	for i, want := range []string{"run: spiced extensions install delta, and restart", "restart spiced", "restart spiced"} {
		if len(problems) != 3 || !strings.Contains(problems[i].Message, "the connector needs DuckDB's extension") || !strings.Contains(problems[i].Hint, want) {
			t.Errorf("got %v", problems)
		}
	}
}

// TestLakeFaults declares what is no table.
func TestLakeFaults(t *testing.T) {
	for _, l := range lakes {
		w := newLake(t, l.extension)
		w.file("empty/"+l.log+"x/1.json", "")
		w.file("damaged/"+l.log+"/00000000000000000000.json", "damaged")
		w.file("damaged/"+l.log+"/v1.metadata.json", "damaged")
		w.file("file.txt", "")
		w.file("good.csv", "id\n1\n")
		for _, c := range []struct{ from, message, hint string }{
			{"emty", `emty" does not exist`, `did you mean "empty"?`},
			{"empty", "is not a table of", "name the folder that has " + l.log},
			{"damaged", "cannot be read: ", ""},
			{"file.txt", "is not a folder", "name the folder of the table"},
			{"/etc", "outside of the data roots", "runtime.data_roots"},
			{"file:///etc", "outside of the data roots", "runtime.data_roots"},
			{"../x", "outside of the data roots", "runtime.data_roots"},
			{"https://example.com/v1/namespaces/a/tables/b", "tables at https:// are not served", "s3://bucket/table/"},
		} {
			problems := w.reload("datasets: [{name: good, from: 'file:good.csv'}, {name: bad, from: '" + l.connector + ":" + c.from + "'}]")
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) ||
				strings.Contains(problems.Error(), "127.0.0.1") {
				t.Errorf("%s: got %v", c.from, problems)
			}
			w.want("FROM good", "1")
		}
		problems := w.reload("datasets: [{name: bad, from: '" + l.connector + ":x', access: read_write}]")
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "connector "+l.connector+" does not support writes") {
			t.Error(problems)
		}
	}
}

// TestDeltaFeatures reads what the protocol has and the library does not write.
func TestDeltaFeatures(t *testing.T) {
	w := newLake(t, "delta")
	laketest.Write(t, "delta_vectors", filepath.Join(w.dir, "vectors"))
	laketest.Write(t, "delta_mapping", filepath.Join(w.dir, "mapping"))
	w.ok("datasets: [{name: vectors, from: 'delta_lake:vectors'}, {name: mapping, from: 'delta_lake:mapping'}]")
	w.want("SELECT list(id ORDER BY id) FROM vectors", "[0, 1, 2, 4, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18]")
	w.want(`SELECT id, "a name, renamed" FROM mapping ORDER BY id`, "1|x, 2|y")
}

// TestIcebergMetadataPath reads one version of a table.
func TestIcebergMetadataPath(t *testing.T) {
	w := newLake(t, "iceberg")
	laketest.Write(t, "iceberg", filepath.Join(w.dir, "n/t"))
	third, err := filepath.Glob(filepath.Join(w.dir, "n/t/metadata/00002-*.metadata.json"))
	if err != nil || len(third) != 1 {
		t.Fatal(third, err)
	}
	w.ok("datasets: [{name: all, from: 'iceberg:n/t'}, {name: old, from: 'iceberg:n/t', params: {metadata_path: '" + third[0] + "'}}]")
	w.want("SELECT count(*) FROM old", "50")
	w.want("SELECT count(*) FROM \"all\" WHERE z IS NOT NULL", "25")
	for path, message := range map[string]string{
		"v9.metadata.json": `the table has no metadata file "v9.metadata.json"`,
		"/etc/passwd":      "is not the name of a file *.metadata.json",
	} {
		problems := w.reload("datasets: [{name: old, from: 'iceberg:n/t', params: {metadata_path: '" + path + "'}}]")
		if len(problems) != 1 || !strings.Contains(problems[0].Message, message) {
			t.Errorf("%s: got %v", path, problems)
		}
	}
}

// TestHostileTables has tables that name files outside of their folder: next to them below
// the data roots, where another dataset may read them, and outside.
func TestHostileTables(t *testing.T) {
	w := newLake(t, "delta")
	laketest.Write(t, "delta_hostile", filepath.Join(w.dir, "good"))
	outside := t.TempDir()
	laketest.Write(t, "delta_hostile", filepath.Join(outside, "table"))
	for _, path := range []string{filepath.Join(w.dir, "other.parquet"), filepath.Join(outside, "other.parquet")} {
		w.exec("COPY (SELECT " + outsideRow + "::BIGINT AS id) TO '" + filepath.Join(w.dir, "written.parquet") + "'")
		if err := os.Rename(filepath.Join(w.dir, "written.parquet"), path); err != nil {
			t.Fatal(err)
		}
	}
	size := disk.Size(filepath.Join(w.dir, "other.parquet"))
	add := func(path, vector string) string {
		return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":%d,"modificationTime":0,"dataChange":true%s}}`, path, size, vector)
	}
	link := func(to, from string) func(string) error {
		return func(table string) error {
			os.RemoveAll(filepath.Join(table, from)) //nolint:errcheck // then the link fails
			return os.Symlink(to, filepath.Join(table, from))
		}
	}
	for _, c := range []struct {
		name, commit string
		change       func(table string) error
		message      string
	}{
		{"dots", add("../other.parquet", ""), nil, "HTTP 403"},
		{"escaped dots", add("%2e%2e/other.parquet", ""), nil, "HTTP 403"},
		{"absolute", add(filepath.Join(w.dir, "other.parquet"), ""), nil, "a file outside of its folder"},
		{"outside", add(filepath.Join(outside, "other.parquet"), ""), nil, "disabled by configuration"},
		{"file URL", add("file://"+filepath.Join(w.dir, "other.parquet"), ""), nil, "HTTP 404"},
		{"other bucket", add("s3://lake/other.parquet", ""), nil, "HTTP 404"},
		{"link to a file", add("link.parquet", ""), link(filepath.Join(w.dir, "other.parquet"), "link.parquet"), "HTTP 403"},
		{"link to a folder", add("link/other.parquet", ""), link(outside, "link"), "HTTP 403"},
		{"vector", add("link.parquet", `,"deletionVector":{"storageType":"p","pathOrInlineDv":"file://`+filepath.Join(w.dir, "other.parquet")+
			`","offset":1,"sizeInBytes":40,"cardinality":2}`), nil, "no dataset reads there"},
		{"link to the log", "", link(filepath.Join(outside, "table/_delta_log"), "_delta_log"), "cannot read the folder: path escapes"},
		{"link to a commit", "", link("/etc/passwd", "_delta_log/00000000000000000000.json"), "has no folder _delta_log with files"},
		{"pipe", "", func(table string) error {
			return syscall.Mkfifo(filepath.Join(table, "_delta_log/00000000000000000001.json"), 0o600)
		}, "1, 2"},
		{"damaged log", `{"add":`, nil, "cannot be read"},
		{"missing commit", add("x.parquet", ""), func(table string) error {
			return os.Remove(filepath.Join(table, "_delta_log/00000000000000000000.json"))
		}, "No table metadata or protocol found"},
		{
			"newer protocol", `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["futureFeature"],"writerFeatures":["futureFeature"]}}`, nil,
			"futureFeature",
		},
		{"column of the name", `{"metaData":{"id":"1","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"__file\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}`, nil, "__file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			table := filepath.Join(w.dir, "bad")
			if err := os.RemoveAll(table); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(table, os.DirFS(filepath.Join(w.dir, "good"))); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				if err := c.change(table); err != nil {
					t.Fatal(err)
				}
			}
			if c.commit != "" {
				w.file("bad/_delta_log/00000000000000000001.json", c.commit+"\n")
			}
			problems := w.reload("datasets: [{name: good, from: 'delta_lake:good'}, {name: bad, from: 'delta_lake:bad'}]")
			text := problems.Error()
			if !problems.HasErrors() {
				rows, err := w.read("FROM bad")
				text = fmt.Sprint(rows, err)
			}
			if !strings.Contains(text, c.message) || strings.Contains(text, outsideRow) || strings.Contains(text, "root:") || strings.Contains(text, "127.0.0.1") ||
				strings.Contains(text, "delta_kernel") {
				t.Errorf("got %s\nwant %s", text, c.message)
			}
			w.want("SELECT list(id ORDER BY id) FROM good", "[1, 2]")
			w.ok("datasets: [{name: good, from: 'delta_lake:good'}]")
		})
	}
}

// outsideRow is the row of a file outside of a table's folder. No path or port has this number.
const outsideRow = "666666666666666666"

// TestHostileIceberg has a table with a file of another folder.
func TestHostileIceberg(t *testing.T) {
	w := newLake(t, "iceberg")
	laketest.Write(t, "iceberg_outside", filepath.Join(w.dir, "n/t"))
	problems := w.reload("datasets: [{name: bad, from: 'iceberg:n/t'}]")
	text := problems.Error()
	if !problems.HasErrors() {
		rows, err := w.read("FROM bad")
		text = fmt.Sprint(rows, err)
	}
	if !strings.Contains(text, "the table names a file outside of its folder") || strings.Contains(text, outsideRow) {
		t.Errorf("got %s", text)
	}
}
