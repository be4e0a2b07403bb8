package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// crashPod is a Spicepod at default settings, except for its keys.
const crashPod = `version: v1
kind: Spicepod
name: crashes
runtime:
  functions: { enabled: true }
%s
datasets:
  - { name: docs, from: "file:docs.csv" }
  - { name: kept, from: "file:docs.csv", acceleration: { enabled: true } }
functions:
  - name: shape
    from: sql
    signature: { args: [{ name: doc, type: utf8 }], returns: utf8 }
    body: json_structure(doc)
views:
  - { name: shapes, sql: "SELECT json_structure(doc) AS shape FROM docs" }
`

const readerKeys = `  auth:
    api-key:
      principals:
        - { name: rude, key: rude-key-0123456789ab }
        - { name: honest, key: honest-key-0123456789 }
`

// deep is a JSON text over which DuckDB recurses until the stack ends.
const deep = "(repeat('[', 100000) || repeat(']', 100000))"

// crashing are statements that end the process that runs them.
func crashing(t *testing.T) []string {
	t.Helper()
	all := []string{
		"SELECT json_structure(" + deep + ")",
		"SELECT json_structure(" + deep + "::JSON)",
		"SELECT json_group_structure(" + deep + "::JSON)",
		"SELECT json_contains(" + deep + "::JSON, '1')",
		"SELECT json_merge_patch((repeat('{\"a\":', 100000) || '1' || repeat('}', 100000))::JSON, (repeat('{\"a\":', 100000) || '1' || repeat('}', 100000))::JSON)",
		"SELECT CAST(" + deep + "::JSON AS VARIANT)::VARCHAR",
		"SELECT TRY_CAST(" + deep + "::JSON AS VARIANT)::VARCHAR",
		"SELECT (" + deep + "::JSON::VARIANT)::VARCHAR",
		"SELECT ([" + deep + "::JSON]::VARIANT[])::VARCHAR",
		"SELECT json_contains(doc::JSON, '1') FROM docs",
		"SELECT json_contains(doc::JSON, '1') FROM kept",
		"SELECT * FROM shapes",
		"SELECT shape(doc) FROM kept",
		"SELECT shape(" + deep + ")",
		"SELECT x FROM (SELECT json_structure(" + deep + ") AS x) WHERE x IS NOT NULL",
		"WITH a AS (SELECT " + deep + " AS j) SELECT count(*) FROM a WHERE json_contains(j::JSON, '1')",
	}
	return append(all, listed(t, "json_deserialize_sql crash")...)
}

// listed are the statements of engine/unsafe.txt whose lines begin so.
func listed(t *testing.T, begins ...string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(read(t, "../../internal/sql/engine/unsafe.txt")) {
		entry, sql, _ := strings.Cut(strings.TrimSpace(line), " # ")
		for _, b := range begins {
			if (entry == b || strings.HasSuffix(entry, b)) && !strings.Contains(sql, " … ") {
				all = append(all, sql)
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("no statements in unsafe.txt of", begins)
	}
	return all
}

// straying are statements that read stray memory or invalidate the database: they end
// the process, fail, or return something.
func straying(t *testing.T) []string {
	t.Helper()
	return append(listed(t, " crash-variant", " invalidates"),
		"SELECT list_sort('x'::VARIANT)", "SELECT list_reverse_sort('x'::VARIANT)", "SELECT array_sort('x'::VARIANT)",
		"SELECT array_reverse_sort('x'::VARIANT)", "SELECT grade_up('x'::VARIANT)", "SELECT list_grade_up('x'::VARIANT)",
		"SELECT array_grade_up('x'::VARIANT)")
}

// TestStatementsThatCrash sends statements that end their process through every
// protocol at default settings: without keys and with one that may read. The runtime
// goes on, the caller gets one error, and another caller is answered meanwhile.
func TestStatementsThatCrash(t *testing.T) {
	for mode, c := range []struct{ name, auth string }{{"without keys", ""}, {"with a key that may read", readerKeys}} {
		t.Run(c.name, func(t *testing.T) {
			p, ways := startCrashes(t, c.auth)
			due := func(i, way int) bool { return large() || i%2 == mode && i/2%len(ways) == way }
			others := p.beside(honestKey)
			for i, sql := range crashing(t) {
				for j, way := range ways {
					if due(i, j) {
						wantCrash(t, way, alter(sql, j))
					}
				}
			}
			for i, sql := range straying(t) {
				for j, way := range ways {
					if due(i, j) {
						_ = runBy(way, alter(sql, j))
						wantServed(t, way, "SELECT 1")
					}
				}
			}
			others.report(t, longestVisit)
			for _, way := range ways {
				wantServed(t, way, "SELECT count(*) AS n FROM kept")
			}
			if got := p.metric("spiced_http_panics_total"); got != "0" {
				t.Errorf("%s panics", got)
			}
		})
	}
}

// longestVisit is how long another caller may wait, for the first worker too, on a busy
// machine.
const longestVisit = prompt

// startCrashes serves crashPod in a process, and returns all ways for statements of a
// caller who may read.
func startCrashes(t *testing.T, auth string) (*program, []sqlProtocol) {
	t.Helper()
	model := startModel(t)
	models := strings.NewReplacer("MODEL_URL", model.URL, "TOOLS", "all", "PATIENCE", "60s").Replace(read(t, "testdata/chat/models.yaml"))
	doc := strings.Repeat("[", 100000) + strings.Repeat("]", 100000)
	dir := folder(t, "spicepod.yaml", fmt.Sprintf(crashPod, auth)+models, "docs.csv", "doc\n"+doc+"\n")
	p := startProcess(t, dir, sqlProtocols("--log-level", "info", "--watch=false")...)
	return p, append(p.protocolsFor("rude", rudeKey), p.toolProtocols(rudeKey, model)...)
}

// alter returns the statement with another fingerprint: one that ended its worker twice
// is refused.
func alter(sql string, n int) string {
	if rest, ok := strings.CutPrefix(sql, "WITH "); ok {
		return fmt.Sprintf("WITH way_%d AS (SELECT 1), %s", n, rest)
	}
	return fmt.Sprintf("WITH way_%d AS (SELECT 1) %s", n, sql)
}

func runBy(way sqlProtocol, sql string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	return way.run(ctx, sql)
}

func wantCrash(t *testing.T, way sqlProtocol, sql string) {
	t.Helper()
	got := runBy(way, sql)
	if got.err == nil || got.fault || !strings.Contains(got.err.Error(), "the statement ended its worker") {
		t.Errorf("%s: %.200s\n\tgot %s, want that the statement ended its worker", way.name, sql, got)
	}
}

func wantServed(t *testing.T, way sqlProtocol, sql string) {
	t.Helper()
	if got := runBy(way, sql); got.err != nil {
		t.Errorf("%s: %s: %s", way.name, sql, got)
	}
}
