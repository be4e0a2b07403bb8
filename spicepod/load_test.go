package spicepod

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spiced-sql/spiced/internal/test/cputime"
	"github.com/spiced-sql/spiced/internal/test/full"
)

func TestGoodFilesLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if _, err := Load(file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestFunctionAsDeclared(t *testing.T) {
	pod, err := Load("testdata/good/haversine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	notRequired := false
	want := Function{
		Name: "haversine_km", From: "sql", BodyKind: &sqlBody, Enabled: true, Description: "Great-circle distance in kilometres.",
		Kind: KindScalar, Volatility: Immutable, Version: "0.1.0",
		Signature: Signature{
			Args: []Arg{
				{Name: "lat1", Type: "float64"},
				{Name: "lon1", Type: "float64", Description: "longitude"},
				{Name: "lat2", Type: "float64", Default: json.Number("0"), HasDefault: true},
				{Name: "lon2", Type: "float64", Required: &notRequired},
			},
			Returns: Returns{Type: "float64"},
		},
		Tests: []FunctionTest{{
			Args: map[string]any{
				"lat1": json.Number("37.7749"), "lon1": json.Number("-122.4194"),
				"lat2": json.Number("40.7128"), "lon2": json.Number("-74.0060"),
			},
			Returns: json.Number("4129.085647"), Tolerance: 1e-6,
		}},
	}
	if diff := cmp.Diff(want, pod.Functions[0], cmpopts.IgnoreFields(Function{}, "Body")); diff != "" {
		t.Error(diff)
	}
	table := pod.Functions[1]
	if table.Kind != KindTable || len(table.Signature.Returns.Columns) != 2 || table.Signature.Returns.Type != "" {
		t.Errorf("table function is %+v", table)
	}
	if got := table.Tests[0].Expects(); got != ExpectRows {
		t.Errorf("test expects %s", got)
	}
	if !pod.Functions[0].AsToolEffective() || table.AsToolEffective() {
		t.Error("as_tool defaults to true for scalar and false for table functions")
	}
	for i, required := range []bool{true, true, false, false} {
		if pod.Functions[0].Signature.Args[i].IsRequired() != required {
			t.Errorf("argument %d: required is not %v", i, required)
		}
	}
}

func TestDefaults(t *testing.T) {
	pod := mustLoad(t, head+"datasets:\n  - name: d\n    from: file:x.csv\n    acceleration: {}\n")
	r := pod.Runtime
	if r.Functions.Enabled || r.Query.Timeout != 30*time.Second || r.ShutdownTimeout != 30*time.Second || r.Query.Isolation != IsolationProcess {
		t.Errorf("runtime is %+v", r)
	}
	if diff := cmp.Diff([]string{pod.Dir}, pod.DataRoots()); diff != "" {
		t.Error(diff)
	}
	d := pod.Datasets[0]
	a := d.Acceleration
	if d.Access != AccessRead || !a.Enabled || a.Engine != EngineDuckDB || a.Mode != ModeMemory ||
		a.RefreshMode != RefreshFull || !a.RefreshRetryEnabled || a.RefreshOnStartup != RefreshAuto {
		t.Errorf("dataset is %+v, acceleration %+v", d, a)
	}
}

func TestRuntimeAsDeclared(t *testing.T) {
	pod := mustLoad(t, head+`runtime:
  functions: {enabled: true}
  data_roots: [data, /srv/shared]
  query: {timeout: 2m30s, max_rows: 1_000, max_bytes: 128MiB, memory_limit: 4GiB, max_concurrent_queries: 8, temp_directory: tmp}
  shutdown_timeout: 5
`)
	want := Query{
		Timeout: 150 * time.Second, MaxRows: 1000, MaxBytes: 128 << 20, MemoryLimit: 4 << 30,
		MaxConcurrentQueries: 8, TempDirectory: filepath.Join(pod.Dir, "tmp"), Isolation: IsolationProcess, Isolate: IsolateAll, MaxQueuedQueries: 1024,
	}
	if diff := cmp.Diff(want, pod.Runtime.Query); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{filepath.Join(pod.Dir, "data"), filepath.FromSlash("/srv/shared")}, pod.DataRoots()); diff != "" {
		t.Error(diff)
	}
	if !pod.Runtime.Functions.Enabled || pod.Runtime.ShutdownTimeout != 5*time.Second {
		t.Errorf("runtime is %+v", pod.Runtime)
	}
}

func TestAnyValuesKeepTheirDigits(t *testing.T) {
	pod := mustLoad(t, head+`metadata:
  big: 12345678901234567890123
  exact: 0.1000000000000000055511151231257827
  trailing: 1.10
  plus: +7
  hex: 0x1F
  underscore: 1_000
  point: .5
  dot: 5.
  exponent: 1e400
  quoted: "1.0"
  date: 2024-02-29
  yes: yes
  truth: true
  nothing:
  list: [1, [2], {a: 3}]
  inf: -.inf
  nan: .nan
`)
	got := pod.Metadata
	if nan, ok := got["nan"].(float64); !ok || !math.IsNaN(nan) {
		t.Errorf("nan is %v", got["nan"])
	}
	delete(got, "nan")
	want := map[string]any{
		"big": json.Number("12345678901234567890123"), "exact": json.Number("0.1000000000000000055511151231257827"),
		"trailing": json.Number("1.10"), "plus": json.Number("7"), "hex": json.Number("31"), "underscore": json.Number("1000"),
		"point": json.Number("0.5"), "dot": json.Number("5"), "exponent": json.Number("1e400"), "quoted": "1.0",
		"date": "2024-02-29", "yes": "yes", "truth": true, "nothing": nil,
		"list": []any{json.Number("1"), []any{json.Number("2")}, map[string]any{"a": json.Number("3")}},
		"inf":  math.Inf(-1),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNullIsAnAnswer(t *testing.T) {
	pod := mustLoad(t, head+`functions:
  - name: f
    from: sql
    signature: {args: [{name: a, type: int64, default: null}, {name: b, type: int64}], returns: int64}
    body: a
    tests: [{returns: null}, {rows: []}, {error: boom}]
`)
	f := pod.Functions[0]
	if !f.Signature.Args[0].HasDefault || f.Signature.Args[1].HasDefault || f.Signature.Args[0].IsRequired() {
		t.Errorf("arguments are %+v", f.Signature.Args)
	}
	for i, want := range []Expectation{ExpectReturns, ExpectRows, ExpectError} {
		if got := f.Tests[i].Expects(); got != want {
			t.Errorf("test %d expects %s, want %s", i, got, want)
		}
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	pod := mustLoad(t, head+`metadata:
  base: &base {from: sql, volatility: stable, kind: scalar}
  more: &more {description: merged, volatility: immutable}
functions:
  - <<: [*base, *more]
    name: f
    signature: &sig {args: [{name: a, type: int64}], returns: int64}
    body: &body a + 1
  - <<: *base
    name: g
    volatility: volatile
    signature: *sig
    body: *body
`)
	f, g := pod.Functions[0], pod.Functions[1]
	if f.Volatility != Stable || f.Description != "merged" || g.Volatility != Volatile || g.Body != "a + 1" {
		t.Errorf("functions are %+v and %+v", f, g)
	}
	if at := pod.TextAt("functions[1].body", 4); at.Line != 11 || at.Column != 21 {
		t.Errorf("TextAt through an alias = %v", at)
	}
	if at := pod.At("functions[1].volatility"); at.Line != 14 {
		t.Errorf("own key is at %v", at)
	}
	if at := pod.At("functions[1].from"); at.Line != 5 {
		t.Errorf("merged key is at %v", at)
	}
}

func TestPositionsAlwaysAnswer(t *testing.T) {
	pod := mustLoad(t, head+`functions:
  - name: f
    from: sql
    signature:
      args:
        - name: a
          type: int64
      returns: int64
    body: a
    metadata: {"odd key": {x: 1}}
`)
	tests := []struct{ path, at, key string }{
		{"functions[0].signature.args[0].type", "10:17", "10:11"},
		{"functions[0].signature.args[0].default", "9:11", "9:11"},
		{"functions[0].signature.args[7].type", "9:9", "9:9"},
		{"functions[0]", "5:5", "5:5"},
		{"functions[9].name", "5:3", "5:3"},
		{`functions[0].metadata["odd key"].x`, "13:31", "13:28"},
		{"", "1:1", "1:1"},
		{"nothing.here", "1:1", "1:1"},
		{"functions[", "5:3", "4:1"},
		{`functions["`, "5:3", "4:1"},
		{"functions[0].body.deeper", "12:11", "12:11"},
	}
	for _, test := range tests {
		place := func(p Position) string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }
		if got := place(pod.At(test.path)); got != test.at {
			t.Errorf("At(%q) = %s, want %s", test.path, got, test.at)
		}
		if got := place(pod.KeyProblem(test.path, "", "").Position); got != test.key {
			t.Errorf("KeyProblem(%q) = %s, want %s", test.path, got, test.key)
		}
	}
	if got := (&Pod{}).TextAt("x", 3); got != (Position{}) {
		t.Errorf("an empty pod answers %v", got)
	}
	if got := (&Pod{}).Problem("x", "m", "h"); got.Message != "m" {
		t.Errorf("an empty pod answers %v", got)
	}
}

func TestNotServedIsListed(t *testing.T) {
	pod := mustLoad(t, head+`runtime:
  telemetry: {enabled: true, key: "${env:SPICED_TEST_NO_SUCH}"}
  query: {isolation: process, spill_compression: zstd}
  caching: {sql_results: {eviction_policy: tiny_lfu}}
secrets:
  - {from: "kubernetes:x", name: k}
rerankers:
  - {name: m, from: openai:x, params: {key: "${env:SPICED_TEST_NO_SUCH}"}}
tools: []
datasets:
  - name: d
    from: file:x.csv
    columns: [{name: a}, {name: b, embeddings: [{from: e, chunking: {enabled: true}}]}]
    acceleration: {mode: file_create, refresh_mode: append, storage_profile: nvme}
`)
	want := []string{
		"5:3 runtime.telemetry is not served yet, and has no effect (instead: /metrics and the log)",
		"6:31 runtime.query.spill_compression is not served yet, and has no effect (instead: the choice of DuckDB; max_spill bounds the size)",
		"7:27 runtime.caching.sql_results.eviction_policy: tiny_lfu is not served yet, and has no effect (instead: lru)",
		"9:6 secrets[0].from: kubernetes:x is not served yet, and has no effect (instead: the store env, with references such as ${env:NAME})",
		"10:1 rerankers is not served yet, and has no effect (instead: rerank in SQL with a model of models)",
		"17:61 datasets[0].acceleration.storage_profile is not served yet, and has no effect (DuckDB adapts to the disk)",
	}
	var got []string
	for _, p := range pod.NotServed() {
		got = append(got, fmt.Sprintf("%d:%d %s (%s)", p.Line, p.Column, p.Message, p.Hint))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRowIDs: a row_id is a list, or one text, as Spice takes it.
func TestRowIDs(t *testing.T) {
	pod := mustLoad(t, head+`datasets:
  - name: d
    from: file:x.csv
    columns:
      - {name: a, full_text_search: {row_id: id}}
      - {name: b, embeddings: [{from: e, row_id: "id, part"}]}
      - {name: c, full_text_search: {enabled: true, row_id: [id, part]}}
`)
	var got []string
	for _, c := range pod.Datasets[0].Columns {
		got = append(got, strings.Join(c.RowIDs(), "+"))
	}
	if diff := cmp.Diff([]string{"id", "id+part", "id+part"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRetentionWithoutCheck: a retention that never removes a row is a warning.
func TestRetentionWithoutCheck(t *testing.T) {
	pod := mustLoad(t, head+`datasets:
  - {name: a, from: file:x.csv, time_column: t, acceleration: {retention_period: 1h}}
  - {name: b, from: file:x.csv, time_column: t, acceleration: {retention_period: 1h, retention_check_enabled: true, retention_check_interval: 1h}}
  - {name: c, from: file:x.csv, acceleration: {enabled: false, retention_sql: DELETE FROM c WHERE true}}
views:
  - {name: v, sql: SELECT 1, acceleration: {retention_sql: DELETE FROM v WHERE true}}
`)
	var got []string
	for _, p := range pod.Faults() {
		got = append(got, fmt.Sprint(p.Severity, " ", p.Position, " ", p.Component, " ", p.Path, ": ", p.Message, "; ", p.Hint))
	}
	const hint = " has no effect without retention_check_enabled; set retention_check_enabled: true and retention_check_interval, or leave it out"
	want := []string{
		"warning spicepod.yaml:5:82 dataset a datasets[0].acceleration.retention_period: retention_period" + hint,
		"warning spicepod.yaml:9:60 view v views[0].acceleration.retention_sql: retention_sql" + hint,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRefs(t *testing.T) {
	dir := write(t, map[string]string{
		"spicepod.yml": head +
			"datasets:\n  - ref: data/flights\n    dependsOn: [other]\n  - {name: other, from: file:o.csv}\nviews:\n  - ref: views/v.yaml\n",
		"data/flights/dataset.yaml": "name: flights\nfrom: file:f.parquet\ndependsOn: [v]\n",
		"views/v.yaml":              "name: v\nsql_ref: sql/v.sql\n",
		"views/sql/v.sql":           "SELECT *\nFROM flights\n",
	})
	pod, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v", "other"}, pod.Datasets[0].DependsOn); diff != "" {
		t.Error(diff)
	}
	if pod.Views[0].SQL != "SELECT *\nFROM flights\n" {
		t.Errorf("sql is %q", pod.Views[0].SQL)
	}
	if got, want := pod.At("datasets[0].from").String(), filepath.FromSlash("data/flights/dataset.yaml:2:7"); got != want {
		t.Errorf("At = %s, want %s", got, want)
	}
	if got, want := pod.TextAt("views[0].sql", 14).String(), filepath.FromSlash("views/sql/v.sql:2:6"); got != want {
		t.Errorf("TextAt = %s, want %s", got, want)
	}
	if got := pod.At("datasets[1].name"); got.File != "spicepod.yml" || got.Line != 7 {
		t.Errorf("At = %v", got)
	}
}

func TestFilesAreKnownWhenTheLoadFails(t *testing.T) {
	dir := write(t, map[string]string{"spicepod.yaml": head + "functions:\n  - ref: later.yaml\n"})
	pod, files, err := LoadFiles(dir)
	if pod != nil || err == nil || !contains(files, filepath.Join(dir, "later.yaml")) {
		t.Errorf("%v %v %v", pod, files, err)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	huge := head + "metadata: {a: \"" + strings.Repeat("x", MaxFileBytes) + "\"}\n"
	tests := []struct{ name, text, want string }{
		{"nothing", "", "the file is empty"},
		{"utf16", "\xFF\xFEv\x00", "UTF-16"},
		{"not utf8", head + "metadata: {a: \xE9}\n", "spicepod.yaml:4:15: the file is not UTF-8 (byte 0xE9)"},
		{"nul", head + "metadata: {a: \x00}\n", "spicepod.yaml:4:15: the file contains the control character U+0000"},
		{"escape", head + "metadata: {a: \x1b[2J}\n", "U+001B"},
		{"inner bom", head + "metadata: {a: \uFEFF}\n", "U+FEFF"},
		{"huge", huge, "cannot read the file: too large"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			within := cputime.Limit(t, 2*time.Second)
			_, err := Load(write(t, map[string]string{"spicepod.yaml": test.text}))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.ContainsAny(err.Error(), "\x00\x1b") {
				t.Errorf("got %v, want %s", err, test.want)
			}
			within()
		})
	}
	t.Run("no folder", func(t *testing.T) {
		_, err := Load(filepath.Join(t.TempDir(), "none"))
		var problems Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("empty folder", func(t *testing.T) {
		_, err := Load(t.TempDir())
		if err == nil || !strings.Contains(err.Error(), "no spicepod.yaml or spicepod.yml in this folder") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("folder instead of file", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "spicepod.yaml"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "it is a folder") {
			t.Errorf("got %v", err)
		}
	})
}

func TestByteOrderMarkIsFine(t *testing.T) {
	pod := mustLoad(t, "\uFEFF"+head+"metadata: {a: 1}\n")
	if at := pod.At("version"); at.Line != 1 || at.Column != 10 {
		t.Errorf("At = %v", at)
	}
}

func TestLargeFilesAreFast(t *testing.T) {
	full.Need(t, "it decodes files of 10 MB")
	t.Run("10 MB of functions", func(t *testing.T) {
		within := cputime.Limit(t, 20*time.Second)
		if _, err := Load(write(t, map[string]string{"spicepod.yaml": manyFunctions(50_000)})); err != nil {
			t.Fatal(err)
		}
		within()
	})
	t.Run("too many components", func(t *testing.T) {
		_, err := Load(write(t, map[string]string{"spicepod.yaml": head + "functions:\n" + strings.Repeat("- a\n", MaxComponents+1)}))
		if err == nil || !strings.Contains(err.Error(), "more than 100000 components") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too many problems", func(t *testing.T) {
		_, err := Load(write(t, map[string]string{"spicepod.yaml": head + "functions:\n" + strings.Repeat("- a\n", 50_000)}))
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != MaxProblems+1 {
			t.Fatalf("%d problems", len(problems))
		}
		if text := err.Error(); !strings.HasSuffix(text, fmt.Sprintf("… and %d more", MaxProblems+1-MaxShown)) {
			t.Errorf("text ends %q", text[len(text)-60:])
		}
	})
	t.Run("broken at the end", func(t *testing.T) {
		within := cputime.Limit(t, 20*time.Second)
		_, err := Load(write(t, map[string]string{"spicepod.yaml": manyFunctions(20_000) + "\"open\n"}))
		if err == nil || !strings.Contains(err.Error(), "quote is not closed") {
			t.Errorf("got %v", err)
		}
		within()
	})
}

// manyFunctions is a Spicepod of n functions of about 200 bytes each.
func manyFunctions(n int) string {
	var b strings.Builder
	b.WriteString(head + "functions:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: f%d\n    from: sql\n    description: Function number %d.\n    signature:\n"+
			"      args: [{ name: a, type: int64 }, { name: b, type: int64 }]\n      returns: int64\n    body: |\n      a + b * %d\n", i, i, i)
	}
	return b.String()
}

func BenchmarkLoad10kFunctions(b *testing.B) {
	dir := write(b, map[string]string{"spicepod.yaml": manyFunctions(10_000)})
	for b.Loop() {
		if _, err := Load(dir); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzLoad checks that no text makes the loader panic or run away, and that
// every problem stands inside the file.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yaml", "testdata/good/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if raw, err := os.ReadFile(file); err == nil {
				f.Add(raw)
			}
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<16 {
			return
		}
		within := cputime.Limit(t, 10*time.Second)
		pod, err := Load(write(t, map[string]string{"spicepod.yaml": string(raw)}))
		within()
		var problems Problems
		if err != nil && (!errors.As(err, &problems) || len(problems) == 0) {
			t.Fatalf("error is %T: %v", err, err)
		}
		lines := len(lineStarts(string(raw), false))
		for _, p := range problems {
			if p.File == "spicepod.yaml" && (p.Line < 0 || p.Line > lines || p.Column < 0) {
				t.Fatalf("problem %+v in a file of %d lines", p, lines)
			}
		}
		if pod == nil {
			return
		}
		for i, function := range pod.Functions {
			for offset := 0; offset <= len(function.Body); offset += 1 + len(function.Body)/16 {
				if at := pod.TextAt(fmt.Sprintf("functions[%d].body", i), offset); at.Line < 1 || at.Column < 1 {
					t.Fatalf("TextAt = %v", at)
				}
			}
			Fingerprint(function)
		}
	})
}

func TestProblemsShowNoLineWithAKey(t *testing.T) {
	_, err := Load(write(t, map[string]string{"spicepod.yaml": head +
		"runtime:\n  auth: {api-key: {keys: [plain-secret-key], kies: [x]}}\n  tls: {key: plain-secret-key, kee: x}\n"}))
	if err == nil || strings.Contains(fmt.Sprintf("%v %+v", err, err), "plain-secret-key") {
		t.Errorf("got %v", err)
	}
}
