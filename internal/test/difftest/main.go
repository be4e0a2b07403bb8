// Command difftest compares spiced with plain DuckDB: generated statements over
// generated data, see package diff. It prints each difference and fails if there is
// one.
//
//	go run ./internal/test/difftest                     one cycle
//	go run ./internal/test/difftest -time 1h -seed 7
//	go run ./internal/test/difftest -sqllogic DIR       DuckDB's own test files
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/test/diff"
)

func main() {
	var o diff.Options
	var program, paths, isolations, folder string
	flag.Uint64Var(&o.Seed, "seed", 1, "statements and data depend on `N` and nothing else")
	flag.DurationVar(&o.Time, "time", 0, "repeat until `DURATION` is over; 0: one cycle in each isolation")
	flag.IntVar(&o.Statements, "statements", 0, "`N` statements in a cycle; 0: 200")
	flag.StringVar(&program, "program", "", "the `FILE` of spiced; default: built for this run")
	flag.StringVar(&paths, "paths", "", "`names` of paths, separated by commas: "+strings.Join(diff.Paths, ", ")+"; default: all")
	flag.StringVar(&isolations, "isolation", "", "none or process; default: both")
	flag.StringVar(&folder, "sqllogic", "", "run the sqllogictest files of `DIR` instead")
	flag.Parse()
	o.Out, o.Paths, o.Isolations = os.Stdout, list(paths), list(isolations)
	if err := run(o, program, folder); err != nil {
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

func run(o diff.Options, program, folder string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if program == "" {
		dir, err := os.MkdirTemp("", "spiced-difftest-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "spiced")
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/spiced")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build spiced: %w", err)
		}
	}
	o.Program = []string{program}
	began := time.Now()
	if folder != "" {
		counts, err := diff.RunFiles(ctx, o, folder)
		fmt.Fprintf(os.Stderr, "%s in %s\n", counts, time.Since(began).Round(time.Second))
		if err == nil && counts.WronglyRefused+counts.Different > 0 {
			err = fmt.Errorf("%d queries wrongly refused, %d different", counts.WronglyRefused, counts.Different)
		}
		return err
	}
	report, err := diff.Run(ctx, o)
	fmt.Fprintf(os.Stderr, "seed %d: %s in %s\n", o.Seed, report, time.Since(began).Round(time.Second))
	if err == nil && report.Differences > 0 {
		err = fmt.Errorf("%d differences", report.Differences)
	}
	return err
}
