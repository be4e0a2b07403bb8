package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/extension"
	"github.com/spiced-sql/spiced/spicepod"
)

func newExtensions(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extensions",
		Short: "List and install the extensions of DuckDB that connectors need",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newExtensionsList(std), newExtensionsInstall(std))
	return cmd
}

func newExtensionsList(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "list [DIR|FILE]",
		Short: "List the extensions, and the file of each that is installed",
		Long: `List the extensions of DuckDB that connectors need, and the file of each that is installed: in
runtime.extensions.directory of the Spicepod in DIR, if one is given, or where DuckDB installs extensions.`,
		Args: atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			directory := ""
			if len(args) > 0 {
				pod, err := spicepod.Load(args[0], runtime.Bodies...)
				if err != nil {
					return err
				}
				directory = pod.Runtime.Extensions.Directory
			}
			return listExtensions(std, directory)
		},
	}
}

func listExtensions(std streams, directory string) error {
	out := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "EXTENSION\tCONNECTOR\tINSTALLED")
	for _, e := range extension.Known {
		path := extension.Find(e.Name, directory)
		if path == "" {
			path = "no"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", e.Name, e.Serves, path)
	}
	return out.Flush()
}

func newExtensionsInstall(std streams) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "install NAME...",
		Short: "Install extensions",
		Long: fmt.Sprintf(`Install extensions of DuckDB %s for this system and user, as DuckDB's INSTALL does: download them, or copy them
from the files NAME.duckdb_extension in a folder. DuckDB only takes what its developers have signed.

Exit status: 0 success, 1 an extension was not installed, 2 usage error.`, engine.Version()),
		Args: func(_ *cobra.Command, args []string) error { return checkExtensions(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return installExtensions(cmd.Context(), std, args, from)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "folder with the files; without it, they are downloaded")
	return cmd
}

func checkExtensions(names []string) error {
	known := make([]string, len(extension.Known))
	for i, e := range extension.Known {
		known[i] = e.Name
	}
	if len(names) == 0 {
		return usageError{fmt.Errorf("name an extension: %s", strings.Join(known, ", "))}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return usageError{fmt.Errorf("no connector needs an extension %q; %s",
				name, nearest.Hint(name, known, "write "+strings.Join(known, ", ")))}
		}
	}
	return nil
}

func installExtensions(ctx context.Context, std streams, names []string, from string) error {
	for _, name := range extension.Needed(names...) {
		file := ""
		if from != "" {
			file = filepath.Join(from, name+".duckdb_extension")
			if _, err := os.Stat(file); err != nil {
				return err
			}
		}
		path, err := engine.InstallExtension(ctx, name, file)
		if err != nil {
			return fmt.Errorf("install %s: %w", name, err)
		}
		fmt.Fprintf(std.out, "%s is installed: %s\n", name, path)
	}
	return nil
}
