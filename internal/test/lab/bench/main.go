// Command bench measures the figures in RESULTS.md and prints them as tables.
// Every figure is a ratio or a count from one run, so that it is meaningful on a noisy
// machine.
//
//	make bench                              all tables
//	make bench BENCH='-only start,reload'
//	make bench BENCH='-only retrieval,preselect -tables DIR'
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// benchmark measures one or several table rows.
type benchmark struct {
	name string
	run  func(context.Context, *env) ([]row, error)
}

// row is one line of the table.
type row struct{ what, measured, target string }

// env is shared by all benchmarks.
type env struct {
	binary string // spiced, built for this run
	dir    string // temporary folder
	tables string // folder with a table of builtin:semantic for each development set; "": none
	rows   int    // of the table of benchRows
}

// benchmarks are listed in the order of the table.
var benchmarks = []benchmark{
	{"inline", benchInline},
	{"once", benchOnce},
	{"first", benchFirst},
	{"start", benchStart},
	{"reload", benchReload},
	{"stream", benchStream},
	{"point", benchPoint},
	{"swap", benchSwap},
	{"retrieval", benchRetrieval},
	{"search", benchSearch},
	{"semantic", benchSemantic},
	{"rows", benchRows},
	{"availability", benchAvailability},
	{"invoke", benchInvoke},
	{"lookup", benchLookup},
	{"firsttoken", benchFirstToken},
	{"overlap", benchOverlap},
	{"streams", benchStreams},
	{"turn", benchTurn},
	{"preselect", benchPreselect},
	{"agents", benchAgents},
	{"mcpcall", benchMCPCall},
	{"mcpproxy", benchMCPProxy},
	{"mcplist", benchMCPList},
	{"flight", benchFlight},
	{"pgpoint", benchPostgresPoint},
	{"isolate", benchIsolate},
	{"isolated", benchIsolated},
	{"fair", benchFair},
	{"policy", benchPolicy},
	{"cache", benchCache},
	{"sources", benchSources},
	{"arrow", benchArrow},
	{"mysql", benchMySQL},
	{"lakes", benchLakes},
	{"service", benchService},
	{"python", benchPython},
	{"wasm", benchWASM},
}

func main() {
	only := flag.String("only", "", "names of benchmarks, separated by commas")
	tables := flag.String("tables", "", "folder with a table of builtin:semantic for each development set, <set>.bin, that was made without it")
	rows := flag.Int("rows", 100_000, "of the table that the benchmark rows searches")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if os.Getenv(stdioVariable) != "" {
		if err := serveEcho(ctx); err != nil {
			os.Exit(1)
		}
		return
	}
	if folder := os.Getenv(rowFolderVariable); folder != "" {
		if err := openRows(folder, *rows); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(ctx, *only, *tables, *rows); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// chosen returns the named benchmarks; all of them for "".
func chosen(only string) ([]benchmark, error) {
	if only == "" {
		return benchmarks, nil
	}
	var some []benchmark
	for name := range strings.SplitSeq(only, ",") {
		at := slices.IndexFunc(benchmarks, func(b benchmark) bool { return b.name == name })
		if at < 0 {
			var names []string
			for _, b := range benchmarks {
				names = append(names, b.name)
			}
			return nil, fmt.Errorf("-only: there is no benchmark %q; use %s", name, strings.Join(names, ", "))
		}
		some = append(some, benchmarks[at])
	}
	return some, nil
}

func run(ctx context.Context, only, tables string, rows int) error {
	list, err := chosen(only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "spiced-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	e := &env{binary: filepath.Join(dir, "spiced"), dir: dir, tables: tables, rows: rows}
	build := exec.CommandContext(ctx, "go", "build", "-o", e.binary, "./cmd/spiced")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build spiced: %w", err)
	}
	fmt.Println("| what | measured | must reach |\n|---|---|---|")
	for _, b := range list {
		rows, err := b.run(ctx, e)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		for _, r := range rows {
			fmt.Printf("| %s | %s | %s |\n", r.what, r.measured, r.target)
		}
	}
	return nil
}
