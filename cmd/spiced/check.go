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
		Long:  "Read the Spicepod, bind every function and view, open every dataset and run the declared tests. All faults are reported.\nMCP servers are not started, since they are commands of the Spicepod's author.\nExit status: 0 no faults, 1 faults, 2 usage error.",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", format, "text", "json", "sarif"); err != nil {
				return err
			}
			problems, _, err := check(cmd.Context(), std, podPath(args), true)
			if err != nil {
				return err
			}
			return showProblems(std.out, format, problems)
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
			problems, results, err := check(cmd.Context(), std, podPath(args), false)
			if err != nil {
				return err
			}
			return showTests(std, format, problems, results)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or junit")
	return cmd
}

// check loads the Spicepod and serves nothing. With offline it starts no MCP server and
// copies no data.
func check(ctx context.Context, std streams, path string, offline bool) (spicepod.Problems, []functions.TestResult, error) {
	a, err := assemble(ctx, options{Options: runtime.Options{Path: path, Offline: offline, InPlace: offline, Progress: progress(std.err, nil)}})
	var problems spicepod.Problems
	if errors.As(err, &problems) {
		return problems, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer a.close()
	report := a.Load(ctx, "check")
	return report.Problems, append(report.Tests, searchTests(report)...), ctx.Err()
}

// searchTests returns the results of the search tests, as those of functions.
func searchTests(report *runtime.Report) []functions.TestResult {
	var list []functions.TestResult
	for _, r := range report.SearchTests {
		list = append(list, functions.TestResult{Function: "tool_search", Name: r.Test.Query, Passed: r.Passed, Message: r.Message})
	}
	return list
}

func showProblems(w io.Writer, format string, problems spicepod.Problems) error {
	var err error
	switch format {
	case "json":
		err = problems.WriteJSON(w)
	case "sarif":
		err = problems.WriteSARIF(w)
	default:
		problems.WriteText(w)
		if !problems.HasErrors() {
			_, err = fmt.Fprintln(w, "the Spicepod is good")
		}
	}
	if err == nil && problems.HasErrors() {
		return shownError{problems}
	}
	return err
}

// showTests prints the results, and the faults that kept tests from running.
func showTests(std streams, format string, problems spicepod.Problems, results []functions.TestResult) error {
	write := functions.WriteText
	if format == "junit" {
		write = functions.WriteJUnit
	}
	if err := write(std.out, results); err != nil {
		return err
	}
	failed := slices.ContainsFunc(results, func(r functions.TestResult) bool { return !r.Passed })
	if !problems.HasErrors() && !failed {
		return nil
	}
	shown := shownError{problems}
	if format == "text" {
		problems = withoutTests(problems, results)
	}
	problems.WriteText(std.err)
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
	return slices.DeleteFunc(slices.Clone(problems), func(p spicepod.Problem) bool { return failed[p.Position] && strings.Contains(p.Message, "test ") })
}
