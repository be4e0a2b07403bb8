package diff

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// pod is the Spicepod that is served, in a folder.
type pod struct {
	dir       string
	isolation string // none or process
	cache     bool   // results are cached, for a second
	version   int    // of the declarations: a reload changes them
}

// yaml is the file. Each version has a body and a function that no other has.
func (p *pod) yaml() string {
	var b strings.Builder
	isolation := p.isolation
	if isolation == "process" {
		isolation += ", isolate: all, workers: 2"
	}
	fmt.Fprintf(&b, "version: v1\nkind: Spicepod\nname: diff\nruntime:\n  functions: { enabled: true }\n  query: { timeout: 60s, isolation: %s }\n  caching: "+
		"{ sql_results: { enabled: %t } }\n", isolation, p.cache)
	b.WriteString("datasets:\n")
	for _, t := range tables {
		from, params := "duckdb:"+t.name, "params: { duckdb_open: "+t.file+" }"
		if t.parquet() {
			from, params = "file:"+t.file, ""
		}
		fmt.Fprintf(&b, "- name: %s\n  from: %s\n", t.name, from)
		for _, key := range []string{params, t.keys} {
			if key != "" {
				fmt.Fprintf(&b, "  %s\n", key)
			}
		}
	}
	b.WriteString("views:\n")
	for _, v := range views {
		fmt.Fprintf(&b, "- name: %s\n  sql: %q\n  %s\n", v.name, v.sql.calls, v.keys)
	}
	b.WriteString("functions:\n")
	for i, f := range all() {
		comment := "a function"
		if i%3 == p.version%3 { // its declaration changes, so it is built again
			comment = fmt.Sprint("version ", p.version)
		}
		b.WriteString(f.yaml(comment))
	}
	fmt.Fprintf(&b, "- { name: pod_version, from: sql, signature: { args: [], returns: int64 }, body: '%d' }\n", p.version)
	return b.String()
}

// all are all functions.
func all() []function {
	return append(append(append([]function{}, scalars...), tableFunctions...), overTables...)
}

// write writes the Spicepod.
func (p *pod) write() error {
	return os.WriteFile(filepath.Join(p.dir, "spicepod.yaml"), []byte(p.yaml()), 0o600)
}

// fill writes the files of the tables, and makes the same tables in plain DuckDB.
func (p *pod) fill(ctx context.Context, o *oracle, r *rand.Rand) error {
	for _, t := range tables {
		statements := []string{t.create("")}
		if t.rows > 0 {
			statements = append(statements, t.insert(r, "", t.rows))
		}
		for _, sql := range statements {
			if err := o.exec(ctx, sql); err != nil {
				return err
			}
		}
		if err := p.export(ctx, o, t); err != nil {
			return err
		}
	}
	for _, v := range views {
		if err := o.exec(ctx, "CREATE VIEW "+v.name+" AS "+v.sql.inline); err != nil {
			return err
		}
	}
	return nil
}

// export writes the rows that plain DuckDB has to the table's file.
func (p *pod) export(ctx context.Context, o *oracle, t table) error {
	file := filepath.Join(p.dir, t.file)
	if t.parquet() {
		if err := o.exec(ctx, fmt.Sprintf("COPY %s TO '%s.new' (FORMAT parquet)", t.name, file)); err != nil {
			return err
		}
		return os.Rename(file+".new", file)
	}
	for _, sql := range []string{
		fmt.Sprintf("ATTACH '%s' AS target", file), t.create("target.main."),
		fmt.Sprintf("INSERT INTO target.main.%s FROM %s", t.name, t.name), "DETACH target",
	} {
		if err := o.exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
