package diff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spiced-sql/spiced/internal/test/portable"
)

// PostgresReport is what [RunPostgres] did.
type PostgresReport struct {
	Statements int
	Known      map[string]int // differences, by the names of the list
	Unknown    int
	Generator  int // statements that PostgreSQL refuses
}

// String is the report in lines.
func (r PostgresReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d statements, %d refused by PostgreSQL: %d unknown differences", r.Statements, r.Generator, r.Unknown)
	for _, k := range known {
		if n := r.Known[k.name]; n > 0 {
			fmt.Fprintf(&b, "\n  %d of %s: %s", n, k.list, k.name)
		}
	}
	return b.String()
}

// CreateDatabase makes the database for [RunPostgres]. Texts are compared by their bytes, as
// in DuckDB, and upper and lower change all letters.
const CreateDatabase = "CREATE DATABASE portable TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'"

// RunPostgres runs generated statements of the part of SQL that PostgreSQL shares with
// DuckDB through spiced and through a PostgreSQL, whose schema public it replaces. A
// difference is made as small as possible, and is known if the list has it.
func RunPostgres(ctx context.Context, o Options, url string) (PostgresReport, error) {
	report := PostgresReport{Known: map[string]int{}}
	if o.Statements == 0 {
		o.Statements = 400
	}
	if len(o.Isolations) == 0 {
		o.Isolations = []string{"none", "process"}
	}
	end := time.Now().Add(o.Time)
	for n := o.Cycle; n == o.Cycle || o.Time > 0; n++ {
		o.Cycle = n
		c := &versus{Options: o, report: &report, r: rand.New(rand.NewPCG(o.Seed, n)), isolation: o.Isolations[int(n)%len(o.Isolations)]}
		if o.Time > 0 {
			c.end = end
		}
		err := c.run(ctx, url)
		if err != nil && (ctx.Err() != nil || errors.Is(err, errEnough) || errors.Is(err, errOver)) {
			break
		}
		if err != nil {
			return report, fmt.Errorf("seed %d, cycle %d: %w", o.Seed, n, err)
		}
	}
	return report, nil
}

// versus is a cycle: a catalog, which spiced, PostgreSQL and plain DuckDB have, and
// statements over it.
type versus struct {
	Options
	report    *PostgresReport
	r         *rand.Rand
	isolation string
	end       time.Time
	catalog   *portable.Catalog
	plain     *oracle // DuckDB without spiced: whose fault a difference is
	postgres  *pgconn.PgConn
	targets   []target
}

// target is what is compared with PostgreSQL.
type target struct {
	name   string
	finite bool // floats that are not finite are NULL
	plain  bool // DuckDB without spiced
	ask    func(ctx context.Context, sql string) ([][]any, error)
}

func (v *versus) run(ctx context.Context, url string) (err error) {
	dir, err := os.MkdirTemp("", "spiced-diff-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	v.catalog = portable.NewCatalog(v.r)
	if v.plain, err = newOracle(ctx); err != nil {
		return err
	}
	defer func() { v.plain.db.Close() }()
	if err := v.fill(ctx, dir); err != nil {
		return err
	}
	s, err := v.serve(ctx, dir)
	if err != nil {
		return v.ends(err)
	}
	defer func() { err = errors.Join(err, s.conn.Close(context.WithoutCancel(ctx)), s.Stop()) }()
	v.targets = s.targets()
	if v.postgres, err = v.connect(ctx, url); err != nil {
		return err
	}
	defer v.postgres.Close(context.WithoutCancel(ctx))
	for range v.Statements {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !v.end.IsZero() && time.Now().After(v.end) {
			return errOver
		}
		seed := v.r.Uint64()
		v.report.Statements++
		s := v.catalog.Statement(portable.Random(rand.New(rand.NewPCG(seed, 0))))
		for _, t := range v.targets {
			if d := v.compare(ctx, t, s); d != nil {
				v.judge(ctx, t, s, d)
				break
			}
		}
		if v.report.Unknown >= mostDifferences {
			return errEnough
		}
	}
	return nil
}

// fill writes the tables' files, and makes the tables in plain DuckDB.
func (v *versus) fill(ctx context.Context, dir string) error {
	for _, t := range v.catalog.Tables {
		file := filepath.Join(dir, t.Name)
		for _, sql := range []string{
			t.Create(t.Name), t.Insert(t.Name), "ATTACH '" + file + ".duckdb' AS target", "CREATE TABLE target.main." + t.Name + " AS FROM " + t.Name, "DETACH target",
			"COPY " + t.Name + " TO '" + file + ".parquet'",
		} {
			if sql == "" {
				continue
			}
			if err := v.plain.exec(ctx, sql); err != nil {
				return err
			}
		}
	}
	return nil
}

// yaml is the Spicepod: tables of a file, of Parquet, accelerated, and without rows.
func (v *versus) yaml() string {
	isolation := v.isolation
	if isolation == "process" {
		isolation += ", isolate: all, workers: 2"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version: v1\nkind: Spicepod\nname: diff\nruntime:\n  functions: { enabled: true }\n  query: { timeout: 20s, isolation: %s }\n  caching: "+
		"{ sql_results: { enabled: false } }\ndatasets:\n", isolation)
	for i, t := range v.catalog.Tables {
		from := fmt.Sprintf("from: 'duckdb:%s'\n  params: { duckdb_open: %[1]s.duckdb }", t.Name)
		switch i {
		case 1:
			from = fmt.Sprintf("from: 'file:%s.parquet'", t.Name)
		case 2:
			from += "\n  acceleration: { enabled: true }"
		}
		fmt.Fprintf(&b, "- name: %s\n  %s\n", t.Name, from)
	}
	b.WriteString("functions:\n")
	for _, f := range v.catalog.Functions {
		b.WriteString(f.YAML())
	}
	return b.String()
}

// serve starts spiced. Functions that it refuses leave the catalog.
func (v *versus) serve(ctx context.Context, dir string) (*restarted, error) {
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(v.yaml()), 0o600); err != nil {
		return nil, err
	}
	s := &restarted{program: v.Program, dir: dir}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	body, err := s.Do(ctx, http.MethodGet, "/v1/status", "", "")
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	var components []struct {
		Name, Status string
		Problems     []struct{ Message string }
	}
	if err := json.Unmarshal(body, &components); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	gone := map[string]bool{}
	for _, c := range components {
		if c.Status == "Error" {
			name := strings.TrimPrefix(c.Name, "function ")
			gone[name] = true
			v.refusedBody(name, fmt.Sprint(c.Problems))
		}
	}
	v.catalog = v.catalog.Without(gone)
	return s, nil
}

// ends counts a Spicepod whose functions end spiced, and so the cycle, which has nothing to
// compare.
func (v *versus) ends(err error) error {
	var bodies []string
	for _, f := range v.catalog.Functions {
		bodies = append(bodies, f.Name+": "+f.Body)
	}
	first, log, _ := strings.Cut(err.Error(), "\n")
	_, log, _ = strings.Cut(log, "\nSIG")
	if k := (target{}).match(strings.Join(bodies, "\n"), difference{kind: refused, message: first + "\n" + log}); k != nil {
		v.report.Known[k.name]++
		return nil
	}
	return err
}

// restarted is a spiced that is started again when a statement ends it.
type restarted struct {
	*server
	program []string
	dir     string
	conn    *pgconn.PgConn
}

func (s *restarted) start(ctx context.Context) (err error) {
	if s.server, err = start(ctx, s.program, s.dir); err != nil {
		return err
	}
	if s.conn, err = s.postgres(context.WithoutCancel(ctx)); err != nil {
		return errors.Join(err, s.server.Stop())
	}
	return nil
}

// targets are the protocols. The error of a statement that ends spiced has the log.
func (s *restarted) targets() []target {
	alive := func(ctx context.Context, rows [][]any, err error) ([][]any, error) {
		if err == nil || ctx.Err() != nil {
			return rows, err
		}
		select {
		case ended := <-s.Ended():
			log := s.Logged()
			if err := s.start(ctx); err != nil {
				return nil, err
			}
			_, log, _ = strings.Cut(log, "\nSIG")
			return nil, fmt.Errorf("spiced ended: %w\n%.1000s", ended, log)
		case <-time.After(endWait(s.conn)):
		}
		return rows, err
	}
	return []target{
		{name: "text", ask: func(ctx context.Context, sql string) ([][]any, error) {
			rows, err := askText(ctx, s.conn, sql)
			return alive(ctx, rows, err)
		}},
		{name: "json", finite: true, ask: func(ctx context.Context, sql string) ([][]any, error) {
			body, err := s.Do(ctx, http.MethodPost, "/v1/sql", "application/json", statement{sql: sql}.body())
			if err != nil {
				return alive(ctx, nil, err)
			}
			return jsonValues(body)
		}},
	}
}

// invalidated reports whether plain DuckDB refuses everything after a fault of its own.
func invalidated(err error) bool {
	return err != nil && strings.Contains(err.Error(), "database has been invalidated")
}

// endWait is how long a process may take to end after it closed its connections.
func endWait(conn *pgconn.PgConn) time.Duration {
	if conn.IsClosed() {
		return 10 * time.Second
	}
	return 0
}

// refusedBody notes a function that spiced does not serve.
func (v *versus) refusedBody(name, message string) {
	at := slices.IndexFunc(v.catalog.Functions, func(f portable.Function) bool { return f.Name == name })
	body := ""
	if at >= 0 {
		body = v.catalog.Functions[at].Body
	}
	if strings.Contains(message, "waits for function ") {
		return // its callee is reported
	}
	if k := (target{}).match(body, difference{kind: refused, message: message}); k != nil {
		v.report.Known[k.name]++
		return
	}
	v.report.Unknown++
	fmt.Fprintf(v.Out, "BODY REFUSED: seed %d, cycle %d, %s: %s\n  %s\n", v.Seed, v.Cycle, name, body, message)
}

// connect makes the catalog in PostgreSQL.
func (v *versus) connect(ctx context.Context, url string) (*pgconn.PgConn, error) {
	conn, err := pgconn.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	statements := []string{
		"SET client_min_messages = error", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public", "SET statement_timeout = '2s'",
		"SET extra_float_digits = 1",
	}
	for _, t := range v.catalog.Tables {
		statements = append(statements, t.Create(t.Name), t.Insert(t.Name))
	}
	for _, f := range v.catalog.Functions {
		statements = append(statements, f.Postgres())
	}
	for _, sql := range statements {
		if err := conn.Exec(ctx, sql).Close(); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", sql, err), conn.Close(ctx))
		}
	}
	return conn, nil
}
