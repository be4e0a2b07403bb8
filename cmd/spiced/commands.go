package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// version is set by the release build: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func newRoot(std streams) *cobra.Command {
	serve := newServe(std)
	root := &cobra.Command{
		Use:           "spiced [DIR|FILE]",
		Short:         "Serve the functions and datasets of a Spicepod",
		Long:          "spiced turns the datasets and SQL-bodied functions of a Spicepod into one SQL endpoint.\nWithout a command it serves the Spicepod in DIR, by default this folder.",
		Args:          serve.Args,
		RunE:          serve.RunE,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(serve, newValidate(std), newTest(std), newSQL(std), newChat(std), newMCP(std), newSearch(std), newSearchEval(std), newLint(std), newInit(std), newSchema(), newVersion(), newWorker())
	return root
}

// flagError names the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if unknown {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearest.Name(name, names); near != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	return usageError{err}
}

// atMostOne takes one Spicepod, or none for this folder.
func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("expected one Spicepod, got %d: %s", len(args), strings.Join(args, " "))}
	}
	return nil
}

// podPath returns the path of the Spicepod.
func podPath(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// oneOf checks the value of a flag.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usageError{fmt.Errorf("--%s must be one of %s, got %q", flag, strings.Join(allowed, ", "), value)}
}

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of spicepod.yaml, for editors",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(spicepod.JSONSchema())
			return err
		},
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of spiced and DuckDB",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "spiced %s (DuckDB %s)\n", version, engine.Version())
			return err
		},
	}
}
