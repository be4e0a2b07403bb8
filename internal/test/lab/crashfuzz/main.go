// Command crashfuzz calls every function that statements may call with hostile values
// of every type, in child processes, and prints the functions that end the process,
// cannot be interrupted, or take memory that DuckDB's memory_limit does not count:
// one line each, in the form of internal/sql/engine/unsafe.txt. It fails if one is
// not in that list. Run it whole when DuckDB changes:
//
//	make crash-fuzz                                    every value in every argument
//	make crash-fuzz CRASHFUZZ='-time 60s -seed 7'
//	make crash-fuzz CRASHFUZZ='-only list_sort,statements'
//
// With -beside BINARY it sends the same calls to that spiced at default settings over
// HTTP, while another caller uses it, and fails if a request of that caller fails:
//
//	make crash-fuzz CRASHFUZZ='-beside ./spiced -time 10m'
//
// With -over, too, the calls are over tables of spiced and a writable table, and memory and
// processor time of that process are findings:
//
//	make crash-fuzz CRASHFUZZ='-beside ./spiced -over -time 10m'
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if os.Getenv(childVariable) != "" {
		if err := serve(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "crashfuzz:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	var only, binary string
	flag.Uint64Var(&o.seed, "seed", 1, "the statements depend on `N` and nothing else")
	flag.DurationVar(&o.time, "time", 0, "stop after `DURATION`; 0: when every value was in every argument")
	flag.StringVar(&only, "only", "", "`names` of functions, separated by commas; statements: long and deep statements instead")
	flag.IntVar(&o.children, "children", 2, "processes at once")
	flag.StringVar(&binary, "beside", "", "send the calls to the spiced of this `binary` beside honest requests")
	flag.BoolVar(&o.over, "over", false, "with -beside: the calls read tables of spiced and write one; memory and processor time are findings")
	flag.BoolVar(&o.verbose, "v", false, "print what is not confirmed, too")
	flag.Parse()
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	o.out, o.log = os.Stdout, os.Stderr
	if o.over {
		o.children = 1 // what a statement takes is measured
	}
	if binary != "" {
		if err := beside(ctx, o, binary); err != nil {
			fmt.Fprintln(os.Stderr, "crashfuzz:", err)
			os.Exit(1)
		}
		return
	}
	began := time.Now()
	result, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crashfuzz:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "%d statements of %d functions in %s: %d findings\n", result.statements, result.functions, time.Since(began).Round(time.Second),
		len(result.findings))
	if unlisted := result.unlisted(); len(unlisted) > 0 {
		fmt.Fprintf(os.Stderr, "crashfuzz: not in internal/sql/engine/unsafe.txt:\n%s", strings.Join(unlisted, ""))
		os.Exit(1)
	}
}
