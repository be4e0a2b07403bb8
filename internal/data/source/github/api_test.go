package github

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/source/fetch"
)

// FuzzPage reads what a server sends as GitHub's answers. Each row has all columns.
func FuzzPage(f *testing.F) {
	for _, body := range []string{
		`{"data": {"repository": {"issues": {"nodes": [{"number": 1, "labels": {"nodes": [{"name": "x"}]}, "closed": {"nodes": []}}, null], "pageInfo": {"hasNextPage": true, "endCursor": "c"}}}}}`,
		`{"data": {"repository": {"branch": {"name": "main", "target": {"history": {"nodes": [{"associatedPullRequests": {"nodes": [{"number": 7}]}}]}}}}}}`,
		`{"data": {"repository": {"pullRequests": {"nodes": [{"reviewThreads": {"nodes": [{"comments": {"nodes": [{"author": null}]}}, 7]}, "discussion": {"nodes": [1]}}]}}}}`,
		`{"data": {"repository": {"stargazers": {"edges": [{"node": {"login": "a"}}, [], "x"]}}}}`, `{}`, `[]`, `{"data": {"repository": {"issues": {"nodes": 7}}}}`,
	} {
		for _, table := range []string{"issues", "pulls", "commits", "stargazers"} {
			f.Add([]byte(body), table)
		}
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	f.Fuzz(func(t *testing.T, body []byte, table string) {
		l, ok := lists[table]
		if !ok {
			return
		}
		if table == "pulls" {
			l = l.withComments("all", 10)
		}
		dir := t.TempDir()
		cache, err := fetch.Open(dir, 1<<20, log)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := cache.Rows("key", 1<<20, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Discard()
		r := &repo{table: table, owner: "Acme", name: "Shop", list: l}
		_, _ = r.page(body, rows, r.fixed())
		entry, err := rows.Entry(time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(filepath.Join(dir, entry.File))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(written)) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil || len(row) != len(l.columns) || row["repo"] != "shop" {
				t.Fatalf("%s: %v", line, err)
			}
		}
	})
}

func TestGlobs(t *testing.T) {
	for pattern, paths := range map[string]string{
		"":                "a.md docs/a.md",
		"*.md":            "a.md docs/a.md",
		"**/*.md":         "a.md docs/a.md a/b/c.md !a.mdx",
		"docs/*":          "docs/a docs/a/b !a/docs/b",
		"a?.txt; b[1].go": "ab.txt b[1].go !b1.go !a.txt",
		" x.y , z":        "x.y z !xay",
	} {
		include, err := globs(pattern)
		if err != nil {
			t.Fatal(err)
		}
		r := &repo{include: include}
		for _, path := range strings.Fields(paths) {
			name, not := strings.CutPrefix(path, "!")
			if r.wanted(name) == not {
				t.Errorf("%q matches %s: %v", pattern, name, !not)
			}
		}
	}
}

func TestEndpoints(t *testing.T) {
	for api, want := range map[string]string{
		endpoint:                       "https://api.github.com/graphql https://raw.githubusercontent.com/acme/shop/main/a%20b",
		"https://github.corp/api/v3":   "https://github.corp/api/graphql https://github.corp/acme/shop/raw/main/a%20b",
		"http://127.0.0.1:8080/prefix": "http://127.0.0.1:8080/prefix/graphql http://127.0.0.1:8080/acme/shop/raw/main/a%20b",
	} {
		u, err := url.Parse(api)
		if err != nil {
			t.Fatal(err)
		}
		r := &repo{api: u, owner: "acme", name: "shop", ref: "main"}
		if got := r.graphQL().String() + " " + r.download("a b"); got != want {
			t.Errorf("%s: got %s, want %s", api, got, want)
		}
	}
}
