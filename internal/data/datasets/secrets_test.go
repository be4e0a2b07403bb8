package datasets

import (
	"fmt"
	"strings"
	"testing"
)

// TestReferencesAreNotPrinted sets each param of each connector, and `from`, to what no
// param takes, by a reference: no problem has the value.
func TestReferencesAreNotPrinted(t *testing.T) {
	const secret = `LEAKED "pass\word`
	t.Setenv("LEAK", secret)
	targets := map[string]string{
		"abfs": "abfs://c@account.dfs.core.windows.net/f.csv", "duckdb": "duckdb:shop.db/t", "file": "file:a.csv", "flightsql": "flightsql:t",
		"github": "github:github.com/a/b/issues",
		"gs":     "gs://bucket/f.csv", "https": "https://127.0.0.1:1/a.csv", "s3": "s3://bucket/f.csv", "spice.ai": "spice.ai/t",
	}
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	var declared, froms []string
	for _, k := range connectors {
		name := k.Names[0]
		from := targets[name]
		if from == "" {
			from = name + ":t"
		}
		for _, p := range k.Params {
			declared = append(declared, fmt.Sprintf("from: '%s', params: {%s: 'http://ada:${env:LEAK}@127.0.0.1:1/'}", from, p.Name))
		}
		froms = append(froms, fmt.Sprintf("from: '%s:${env:LEAK}.x.y.z'", name), fmt.Sprintf("from: '%s:http://x:${env:LEAK}@/'", name),
			fmt.Sprintf("from: '%s://x:${env:LEAK}@/'", name))
	}
	faults := 0
	for _, d := range append(declared, froms...) {
		for _, acceleration := range []string{"", ", acceleration: {}"} {
			for _, problem := range w.reload("datasets: [{name: d, " + d + acceleration + "}]\n") {
				faults++
				if text := problem.Error() + problem.Hint; strings.Contains(text, "LEAKED") || strings.Contains(text, `pass\`) {
					t.Errorf("%s: %s", d, text)
				}
			}
		}
	}
	if faults < len(declared) {
		t.Errorf("only %d faults of %d params", faults, len(declared))
	}
}

// TestSecretsThatAreWords uses secrets that occur in our messages: they are replaced where they
// are values, and a message without them stays as it is, since a gap in it would show them.
func TestSecretsThatAreWords(t *testing.T) {
	for _, secret := range []string{"postgres", "mode", "is", "extension"} {
		t.Setenv("WORD", secret)
		w := newWorld(t)
		problems := w.reload(`datasets:
  - {name: missing, from: 'postgres:t', params: {pg_host: h, pg_user: u, pg_db: d, pg_pass: '${env:WORD}'}}
  - {name: value, from: 'postgres:t', params: {pg_host: h, pg_user: u, pg_db: d, pg_sslmode: '${env:WORD}'}}
`)
		got := messages(problems)
		for _, want := range []string{"the connector needs DuckDB's extension postgres_scanner, which is ", `"***" is not a mode`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %s, want %q", secret, got, want)
			}
		}
	}
}
