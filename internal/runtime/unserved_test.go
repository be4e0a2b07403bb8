package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/wait"
)

// TestStatementsSayWhyNamesDoNotServe: what is declared is never said to be unknown.
func TestStatementsSayWhyNamesDoNotServe(t *testing.T) {
	r := start(t, files{
		"ok.csv": "a\n1\n",
		"spicepod.yaml": `datasets:
  - { name: fine, from: 'file:ok.csv' }
  - { name: lost, from: 'file:lost.csv' }
views:
  - { name: over_lost, sql: 'SELECT * FROM lost' }
functions:
  - { name: total, from: sql, signature: { args: [], returns: int64 }, body: '(SELECT sum(a) FROM lost)' }
  - { name: twice_total, from: sql, signature: { args: [], returns: int64 }, body: 'total() * 2' }
  - { name: unbound, from: sql, signature: { args: [], returns: int64 }, body: 'nothing(1)' }
  - { name: off, enabled: false, from: sql, signature: { args: [], returns: int64 }, body: '1' }
  - { name: today, from: sql, enabled: false, signature: { args: [], returns: date }, body: "DATE '2026-01-01'" }
`,
	})
	r.refused("SELECT * FROM lost", `dataset "lost" is not served: file "lost.csv" does not exist (spicepod.yaml:`) // no path of the server
	r.refused("SELECT * FROM lost", `(spicepod.yaml:`)
	r.refused("SELECT * FROM public.LOST", `dataset "lost" is not served: `)
	r.refused("SELECT * FROM over_lost", `view "over_lost" is not served: it waits for dataset lost: file "lost.csv" does not exist (spicepod.yaml:`)
	r.refused("SELECT total()", `function total is not served: it waits for dataset lost: file "lost.csv" does not exist (spicepod.yaml:`)
	r.refused("SELECT twice_total()", `function twice_total is not served: `)
	r.refused("SELECT unbound()", `function unbound is not served: `)
	r.refused("SELECT off()", `function off is not served: it has enabled: false (spicepod.yaml:`)
	r.refused("SELECT * FROM losst", `table "losst" is not declared`)
	r.want("SELECT today() > DATE '2026-01-02', a FROM fine", "true,1") // DuckDB's
}

// TestWhatReadsASourceThatIsGoodAgainServes renames a column and renames it back: the
// function and the view over it serve again, although no statement fails at the source.
func TestWhatReadsASourceThatIsGoodAgainServes(t *testing.T) {
	r := start(t, files{
		"t.csv": "a,b\n1,2\n",
		"spicepod.yaml": `datasets: [{ name: t, from: 'file:t.csv' }]
views: [{ name: v, sql: SELECT a FROM t }]
functions: [{ name: total, from: sql, signature: { args: [], returns: int64 }, body: (SELECT sum(a)::BIGINT FROM v) }]
`,
	})
	r.want("SELECT total()", "1")
	path := filepath.Join(r.dir, "t.csv")
	replace := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace("x,b\n5,2\n")
	wait.Until(t, "the function is not served", func() bool {
		_, err := r.ask("SELECT total()")
		return err != nil && strings.Contains(err.Error(), "function total is not served")
	})
	replace("a,b\n7,2\n")
	wait.Until(t, "the function is served", func() bool {
		_, err := r.ask("SELECT total()")
		return err == nil
	})
	r.want("SELECT total()", "7")
}
