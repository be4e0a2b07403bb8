// Command difftest compares spiced with plain DuckDB or with PostgreSQL: generated
// statements over generated data, see package diff. It prints each difference and fails if there is
// one.
//
//	make diff-test                               one cycle
//	make diff-test DIFFTEST='-time 1h -seed 7'
//	make diff-test DIFFTEST='-postgres'          with PostgreSQL, in the SQL that both have
//	make diff-test DIFFTEST='-sqllogic DIR'      DuckDB's own test files
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/lab/diff"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
	"github.com/spiced-sql/spiced/internal/test/program"
)

func main() {
	var o diff.Options
	var programFile, paths, isolations, folder string
	var postgres bool
	flag.Uint64Var(&o.Seed, "seed", 1, "statements and data depend on `N` and nothing else")
	flag.Uint64Var(&o.Cycle, "cycle", 0, "begin with cycle `N` of the seed")
	flag.DurationVar(&o.Time, "time", 0, "repeat until `DURATION` is over; 0: one cycle in each isolation")
	flag.IntVar(&o.Statements, "statements", 0, "`N` statements in a cycle; 0: 200")
	flag.StringVar(&programFile, "program", "", "the `FILE` of spiced; default: built for this run")
	flag.StringVar(&paths, "paths", "", "`names` of paths, separated by commas: "+strings.Join(diff.Paths, ", ")+"; default: all")
	flag.StringVar(&isolations, "isolation", "", "none or process; default: both")
	flag.StringVar(&folder, "sqllogic", "", "run the sqllogictest files of `DIR` instead")
	flag.BoolVar(&postgres, "postgres", false, "compare with a PostgreSQL, which is started, in the SQL that both have instead")
	flag.Parse()
	o.Out, o.Paths, o.Isolations = os.Stdout, list(paths), list(isolations)
	mode := withDuckDB
	switch {
	case folder != "":
		mode = func(ctx context.Context, o diff.Options) error { return files(ctx, o, folder) }
	case postgres:
		mode = withPostgres
	}
	if err := run(o, programFile, mode); err != nil {
		fmt.Fprintln(os.Stderr, "difftest:", err)
		os.Exit(1)
	}
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// run runs a mode with a spiced that it builds, unless there is one.
func run(o diff.Options, file string, mode func(context.Context, diff.Options) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if file == "" {
		dir, err := os.MkdirTemp("", "spiced-difftest-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file = filepath.Join(dir, "spiced")
		build := exec.CommandContext(ctx, "go", "build", "-o", file, "./cmd/spiced")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build spiced: %w", err)
		}
	}
	o.Program = []string{file}
	return mode(ctx, o)
}

func files(ctx context.Context, o diff.Options, folder string) error {
	began := time.Now()
	counts, err := diff.RunFiles(ctx, o, folder)
	fmt.Fprintf(os.Stderr, "%s in %s\n", counts, time.Since(began).Round(time.Second))
	if err == nil && counts.WronglyRefused+counts.Different > 0 {
		err = fmt.Errorf("%d queries wrongly refused, %d different", counts.WronglyRefused, counts.Different)
	}
	return err
}

func withDuckDB(ctx context.Context, o diff.Options) error {
	began := time.Now()
	report, err := diff.Run(ctx, o)
	fmt.Fprintf(os.Stderr, "seed %d: %s in %s\n", o.Seed, report, time.Since(began).Round(time.Second))
	if err == nil && report.Differences > 0 {
		err = fmt.Errorf("%d differences", report.Differences)
	}
	return err
}

// withPostgres passes where PostgreSQL is not installed, and says that it did not run.
func withPostgres(ctx context.Context, o diff.Options) error {
	err := program.Outside(ctx, func(t testing.TB) error {
		server := pgtest.Start(t)
		server.On("postgres", diff.CreateDatabase)
		began := time.Now()
		report, err := diff.RunPostgres(ctx, o, server.Superuser("portable"))
		fmt.Fprintf(os.Stderr, "seed %d: %s\nin %s\n", o.Seed, report, time.Since(began).Round(time.Second))
		if err == nil && report.Unknown+report.Generator > 0 {
			err = fmt.Errorf("%d unknown differences, %d statements that PostgreSQL refuses", report.Unknown, report.Generator)
		}
		return err
	})
	if errors.Is(err, program.ErrSkipped) {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	return err
}
