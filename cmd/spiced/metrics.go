package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/data/semantic/ossie"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

func newMetrics(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Translate metrics from and to Apache Ossie (Open Semantic Interchange)",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "import FILE",
		Short: "Print the semantic_models and metrics of a Spicepod for a file of Apache Ossie; - reads it from the input",
		Long: `Print the sections semantic_models and metrics of a Spicepod for a file of Apache Ossie's core specification.
What a Spicepod has no place for is listed with its line, on the error output.

Exit status: 0 good, 1 the file cannot be read, 2 usage error.`,
		Args: exactly(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return importMetrics(cmd.Context(), std, args[0]) },
	}, &cobra.Command{
		Use:   "export [DIR|FILE]",
		Short: "Print the metrics of a Spicepod as a file of Apache Ossie",
		Long: `Print the semantic models and metrics of the Spicepod in DIR, by default this folder, as a file of Apache Ossie's
core specification. What Ossie has no place for is listed with its position, on the error output.

Exit status: 0 good, 1 the Spicepod cannot be read, 2 usage error.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error { return exportMetrics(cmd.Context(), std, podPath(args)) },
	})
	return cmd
}

// exactly takes n arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("expected %s, got %d arguments", what, len(args))}
		}
		return nil
	}
}

// translated prints a translation and its notes.
func translated(ctx context.Context, std streams,
	translate func(parse ossie.Parse, aggregates func(string) bool) ([]byte, []ossie.Note, error),
) error {
	db, err := engine.Open(ctx, engine.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	parse := func(text string) (*sqltree.Statement, error) { return db.Parse(ctx, text) }
	text, notes, err := translate(parse, db.Builtins().Aggregate)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(std.err, n)
	}
	_, err = std.out.Write(text)
	return err
}

func importMetrics(ctx context.Context, std streams, path string) error {
	in := std.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, ossie.MaxFile+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return translated(ctx, std, func(parse ossie.Parse, aggregates func(string) bool) ([]byte, []ossie.Note, error) {
		return ossie.Import(text, parse, aggregates)
	})
}

func exportMetrics(ctx context.Context, std streams, path string) error {
	pod, err := spicepod.Load(path, runtime.Bodies...)
	if err != nil {
		return err
	}
	return translated(ctx, std, func(parse ossie.Parse, aggregates func(string) bool) ([]byte, []ossie.Note, error) {
		return ossie.Export(pod, parse, aggregates)
	})
}
