package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/clients"
)

// psql is the program and what tells it where the server is.
type psql struct {
	t    *testing.T
	path string
	env  []string
}

func newPSQL(t *testing.T, p *program, key string) psql {
	t.Helper()
	return psql{t, clients.Installed(t, "PSQL", "psql", "postgresql-client"), append(libpq(t, p, key), "PSQL_PAGER=")}
}

// run runs commands, each as by -c, and returns what psql wrote.
func (q psql) run(commands ...string) (status int, out string) {
	q.t.Helper()
	args := []string{"-X"}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	return session(q.t, q.env, q.path, args...)
}

// want runs a command that must succeed and checks that its output has the
// lines, in which runs of blanks count as one.
func (q psql) want(command string, lines ...string) {
	q.t.Helper()
	status, out := q.run(command)
	if status != 0 {
		q.t.Errorf("%s: status %d: %s", command, status, out)
	}
	plain := strings.Join(strings.Fields(out), " ")
	for _, line := range lines {
		if !strings.Contains(plain, line) {
			q.t.Errorf("%s: no %q in\n%s", command, line, out)
		}
	}
}

// TestPSQL runs testdata/sqlclients/psql.sql. -a writes the commands next to
// what they answer.
func TestPSQL(t *testing.T) {
	t.Parallel()
	clients.Need(t, "PSQL")
	p := startSQL(t)
	q := newPSQL(t, p, readerKey)
	wantSession(t, "psql.txt", q.env, q.path, "-X", "-q", "-a", "-f", "psql.sql")
}

// TestPSQLDescribes runs the commands that ask the catalog. Their layout is
// the version's, so that only what is ours is compared.
func TestPSQLDescribes(t *testing.T) {
	t.Parallel()
	clients.Need(t, "PSQL")
	p := startSQL(t)
	q := newPSQL(t, p, readerKey)
	for command, lines := range map[string][]string{
		`\d`:         {"public | every_type | view | spice", "public | people | table | spice", "(2 rows)"},
		`\dt`:        {"public | people | table | spice", "(1 row)"},
		`\dv`:        {"public | every_type | view | spice", "(1 row)"},
		`\dt+`:       {"public | people | table | spice", "People and where they live."},
		`\d people`:  {`Table "public.people"`, "id | bigint |", "name | text |", "born | date |"},
		`\d+ people`: {`Table "public.people"`, "id | bigint |", "What they are called."},
		`\d every_type`: {
			`View "public.every_type"`, "tinyint | smallint", "ubigint | numeric", "decimal | numeric(18,3)", "interval | interval",
			"uuid | uuid", "list | integer[]", "texts | text[]", "struct | json",
		},
		`\df`: {
			"greeting | text | name text | func", "people_in | TABLE(", ") | place text | func",
			"twice | bigint | x bigint | func", "(3 rows)",
		},
		`\df tw*`: {"twice | bigint | x bigint | func", "(1 row)"},
		`\df+`:    {"Twice a number.", "The people of a city."},
		`\dn`:     {"public | spice", "spiced | spice"},
		`\l`:      {"spice | spice | UTF8"},
		`\du`:     {"spice"},
		`\dT`:     {"List of data types"},
		`\di`:     {"Did not find any"}, // relations, or since psql 18 indexes
		`\dp`:     {"public | people"},
	} {
		q.want(command, lines...)
	}
}

// TestPSQLBinds has the parameters that psql sends since version 16.
func TestPSQLBinds(t *testing.T) {
	t.Parallel()
	clients.Need(t, "PSQL")
	p := startSQL(t)
	q := newPSQL(t, p, readerKey)
	script := filepath.Join(folder(t, "bind.sql", `SELECT twice($1) AS n, $2::VARCHAR AS s \bind 21 x \g`), "bind.sql")
	status, out := session(t, q.env, q.path, "-X", "-f", script)
	if strings.Contains(out, `invalid command \bind`) {
		t.Skip("PSQL'S \\bind IS NOT TESTED: this psql is older than 16")
	}
	if status != 0 || !strings.Contains(out, "42 | x") {
		t.Errorf("status %d: %s", status, out)
	}
}

// TestPSQLCancels a statement, as by Ctrl-C.
func TestPSQLCancels(t *testing.T) {
	t.Parallel()
	clients.Need(t, "PSQL")
	p := startSQL(t)
	q := newPSQL(t, p, readerKey)
	cmd := exec.Command(q.path, "-X", "-c", endless)
	out := &logged{}
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = append(os.Environ(), q.env...), out, out, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() //nolint:errcheck // it may have ended
	p.active(1)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "ERROR:  the statement was cancelled") {
		t.Errorf("%v: %s", err, out)
	}
	p.active(0)
}

func TestPSQLNeedsAKey(t *testing.T) {
	t.Parallel()
	clients.Need(t, "PSQL")
	p := startSQL(t)
	for _, key := range []string{"", "reader-key-012345678", readerKey + "0"} {
		status, out := newPSQL(t, p, key).run("SELECT 1")
		if status != 2 || strings.Contains(out, "reader-key") {
			t.Errorf("%q: status %d: %s", key, status, out)
		}
	}
	if status, out := newPSQL(t, p, readerKey).run("SELECT 1 AS one"); status != 0 {
		t.Errorf("status %d: %s", status, out)
	}
}
