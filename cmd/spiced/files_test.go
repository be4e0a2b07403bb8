package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const filesPod = `version: v1
kind: Spicepod
name: shop
runtime:
  functions: { enabled: true }
  auth:
    api-key:
      enabled: true
      keys: [hunter2-0123456789-0123456789:rw]
dependencies: [other]
datasets:
  - { name: k, from: "file:k.csv" }
  - name: remote
    from: "postgres:t"
    params:
      pg_host: 127.0.0.1
      pg_port: 1
      pg_user: u
      pg_db: d
      pg_pass: hunter2-in-a-block
functions:
  - name: f
    from: sql
    signature: { returns: int64 }
    body_ref: sql/f.sql
`

// TestFilesOverHTTP: the files are shown with masks, as they are now, and nothing else is.
func TestFilesOverHTTP(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", filesPod, "k.csv", numbersCSV, ".env", "SECRET=hunter2")
	for _, name := range []string{"sql", "other"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "sql/f.sql"), "40 + 2")
	write(t, filepath.Join(dir, "other/.env"), "A=hunter2")
	write(t, filepath.Join(dir, "other/spicepod.yaml"), podHead+"views:\n  - { name: v, sql: SELECT 1 AS a }\n")
	p := start(t, dir)
	key := []string{"X-API-Key", "hunter2-0123456789-0123456789"}
	var list []struct{ Path, Spicepod string }
	r := p.do("GET", "/v1/spicepods/files", "", key...)
	if err := json.Unmarshal([]byte(r.body), &list); err != nil || len(list) != 3 {
		t.Fatalf("%v: %s", err, r.body)
	}
	p.want(r, 200, `{"path":"spicepod.yaml","spicepod":"shop",`, `{"path":"other/spicepod.yaml","spicepod":"pod",`, `{"path":"sql/f.sql","spicepod":"shop","bytes":6,"main":false}`)
	main := p.do("GET", "/v1/spicepods/files/spicepod.yaml", "", key...)
	masked := strings.NewReplacer("hunter2-0123456789-0123456789:rw", "***", "hunter2-in-a-block", "***").Replace(filesPod)
	if main.body != masked || main.header.Get("X-Spiced-Masked") != "2" {
		t.Errorf("got %s", main.body)
	}
	p.want(p.do("GET", "/v1/spicepods/files/sql/f.sql", "", key...), 200, "40 + 2")
	p.want(p.do("GET", "/v1/spicepods/files/other/spicepod.yaml", "", key...), 200, "SELECT 1 AS a")

	// Someone is editing it.
	write(t, filepath.Join(dir, "spicepod.yaml"), filesPod+"views: [\n")
	broken := p.do("GET", "/v1/spicepods/files/spicepod.yaml", "", key...)
	p.want(broken, 200, "views: [", "name: remote")
	if strings.Contains(broken.body, "hunter2") {
		t.Errorf("a broken file shows a secret: %s", broken.body)
	}
	// A file of the list is replaced by a link.
	if err := os.Remove(filepath.Join(dir, "sql/f.sql")); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.txt")
	write(t, outside, "hunter2")
	if err := os.Symlink(outside, filepath.Join(dir, "sql/f.sql")); err != nil {
		t.Fatal(err)
	}
	p.want(p.do("GET", "/v1/spicepods/files/sql/f.sql", "", key...), 404, "a link that leads out of the folder")
	for _, path := range []string{".env", "other/.env", "k.csv", "%2Fetc%2Fpasswd", "..%2F" + filepath.Base(dir) + "%2Fspicepod.yaml", "sql"} {
		if r := p.do("GET", "/v1/spicepods/files/"+path, "", key...); r.status != 404 || strings.Contains(r.body, "hunter2") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}
