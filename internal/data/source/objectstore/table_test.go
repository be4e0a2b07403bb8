package objectstore

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/resource"
)

// TestTables asks for the files of a folder by its hidden name, and for others.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "table")
	for name, text := range map[string]string{
		"table/log/1.json": "one", "table/log/2 ü%.json": "two", "table/log/3/4.json": "four", "table/x": "x",
		"other": "secret",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Symlink(filepath.Join(dir, "other"), filepath.Join(table, "log/link")), os.Symlink("1.json", filepath.Join(table, "log/inside")),
		syscall.Mkfifo(filepath.Join(table, "log/pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t)
	away := false
	computed := map[string]func(context.Context) (string, error){"log/hint": func(context.Context) (string, error) {
		if away {
			return "", errors.New("the store is away")
		}
		return "42", nil
	}}
	described := Table{Kind: "test", Store: NewFolder(table, os.OpenRoot), Computed: computed}
	url, held, err := p.ServeTable(described)
	if err != nil {
		t.Fatal(err)
	}
	again, same, err := p.ServeTable(described)
	if err != nil || again != url || same != held {
		t.Errorf("a table that is served is served as %s, then as %s", url, again)
	}
	described.Kind = "other"
	if other, held, err := p.ServeTable(described); err != nil || other == url {
		t.Errorf("tables of two kinds are served as %s", other)
	} else {
		resource.Release(held)
	}
	root := "http://" + p.host + "/" + strings.Replace(url, "://", "/", 1)
	bucket := strings.TrimSuffix(root, "/table")
	get := func(method, url, bytes string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Credential="+p.key+"/x")
		if bytes != "" {
			r.Header.Set("Range", "bytes="+bytes)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	for _, c := range []struct {
		method, url, bytes string
		status             int
		text               string // a part
	}{
		{"GET", root + "/log/1.json", "", 200, "one"},
		{"GET", root + "/log/2%20%C3%BC%25.json", "1-1", 206, "w"},
		{"GET", root + "/log/inside", "", 200, "one"},
		{"GET", root + "/log/hint", "", 200, "42"},
		{"GET", root + "/log/9.json", "", 404, "NoSuchKey"},
		{"GET", root + "/log", "", 403, "not a regular file"},
		{"GET", root + "/log/link", "", 403, "escapes"},
		{"GET", root + "/log/pipe", "", 403, "not a regular file"},
		{"GET", root + "/..%2Fother", "", 403, "no dataset reads there"},
		{"GET", bucket + "/other", "", 403, "no dataset reads there"},
		{"GET", "http://" + p.host + "/s3/table/log/1.json", "", 403, "no dataset reads there"},
		{"PUT", root + "/log/1.json", "", 405, "only read"},
		{"GET", bucket + "?list-type=2&prefix=table/log/", "", 200, "<KeyCount>4</KeyCount>"},
		{"GET", bucket + "?list-type=2&prefix=table/log/", "", 200, "<Key>table/log/1.json</Key>"},
		{"GET", bucket + "?list-type=2&prefix=table/log/&start-after=table/log/2", "", 200, "<KeyCount>3</KeyCount>"},
		{"GET", bucket + "?list-type=2&prefix=table/nothing/", "", 200, "<KeyCount>0</KeyCount>"},
		{"GET", bucket + "?list-type=2&prefix=", "", 403, "no dataset reads there"},
		{"GET", bucket + "?list-type=2&prefix=table/../", "", 403, "no dataset reads there"},
	} {
		if status, text := get(c.method, c.url, c.bytes); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %s: got %d, %s; want %d, %s", c.method, c.url, status, text, c.status, c.text)
		}
	}
	away = true
	if status, text := get("GET", root+"/log/hint", ""); status != 403 || !strings.Contains(text, "the store is away") {
		t.Errorf("got %d, %s", status, text)
	}
	if err := os.Rename(table, table+"2"); err != nil {
		t.Fatal(err)
	}
	if status, text := get("GET", root+"/x", ""); status != 403 || !strings.Contains(text, "no such file or directory") || strings.Contains(text, dir) {
		t.Errorf("without the folder: got %d, %s", status, text)
	}
	if err := os.Rename(table+"2", table); err != nil {
		t.Fatal(err)
	}
	if status, _ := get("GET", root+"/x", ""); status != 200 {
		t.Errorf("the folder is back: got %d", status)
	}
	resource.Release(held, held)
	if status, _ := get("GET", root+"/x", ""); status != 403 {
		t.Errorf("a released table is served: got %d", status)
	}
	http.DefaultClient.CloseIdleConnections()
}
