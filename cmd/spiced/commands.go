package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spiced-sql/spiced/internal/kit/buildinfo"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// version is the version of this build, which every protocol serves.
var version = buildinfo.Read().Version

// versionLine describes this build.
func versionLine() string {
	return "spiced " + version + " " + buildinfo.Read().Details("DuckDB "+engine.Version())
}

func newRoot(std streams) *cobra.Command {
	serve := newServe(std)
	root := &cobra.Command{
		Use:   "spiced [DIR|FILE]",
		Short: "Serve the functions and datasets of a Spicepod",
		Long: "spiced turns the datasets and SQL-bodied functions of a Spicepod into one SQL endpoint.\nWithout " +
			"a command it serves the Spicepod in DIR, by default this folder.",
		Args:          podOrCommand,
		RunE:          serve.RunE,
		Version:       versionLine(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(serve, newValidate(std), newTest(std), newSQL(std), newCall(std), newChat(std), newDemo(std),
		newMCP(std), newSearch(std), newSearchEval(std), newLint(std), newInit(std), newDataset(std), newMetrics(std),
		newSandbox(std), newSchema(), newExtensions(std), newReady(std), newVersion(), newWorker(), newSandboxWorker(),
		newDocumentWorker())
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

// podOrCommand is atMostOne for spiced without a command: a word that is no file may be
// a mistyped command.
func podOrCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && !strings.ContainsAny(args[0], `./\`) {
		var names []string
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				names = append(names, c.Name())
			}
		}
		near := nearest.Name(args[0], names)
		if _, err := os.Stat(args[0]); err != nil && near != "" {
			return usageError{fmt.Errorf("unknown command %q; did you mean %q?", args[0], near)}
		}
	}
	return atMostOne(cmd, args)
}

// atMostOne takes one Spicepod, or none for this folder.
func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("expected one Spicepod, got %d: %s", len(args), strings.Join(args, " "))}
	}
	return nil
}

// podFirst takes [DIR|FILE] VALUE apart. usage is an example of the command, for errors.
func podFirst(args []string, usage string) (pod []string, value string, err error) {
	switch {
	case len(args) == 1:
		return nil, args[0], nil
	case len(args) != 2:
		return nil, "", usageError{fmt.Errorf("expected at most 2 arguments, got %d: write %s", len(args), usage)}
	case !exists(args[0]) && exists(args[1]):
		return nil, "", usageError{fmt.Errorf("the Spicepod comes first: write %s", usage)}
	}
	return args[:1], args[1], nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
		Short: "Print the versions of spiced, DuckDB and Go",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}
