package spicepod

import (
	"path/filepath"
	"testing"
)

// TestRemarks loads what is declared and has no effect: a warning names each.
func TestRemarks(t *testing.T) {
	pod, err := LoadText(filepath.Join(t.TempDir(), "spicepod.yaml"), `version: v1
kind: Spicepod
name: p
runtime:
  output_level: nonsense
  params: {nonsense: 1}
embeddings: [{name: minilm, from: "openai:text-embedding-3-small"}]
datasets:
- name: a
  from: file:a.csv
  acceleration: {mode: file, retention_sql: DELETE FROM a WHERE x, params: {duckdb_file: x, caching_ttl: 1s}}
  columns: [{name: t, embeddings: [{from: minilm, chunking: {target_chunk_size: 64}}, {from: minilm}]}, {name: x, embeddings: [{from: MINILM}]},
    {name: u, embeddings: [{from: minillm, chunking: {enabled: true, target_chunk_size: 100, overlap_size: 80}}]}]
views:
- {name: v, sql: SELECT 1, columns: [{name: t, embeddings: [{from: other}]}], acceleration: {params: {nonsense: 1}}}
- {name: w, sql: SELECT 1, acceleration: {enabled: false, params: {nonsense: 1}}}
functions:
- {name: f, from: sql, as_tool: false, when_to_use: A, not_for: B, examples: [{arguments: {}}], signature: {returns: int64}, body: "1"}
- {name: g, from: sql, kind: table, when_to_use: A, signature: {returns: [{name: x, type: int64}]}, body: SELECT 1}
- {name: h, from: sql, kind: table, as_tool: true, when_to_use: A, signature: {returns: [{name: x, type: int64}]}, body: SELECT 1}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"spicepod.yaml:5:3: warning: runtime.output_level is not served yet, and has no effect (instead: --log-level debug of spiced serve)",
		"spicepod.yaml:6:3: warning: runtime.params is not served yet, and has no effect (the settings of the runtime are keys of their own)",
		"spicepod.yaml:11:45: warning: dataset a: retention_sql has no effect without retention_check_enabled (set retention_check_enabled: true " +
			"and retention_check_interval, or leave it out)",
		"spicepod.yaml:11:77: warning: dataset a: acceleration.params.duckdb_file has no effect: the copy is in the DuckDB of the process (leave it out; " +
			"runtime.query has the limits of the database)",
		"spicepod.yaml:12:61: warning: dataset a: chunking has no effect without enabled: true (write enabled: true)",
		"spicepod.yaml:12:87: warning: dataset a: a column has one embedding model; this one has no effect (embed a second column with it, such as one of a view)",
		`spicepod.yaml:13:35: warning: dataset a: the embedding model "minillm" is not declared; the column is searched only by words (did you mean "minilm"?)`,
		"spicepod.yaml:13:108: warning: dataset a: chunks repeat at most half of target_chunk_size, 50 tokens (write a smaller overlap_size)",
		"spicepod.yaml:15:103: warning: view v: acceleration.params.nonsense has no effect: the copy is in the DuckDB of the process (leave it out; runtime.query " +
			"has the limits of the database)",
		`spicepod.yaml:15:68: warning: view v: the embedding model "other" is not declared; the column is searched only by words (declare it under embeddings:)`,
		"spicepod.yaml:18:40: warning: function f: when_to_use has no effect with as_tool: false (leave it out, or set as_tool: true)",
		"spicepod.yaml:18:56: warning: function f: not_for has no effect with as_tool: false (leave it out, or set as_tool: true)",
		"spicepod.yaml:18:68: warning: function f: examples has no effect with as_tool: false (leave it out, or set as_tool: true)",
		"spicepod.yaml:19:37: warning: function g: when_to_use has no effect as a table function is offered to models only with as_tool: true " +
			"(set as_tool: true, or leave it out)",
	}
	got := append(pod.NotServed(), pod.Faults()...)
	if len(got) != len(want) {
		t.Errorf("%d warnings, want %d", len(got), len(want))
	}
	for i, p := range got {
		if p.Severity != Warning || i < len(want) && p.Error() != want[i] {
			t.Errorf("got  %v\nwant %s", p.Error(), want[min(i, len(want)-1)])
		}
	}
}
