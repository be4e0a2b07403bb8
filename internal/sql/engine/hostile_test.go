package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

// attack is one entry of testdata/hostile/*.sql; see the README there.
type attack struct{ want, sql string }

func corpus(t testing.TB, root string) map[string][]attack {
	t.Helper()
	files, err := filepath.Glob("../../../testdata/hostile/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	expand := strings.NewReplacer(`\\`, `\`, `\r`, "\r", "{ROOT}", root)
	all := map[string][]attack{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(f), ".sql")
		for _, entry := range strings.Split("\n"+string(text), "\n-- want: ")[1:] {
			want, sql, _ := strings.Cut(entry, "\n")
			all[name] = append(all[name], attack{want, expand.Replace(strings.TrimSuffix(sql, "\n"))})
		}
	}
	return all
}

// attackTime is the time limit of an attack that runs to it; reaction is what
// it may take beyond that and the grace on a busy machine.
const (
	attackTime = 200 * time.Millisecond
	reaction   = 3 * time.Second
)

// checkAttack runs a and says what is wrong with the answer.
func checkAttack(db *DB, a attack) error { return checkAttackBy(db, a, false) }

// checkAttackBy is checkAttack for a caller who may write, or not.
func checkAttackBy(db *DB, a attack, write bool) error {
	code, text, _ := strings.Cut(a.want, ": ")
	wanted := regexp.MustCompile("^(" + code + ")$")
	limit := 10 * time.Second // to judge it, on a busy machine
	if wanted.MatchString(string(errcode.Timeout)) {
		limit = attackTime
	}
	start := time.Now()
	_, err := run(context.Background(), db, Request{SQL: a.sql, Limits: Limits{Timeout: limit}, Write: write})
	if took := time.Since(start); took > limit+db.opts.Grace+reaction {
		return fmt.Errorf("took %s", took)
	}
	if a.want == "ok" {
		return err
	}
	if err == nil {
		return fmt.Errorf("was allowed; want %s", a.want)
	}
	e, ok := err.(*Error)
	if !ok {
		return fmt.Errorf("%v (%T) is no *Error", err, err)
	}
	if !wanted.MatchString(string(e.Code)) || !strings.Contains(e.Error(), text) {
		return fmt.Errorf("got %s: %s; want %s", e.Code, e, a.want)
	}
	if e.Offset >= len(a.sql)+1 || e.Code == errcode.Internal {
		return fmt.Errorf("%s at %d: %s", e.Code, e.Offset, e)
	}
	return nil
}

// checkAlive says whether the database still answers and is as it was.
func checkAlive(db *DB) error {
	const sql, want = "SELECT count(*) + sum(i)::BIGINT + twice('21')::BIGINT FROM k", 100 + 4950 + 42
	if got, err := integer(context.Background(), db, sql); err != nil || got != want {
		return fmt.Errorf("%s = %d, %v afterwards", sql, got, err)
	}
	return nil
}

func TestHostileStatementsAreRefused(t *testing.T) {
	db, root := locked(t, Options{MemoryLimit: "256MB"})
	before := state(t, db)
	all := corpus(t, root)
	total := 0
	for name, attacks := range all {
		total += len(attacks)
		if name == "changes" { // what they want is a writer's
			for i := range attacks {
				attacks[i].want = "refused|parse_error: "
			}
		}
		t.Run(name, func(t *testing.T) { sendAll(t, db, attacks, false) })
	}
	if total < 1000 {
		t.Errorf("the corpus has only %d statements", total)
	}
	checkUntouched(t, db, root, before)
}

func TestHostileWritersAreRefused(t *testing.T) {
	db, root := writing(t, Options{MemoryLimit: "256MB"})
	if err := os.WriteFile(filepath.Join(root, "in.csv"), []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, rows := state(t, db), contents(t, db)
	for name, attacks := range corpus(t, root) {
		switch name {
		case "readers", "endless", "memory": // a writer may, or it takes long and is nothing else
			continue
		}
		t.Run(name, func(t *testing.T) { sendAll(t, db, attacks, true) })
	}
	checkUntouched(t, db, root, before)
	if got := contents(t, db); got != rows {
		t.Errorf("orders has changed: %s", got)
	}
}

// sendAll sends every statement, and after each looks whether all is well.
func sendAll(t *testing.T, db *DB, attacks []attack, write bool) {
	for _, a := range attacks {
		err := checkAttackBy(db, a, write)
		if err != nil && db.Stats() != (Stats{}) { // an earlier one that cannot be interrupted holds the memory
			idle(t, db)
			err = checkAttackBy(db, a, write)
		}
		if err != nil {
			t.Errorf("%.200q\n\t%v", a.sql, err)
		}
		if checkAlive(db) == nil {
			continue
		}
		idle(t, db) // one that cannot be interrupted may hold the memory
		if err := checkAlive(db); err != nil {
			t.Fatalf("%.200q\n\t%v", a.sql, err)
		}
	}
}

// checkUntouched says whether database and files are as before.
func checkUntouched(t *testing.T, db *DB, root, before string) {
	t.Helper()
	if after := state(t, db); after != before {
		t.Errorf("the database has changed\nbefore %s\nafter  %s", before, after)
	}
	files, _ := filepath.Glob(filepath.Join(root, "*"))
	for _, f := range files {
		if b := filepath.Base(f); b != "in.csv" && !strings.HasPrefix(b, "att.db") {
			t.Errorf("%s was written", b)
		}
	}
}

// state describes everything in the database a statement could change.
func state(t testing.TB, db *DB) string {
	t.Helper()
	var out strings.Builder
	for _, sql := range []string{
		"SELECT string_agg(concat_ws('.', database_name, schema_name, table_name, estimated_size), ' ' ORDER BY ALL) FROM duckdb_tables()",
		"SELECT string_agg(database_name, ' ' ORDER BY ALL) FROM duckdb_databases()",
		"SELECT count(*)::VARCHAR FROM duckdb_functions()",
		"SELECT string_agg(name || '=' || value, ' ' ORDER BY name) FROM duckdb_settings() WHERE name <> 'max_temp_directory_size'",
		"SELECT count(*)::VARCHAR FROM duckdb_views()",
	} {
		err := db.duck.Load().writer.each(sql, func(c *Chunk) error {
			fmt.Fprintf(&out, "%s\n", c.Column(0).Bytes(0))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// TestMonstrousStatements sends what is too large for a file.
func TestMonstrousStatements(t *testing.T) {
	db, _ := locked(t, Options{MemoryLimit: "512MB", MaxSQL: 8 << 20})
	small, _ := locked(t, Options{})
	in := strings.TrimSuffix(strings.Repeat("1,", 100_000), ",")
	for _, c := range []struct {
		name, want, sql string
		db              *DB
	}{
		{"5 MB over the limit", "limit_exceeded: bytes", "SELECT '" + strings.Repeat("x", 5<<20) + "'", small},
		{"5 MB literal", "(ok|timeout): ", "SELECT length('" + strings.Repeat("x", 5<<20) + "')", db},
		{"100,000 brackets", ".*: ", "SELECT " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000), db},
		{"100,000 open brackets", ".*: ", "SELECT " + strings.Repeat("(", 100_000), db},
		{"10,000 additions", ".*: ", "SELECT 1" + strings.Repeat("+1", 10_000), db},
		{"10,000 minus signs", ".*: ", "SELECT " + strings.Repeat("- ", 10_000) + "1", db},
		{"10,000 NOT", ".*: ", "SELECT " + strings.Repeat("NOT ", 10_000) + "true", db},
		{"10,000 casts", ".*: ", "SELECT 1" + strings.Repeat("::INT", 10_000), db},
		{"3,000 subqueries", ".*: ", strings.Repeat("SELECT * FROM (", 3_000) + "SELECT 1" + strings.Repeat(")", 3_000), db},
		{"10,000 unions", ".*: ", "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 10_000), db},
		{"2,000 nested calls", ".*: ", "SELECT " + strings.Repeat("twice(", 2_000) + "1" + strings.Repeat(")", 2_000), db},
		{
			"10,000 calls", "(timeout|ok|limit_exceeded|invalid_argument|execution_error): ",
			"SELECT " + strings.TrimSuffix(strings.Repeat("twice('1'),", 10_000), ","), db,
		},
		{"nested lists", ".*: ", "SELECT " + strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), db},
		{"nested comments", "ok", "SELECT " + strings.Repeat("/*", 100_000) + strings.Repeat("*/", 100_000) + " 1", db},
		{"100,000 in a list", "(ok|timeout): ", "SELECT count(*) FROM k WHERE i IN (" + in + ")", db},
		{"NUL", "parse_error: NUL", "SELECT 1\x00; DROP TABLE k", db},
		{"NUL in a literal", "parse_error: NUL", "SELECT 'a\x00b'", db},
		{"not UTF-8", "parse_error: UTF-8: byte 8", "SELECT '\xff'", db},
		{"not UTF-8 after U+FFFD", "parse_error: UTF-8: byte 14", "SELECT '�', \xff", db},
		{"half a rune", "parse_error: UTF-8", "SELECT 1\xe2\x80", db},
		{"empty", "parse_error: empty", "", db},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkAttack(c.db, attack{c.want, c.sql})
			if err != nil && !(strings.Contains(c.want, "ok") || c.want == ".*: ") {
				t.Error(err)
			}
			if err != nil && (strings.Contains(err.Error(), "took") || strings.Contains(err.Error(), "internal")) {
				t.Error(err)
			}
			idle(t, c.db) // one that cannot be interrupted runs to its end
			if err := checkAlive(c.db); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestFunctionPolicy holds DuckDB's functions against a reviewed list, so that
// an upgrade shows what is new.
func TestFunctionPolicy(t *testing.T) {
	db := open(t)
	var out strings.Builder
	for _, name := range db.Builtins().Names() {
		verdict := func(inFrom bool) string {
			if db.builtins.refuses(name, inFrom) {
				return "refused"
			}
			return "allowed"
		}
		k := db.builtins.kinds[name]
		if k.scalar {
			fmt.Fprintf(&out, "%s scalar %s\n", name, verdict(false))
		}
		if k.table {
			fmt.Fprintf(&out, "%s table %s\n", name, verdict(true))
		}
	}
	want := golden.File(t, "testdata/functions.txt", out.String())
	got := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		got[line] = true
		if !strings.Contains(want, line) {
			t.Errorf("new or changed, review it and run with -update: %s", line)
		}
	}
	for line := range strings.Lines(want) {
		if !got[line] {
			t.Errorf("gone, review it and run with -update: %s", line)
		}
	}
}
