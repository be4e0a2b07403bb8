package diff

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Counts are the outcomes of the queries of sqllogictest files.
type Counts struct {
	Files, Skipped int // of Skipped, a part cannot run here
	Equal          int
	Errors         int // on both sides
	Documented     int // refused, for a reason that docs/sql.md names
	WronglyRefused int
	Different      int // or an error in plain DuckDB only
}

// String is the counts in a line.
func (c Counts) String() string {
	return fmt.Sprintf("%d files, of %d a part skipped: %d equal, %d errors on both sides, %d refused with a documented reason, %d wrongly refused, %d different",
		c.Files, c.Skipped, c.Equal, c.Errors, c.Documented, c.WronglyRefused, c.Different)
}

// documented matches the errors of what docs/sql.md says to be refused.
var documented = regexp.MustCompile(`refused|"rowid"|table "(information_schema|pg_catalog|system|temp|memory|sqlite_|duckdb_|pragma_)|` +
	`Failed to bind column reference|takes a table|must be a declared table or a subquery|Type with name`)

// RunFiles runs the files of a folder whose names end in .test: what they write in plain
// DuckDB, what they read there and, with the tables of that moment as datasets, in spiced.
func RunFiles(ctx context.Context, o Options, dir string) (Counts, error) {
	var counts Counts
	home, err := os.MkdirTemp("", "spiced-diff-")
	if err != nil {
		return counts, err
	}
	defer os.RemoveAll(home)
	run := &files{Options: o, counts: &counts, pod: filepath.Join(home, "spicepod.yaml")}
	if err := run.declare(nil, ""); err != nil {
		return counts, err
	}
	if run.server, err = start(ctx, o.Program, home); err != nil {
		return counts, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".test") || ctx.Err() != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return run.file(ctx, path, parseScript(string(text)))
	})
	return counts, errors.Join(err, run.server.Stop())
}

// files is a run over sqllogictest files.
type files struct {
	Options
	counts  *Counts
	server  *server
	pod     string // the file of the Spicepod
	exports int    // files of tables that were made
	stale   bool   // spiced does not have what plain DuckDB has
}

// declare writes the Spicepod: datasets of a file.
func (f *files) declare(names []string, file string) error {
	var b strings.Builder
	b.WriteString("version: v1\nkind: Spicepod\nname: diff\nruntime: { query: { timeout: 60s, isolation: none }, caching: { sql_results: { enabled: false } } }\n")
	if len(names) > 0 {
		b.WriteString("datasets:\n")
	}
	for _, name := range names {
		fmt.Fprintf(&b, "- { name: %q, from: %q, params: { duckdb_open: '%s' } }\n", engine.Identifier(name), "duckdb:main."+name, file)
	}
	return os.WriteFile(f.pod, []byte(b.String()), 0o600)
}

// file runs one file.
func (f *files) file(ctx context.Context, path string, s *script) error {
	o, err := newOracle(ctx)
	if err != nil {
		return err
	}
	defer o.db.Close()
	f.counts.Files++
	f.stale = true
	for _, r := range s.records {
		if ctx.Err() != nil {
			return nil
		}
		switch verb := firstWord(r.sql); {
		case reads[verb]:
			if err := f.compare(ctx, o, path, r); err != nil {
				return fmt.Errorf("%s:%d: %w", path, r.line, err)
			}
			continue
		case harmless.MatchString(r.sql):
			continue
		case unserved.MatchString(r.sql):
			s.skipped = verb
		default:
			f.stale = o.db.Exec(ctx, r.sql) == nil || f.stale
			continue
		}
		break
	}
	if s.skipped != "" {
		f.counts.Skipped++
	}
	return nil
}

var (
	reads = map[string]bool{
		"select": true, "with": true, "from": true, "values": true, "pivot": true, "unpivot": true, "describe": true, "summarize": true,
		"table": true, "(": true,
	}
	harmless = regexp.MustCompile(`(?i)^\s*(pragma\s+(enable_verification|disable_verification|verify_\w+|threads\b)|set\s+(threads|default_null_order)\b)`)
	// unserved statements change what a session or a catalog is.
	unserved = regexp.MustCompile(`(?i)^\s*(begin|start|set|reset|pragma|use|attach|detach|load|install|prepare|execute|call|copy|export|import|create\s+(or\s+replace\s+)?(temp|temporary|macro|function|sequence|schema|secret))\b`)
)

func firstWord(sql string) string {
	tokens := sqltree.Scan(sql)
	if len(tokens) == 0 {
		return ""
	}
	return strings.ToLower(tokens[0].Text(sql))
}

// compare runs a query on both sides.
func (f *files) compare(ctx context.Context, o *oracle, path string, r record) error {
	want, wantErr := o.query(ctx, r.sql+"\n")
	if f.stale {
		if err := f.export(ctx, o); err != nil {
			return err
		}
	}
	got, err := f.server.askArrow(ctx, statement{sql: r.sql})
	if ctx.Err() != nil {
		return nil
	}
	verdict := "DIFFERENT"
	switch {
	case err != nil && wantErr != nil:
		f.counts.Errors++
		return nil
	case err == nil && wantErr == nil && want[formArrow].equal(got, r.ordered):
		f.counts.Equal++
		return nil
	case err != nil && documented.MatchString(err.Error()):
		f.counts.Documented++
		return nil
	case err != nil:
		f.counts.WronglyRefused++
		verdict = "WRONGLY REFUSED"
	default:
		f.counts.Different++
	}
	fmt.Fprintf(f.Out, "%s: %s:%d\n  %s\n  spiced gave %s\n  DuckDB gave %s\n", verdict, path, r.line, strings.ReplaceAll(r.sql, "\n", "\n  "),
		shown(got, err, want[formArrow]), shown(want[formArrow], wantErr, got))
	return nil
}

// listTables are the tables and views that were made.
const listTables = `SELECT table_name FROM duckdb_tables() WHERE NOT internal AND database_name = current_database() AND schema_name = current_schema()
	UNION SELECT view_name FROM duckdb_views() WHERE NOT internal AND database_name = current_database() AND schema_name = current_schema() ORDER BY 1`

// export writes the rows that plain DuckDB has into a new file, and makes spiced serve it.
func (f *files) export(ctx context.Context, o *oracle) error {
	f.stale = false
	all, err := o.names(ctx, listTables)
	if err != nil {
		return err
	}
	f.exports++
	file := fmt.Sprintf("tables%d.duckdb", f.exports)
	path := filepath.Join(filepath.Dir(f.pod), file)
	if err := o.exec(ctx, fmt.Sprintf("ATTACH '%s' AS diff_target (STORAGE_VERSION 'v1.5.0')", path)); err != nil {
		return err
	}
	var names []string
	for _, name := range all {
		as := strings.ToLower(name)
		if o.exec(ctx, fmt.Sprintf("CREATE TABLE diff_target.main.%s AS FROM %s", engine.Identifier(as), engine.Identifier(name))) == nil {
			names = append(names, as)
		}
	}
	if err := o.exec(ctx, "DETACH diff_target"); err != nil {
		return err
	}
	if err := f.declare(slices.Compact(names), file); err != nil {
		return err
	}
	if _, err := f.server.Do(ctx, http.MethodPost, "/v1/reload", "", ""); err != nil {
		return err
	}
	if f.exports > 1 {
		_ = os.Remove(filepath.Join(filepath.Dir(f.pod), fmt.Sprintf("tables%d.duckdb", f.exports-1)))
	}
	return nil
}

// names are the texts in the first column of a query.
func (o *oracle) names(ctx context.Context, sql string) (names []string, err error) {
	rows, err := o.db.Query(ctx, engine.Request{SQL: sql, Trusted: true})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return nil, err
		}
		for i := range chunk.Len() {
			names = append(names, string(chunk.Column(0).Bytes(i)))
		}
	}
	return names, nil
}
