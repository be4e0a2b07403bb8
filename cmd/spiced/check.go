package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/spicepod"
)

func newValidate(std streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "validate [DIR|FILE]",
		Short: "Check a Spicepod and everything it declares",
		Long: "Read the Spicepod, bind every function and view, open every dataset and run the declared tests. All faults " +
			"are reported.\nMCP servers are not started, since they are commands of the Spicepod's author.\nExit status: 0 " +
			"no faults, 1 faults, 2 usage error.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", format, "text", "json", "sarif"); err != nil {
				return err
			}
			c, err := check(cmd.Context(), std, podPath(args), true)
			if err != nil {
				return err
			}
			return showProblems(std.out, format, c)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json or sarif")
	return cmd
}

func newTest(std streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "test [DIR|FILE]",
		Short: "Run the tests of functions and the search tests",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", format, "text", "junit"); err != nil {
				return err
			}
			c, err := check(cmd.Context(), std, podPath(args), false)
			if err != nil {
				return err
			}
			return showTests(std, format, c)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or junit")
	return cmd
}

// checked is what a load that serves nothing has found.
type checked struct {
	problems spicepod.Problems
	tests    []functions.TestResult
	counts   []runtime.Count // nil if the Spicepod cannot be read
}

// check loads the Spicepod and serves nothing. With offline it starts no MCP server and
// copies no data. Where not everything is served, the problems say why.
func check(ctx context.Context, std streams, path string, offline bool) (*checked, error) {
	a, err := assemble(ctx, options{Options: runtime.Options{
		Path: path, Offline: offline, InPlace: offline,
		Progress: progress(std.err, nil),
	}})
	var problems spicepod.Problems
	if errors.As(err, &problems) {
		return &checked{problems: problems}, nil
	}
	if err != nil {
		return nil, err
	}
	defer a.close()
	report := a.Load(ctx, "check")
	if g := a.Current(); g != nil {
		report.Problems = append(report.Problems, tlsProblem(g.Pod)...)
		report.Problems.Sort()
	}
	return &checked{
		report.Problems, slices.Concat(report.Tests, report.Skipped, searchTests(report)),
		report.Counts,
	}, ctx.Err()
}

// summary counts what was checked: "3 datasets, 2 views, 14 tools; 5 tests, 0 failed", with
// how many of a kind are served if not all are: "2 of 3 datasets".
func (c *checked) summary() string {
	var list []string
	for _, n := range c.counts {
		kind := n.Kind
		if n.Declared == 1 {
			kind = strings.TrimSuffix(kind, "s")
		}
		switch {
		case n.Declared == 0:
		case n.Served < n.Declared:
			list = append(list, fmt.Sprintf("%d of %d %s", n.Served, n.Declared, kind))
		default:
			list = append(list, fmt.Sprintf("%d %s", n.Declared, kind))
		}
	}
	return strings.Join(append(list, functions.Total(c.tests)), ", ")
}

// searchTests returns the results of the search tests, as those of functions.
func searchTests(report *runtime.Report) []functions.TestResult {
	var list []functions.TestResult
	for _, r := range report.SearchTests {
		list = append(list, functions.TestResult{
			Function: "tool_search", Name: r.Test.Query, Position: r.Position,
			Passed: r.Passed, Message: r.Message,
		})
	}
	return list
}

func showProblems(w io.Writer, format string, c *checked) error {
	var err error
	problems := c.problems
	switch format {
	case "json":
		err = problems.WriteJSON(w)
	case "sarif":
		err = problems.WriteSARIF(w)
	default:
		problems.WriteText(w)
		switch {
		case !problems.HasErrors():
			_, err = fmt.Fprintln(w, "the Spicepod is good: "+c.summary())
		case c.counts != nil:
			_, err = fmt.Fprintln(w, "served: "+c.summary())
		}
	}
	if err == nil && problems.HasErrors() {
		return shownError{problems}
	}
	return err
}

// showTests prints the results, and the faults that kept tests from running.
func showTests(std streams, format string, c *checked) error {
	problems, results := c.problems, c.tests
	write := functions.WriteText
	if format == "junit" {
		write = functions.WriteJUnit
	}
	if err := write(std.out, results); err != nil {
		return err
	}
	failed := slices.ContainsFunc(results, func(r functions.TestResult) bool { return !r.Passed && !r.Skipped })
	if !problems.HasErrors() && !failed {
		return nil
	}
	shown := shownError{problems}
	if format == "text" {
		problems = withoutTests(problems, results)
	}
	problems.WriteText(std.err)
	if format == "text" && c.counts != nil {
		fmt.Fprintln(std.err, "served: "+c.summary())
	}
	return shown
}

// withoutTests returns the problems except those of failed tests, which the results have.
func withoutTests(problems spicepod.Problems, results []functions.TestResult) spicepod.Problems {
	failed := map[spicepod.Position]bool{}
	for _, r := range results {
		if !r.Passed && r.Position.Line > 0 {
			failed[r.Position] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p spicepod.Problem) bool {
		return failed[p.Position] && strings.Contains(p.Message, "test ")
	})
}
