// Command spiced serves the functions and datasets of a Spicepod.
//
//	spiced [serve] [DIR|FILE]   serve a Spicepod over HTTP
//	spiced validate [DIR|FILE]  check it, and everything it declares
//	spiced test [DIR|FILE]      run the tests it declares
//	spiced search [DIR] QUERY   find tools
//	spiced search-eval DIR...   measure tool search on sets of queries
//	spiced lint [DIR|FILE]      check its tools
//	spiced sql [DIR|FILE]       query it from a terminal or a script
//	spiced call [DIR|FILE] NAME call a tool
//	spiced demo                 watch a team of agents work
//	spiced init [DIR]           write a first Spicepod
//	spiced dataset add SOURCE   add a dataset to a Spicepod
//	spiced metrics import FILE  translate metrics from and to Apache Ossie
//	spiced extensions           list and install the extensions of DuckDB that connectors need
//	spiced ready                check whether a running spiced is ready
//	spiced version              print the version
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spiced-sql/spiced/spicepod"
)

// Exit statuses.
const (
	exitGood   = 0
	exitFaults = 1   // a fault of the Spicepod, a statement or the machine
	exitUsage  = 2   // a fault of the command line
	exitCancel = 130 // Ctrl-C, as shells report it
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the standard streams of a run.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run is the program: it executes one command line and returns its exit
// status.
func run(ctx context.Context, args []string, std streams) int {
	root := newRoot(std)
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitGood
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(std.err, "spiced: cancelled")
		return exitCancel
	}
	var shown shownError
	if errors.As(err, &shown) {
		return exitFaults
	}
	var problems spicepod.Problems
	if errors.As(err, &problems) {
		problems.WriteText(std.err)
		return exitFaults
	}
	fmt.Fprintln(std.err, "spiced:", err)
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFaults
}

// usageError is a fault of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// shownError is a fault that has been printed already.
type shownError struct{ error }

func (e shownError) Unwrap() error { return e.error }
