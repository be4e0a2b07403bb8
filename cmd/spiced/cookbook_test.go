package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/githubtest"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// TestCookbook starts Spicepods of the kinds that people have for Spice. What this
// runtime serves is served; the golden file has what it says of the rest.
func TestCookbook(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // no extensions of DuckDB
	archive, err := txtar.ParseFile("testdata/cookbook.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := httptest.NewServer(http.HandlerFunc(serveRecipeFile))
	t.Cleanup(files.Close)
	t.Setenv("GITHUB_TOKEN", "cookbook-token")
	hub := githubtest.Start(t, "cookbook-token")
	recent := strings.ReplaceAll(githubtest.Example(3), "2026-01-03T03:04:05Z", time.Now().UTC().Format(time.RFC3339)) // Spicepods read the last days
	hub.Repository("example/club", recent, map[string]string{"README.md": "# Club", "main.go": "package main"})
	folders := map[string]string{}
	var names []string
	for _, f := range archive.Files {
		name, path, _ := strings.Cut(f.Name, "/")
		if folders[name] == "" {
			folders[name] = t.TempDir()
			names = append(names, name)
		}
		to := filepath.Join(folders[name], filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("URL", files.URL, "STANDIN", hub.URL).Replace(string(f.Data))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(names) < 40 {
		t.Errorf("there are only %d Spicepods", len(names))
	}
	shopDatabase(t, filepath.Join(folders["duckdb"], "shop.db"))
	reports := make([]string, len(names))
	t.Run("pods", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				reports[i] = strings.ReplaceAll(cook(t, name, folders[name]), files.URL, "URL")
			})
		}
	})
	golden.Equal(t, "testdata/cookbook.txt", strings.Join(reports, "\n"))
}

// serveRecipeFile serves the files of Spicepods that name a URL.
func serveRecipeFile(w http.ResponseWriter, r *http.Request) {
	bodies := map[string]string{
		"/games.jsonl": "{\"move\":1}\n{\"move\":2}\n{\"move\":3}\n", "/zones.csv": "id,zone\n1,north\n2,south\n",
		"/shows": `[{"id":1},{"id":2}]`, "/shows/1": `{"id":1}`, "/products": `{"products":[{"id":1}],"total":1}`,
	}
	body, ok := bodies[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	fmt.Fprint(w, body)
}

// shopDatabase makes a DuckDB file with the table customer.
func shopDatabase(t *testing.T, path string) {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(t.Context(), "ATTACH '"+path+"' AS shop; CREATE TABLE shop.customer AS SELECT 7 AS id; DETACH shop"); err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// cook serves a Spicepod and returns what it serves, and what it says of the rest.
func cook(t *testing.T, name, dir string) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "== %s\n", name)
	p := &program{t: t, log: &logged{}, status: make(chan int, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	p.stop = cancel
	go func() { p.status <- run(ctx, serveArgs(dir, nil), streams{strings.NewReader(""), io.Discard, p.log}) }()
	wait.Until(t, "it listens, or refuses", func() bool { p.url = p.endpoint("http"); return p.url != "" || len(p.status) > 0 })
	if p.url == "" {
		cancel()
		out.WriteString(strings.ReplaceAll(p.log.String(), dir+string(filepath.Separator), ""))
		return out.String()
	}
	t.Cleanup(p.end)
	p.eventually("to be ready", func() bool { return p.do("GET", "/v1/ready", "").status == 200 })
	p.eventually("to load everything", p.loaded)
	var datasets []struct{ Name, Status string }
	decode(t, p.do("GET", "/v1/datasets?status=true", "").body, &datasets)
	for _, d := range datasets {
		rows := p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM "+d.Name)
		fmt.Fprintf(out, "dataset %s: %s, %s\n", d.Name, d.Status, strings.TrimSpace(rows.body))
	}
	var list struct {
		Data []struct{ ID, Status string }
	}
	decode(t, p.do("GET", "/v1/models?status=true", "").body, &list)
	for _, m := range list.Data {
		fmt.Fprintf(out, "model %s: %s\n", m.ID, m.Status)
	}
	var components []struct {
		Name     string
		Problems []struct {
			Message, Severity, Hint, File string
			Line, Column                  int
		}
	}
	decode(t, p.do("GET", "/v1/status", "").body, &components)
	for _, c := range components {
		for _, problem := range c.Problems {
			fmt.Fprintf(out, "%s %d:%d %s: %s; %s\n", problem.Severity, problem.Line, problem.Column, c.Name, problem.Message, problem.Hint)
		}
	}
	if text := out.String(); strings.Contains(text, dir) {
		t.Errorf("a caller sees the folder %s:\n%s", dir, text)
	}
	return out.String()
}

// loaded reports whether the last generation waits for no data.
func (p *program) loaded() (all bool) {
	for line := range strings.Lines(p.log.String()) {
		var entry struct {
			Msg     string
			Loading int
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "generation published" {
			all = entry.Loading == 0
		}
	}
	return all
}
