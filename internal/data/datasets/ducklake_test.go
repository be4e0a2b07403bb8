package datasets

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/laketest"
	"github.com/spiced-sql/spiced/internal/test/s3test"
)

func TestDuckLake(t *testing.T) {
	w := newLake(t, "ducklake")
	sqlite, file := filepath.Join(w.dir, "meta.sqlite"), filepath.Join(w.dir, "meta.ducklake")
	written := laketest.Write(t, "ducklake", "sqlite:"+sqlite+","+w.dir+"/a data/")
	laketest.Write(t, "ducklake", file+","+w.dir+"/more/")
	pod := `datasets:
- {name: direct, from: 'ducklake:orders', params: {ducklake_connection_string: 'sqlite:meta.sqlite'}}
- {name: view, from: 'ducklake:more.v', params: {ducklake_connection_string: 'ducklake:sqlite:` + sqlite + `'}}
- {name: fast, from: 'ducklake:main.orders', params: {ducklake_connection_string: 'sqlite:meta.sqlite'}, acceleration: {primary_key: id}}
- {name: file, from: 'ducklake:orders', params: {ducklake_connection_string: meta.ducklake}}
`
	w.ok(pod)
	for _, name := range []string{"direct", "fast", "file"} {
		w.wantRows(name, written)
	}
	w.want("FROM view", "42")
	more := laketest.Write(t, "ducklake_append", "sqlite:"+sqlite+","+w.dir+"/a data/")
	w.wantRows("direct", more)
	w.wantRows("fast", written)
	if err := w.refresh("fast", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.wantRows("fast", more)

	outside := t.TempDir()
	laketest.Write(t, "ducklake", filepath.Join(w.dir, "outside.ducklake")+","+outside+"/")
	w.file("damaged.ducklake", "not a database")
	w.file("damaged.sqlite", "not a database")
	for _, c := range []struct{ from, params, message, hint string }{
		{"ducklake:order", "ducklake_connection_string: meta.ducklake", `has no table "order"`, `did you mean "orders"?`},
		{"ducklake:orders", "ducklake_connection_string: mata.ducklake", `mata.ducklake" does not exist`, `did you mean "meta.ducklake"?`},
		{"ducklake:orders", "ducklake_connection_string: /etc/passwd", "outside of the data roots", "runtime.data_roots"},
		{"ducklake:orders", "", "needs the catalog of the table", "params.ducklake_connection_string"},
		{"ducklake:orders", "ducklake_connection_string: 'postgres:dbname=x host=db'", "catalogs at postgres: are not served", "sqlite: and the path"},
		{"ducklake:orders", "ducklake_connection_string: 's3://lake/meta.ducklake'", "catalogs at s3: are not served", "sqlite: and the path"},
		{"ducklake:orders", "ducklake_connection: x", `unknown param "ducklake_connection"`, "ducklake_connection_string"},
		{"ducklake:orders", "ducklake_connection_string: damaged.ducklake", "not a valid DuckDB database file", ""},
		{"ducklake:orders", "ducklake_connection_string: 'sqlite:damaged.sqlite'", "file is not a database", ""},
		{"ducklake:orders", "ducklake_connection_string: outside.ducklake", "outside of the data roots", "runtime.data_roots"},
	} {
		problems := w.reload(pod + "- {name: bad, from: '" + c.from + "', params: {" + c.params + "}}\n")
		if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
			t.Errorf("%s: got %v", c.params, problems)
		}
	}
	w.wantRows("direct", more)
	problems := w.reload("datasets: [{name: orders, from: 'ducklake:orders', access: read_write, params: {ducklake_connection_string: meta.ducklake}}]")
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "connector ducklake does not support writes") {
		t.Error(problems)
	}
}

// TestDuckLakeInS3 reads a catalog whose data is in a store.
func TestDuckLakeInS3(t *testing.T) {
	w := newLake(t, "ducklake")
	s := s3test.Start(t)
	t.Setenv("LAKE_SECRET", s.Secret)
	s.Bucket("lake")
	file := filepath.Join(w.dir, "meta.ducklake")
	written := laketest.Write(t, "ducklake", file+",s3://lake/data/", "AWS_ENDPOINT_URL="+s.URL, "AWS_ACCESS_KEY_ID="+s.Key, "AWS_SECRET_ACCESS_KEY="+s.Secret)
	params := "ducklake_connection_string: meta.ducklake, ducklake_aws_endpoint: '" + s.URL + "', ducklake_aws_access_key_id: " + s.Key
	w.ok("datasets: [{name: direct, from: 'ducklake:orders', params: {" + params + ", ducklake_aws_secret_access_key: '${secrets:lake_secret}'}}]")
	w.wantRows("direct", written)
	problems := w.reload("datasets: [{name: bad, from: 'ducklake:orders', params: {" + params + ", ducklake_aws_secret_access_key: hunter2}}]")
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "The request signature we calculated does not match") {
		t.Error(problems)
	}
	s.Stop()
	if _, err := w.read("FROM direct"); err == nil || strings.Contains(err.Error(), s.Secret) || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("without the store: got %v", err)
	}
}
