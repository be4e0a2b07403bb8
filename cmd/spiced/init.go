package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/examples"
	"github.com/spiced-sql/spiced/spicepod"
)

// schemaFile is the JSON Schema that init writes next to the Spicepod; the
// first line of the Spicepod points editors to it.
const schemaFile = "spicepod.schema.json"

func newInit(std streams) *cobra.Command {
	var empty bool
	var from string
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first Spicepod, with data to try it on",
		Long: `Write a Spicepod, its data and a JSON Schema for editors to DIR, by default this folder. No file is replaced.
With --empty the Spicepod has no data and no functions, and with --from FOLDER a dataset for each data file in that
folder.`,
		Example: `  spiced init first
  spiced init --from data
  spiced init my-project --empty`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("init takes one folder, got %d arguments", len(args))}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if empty && from != "" {
				return usageError{errors.New("write --empty or --from, not both")}
			}
			if err := initPod(std, podPath(args), empty, from); err != nil {
				return err
			}
			run := strings.Join(append([]string{"spiced"}, args...), " ")
			_, err := fmt.Fprintf(std.out, "wrote %s\nnow run: %s\n", filepath.Join(podPath(args), "spicepod.yaml"), run)
			return err
		},
	}
	cmd.Flags().BoolVar(&empty, "empty", false, "write a Spicepod without data and functions")
	cmd.Flags().StringVar(&from, "from", "", "write a dataset for each data file in this folder")
	return cmd
}

// initPod writes the quickstart, an empty Spicepod, or one of the files in a folder to dir, which
// may exist but must not have a Spicepod. It replaces no file.
func initPod(std streams, dir string, empty bool, from string) (err error) {
	for _, name := range []string{"spicepod.yaml", "spicepod.yml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s exists already; init creates a new Spicepod", filepath.Join(dir, name))
		}
	}
	var names, left []string
	switch {
	case empty:
		err = writePod(dir, blankPod)
	case from != "":
		err = writePod(dir, func(dir string) (text string, err error) {
			text, names, left, err = podFrom(dir, from)
			return text, err
		})
	default:
		err = copyNew(examples.Quickstart(), dir)
	}
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	for _, name := range names {
		noteQuotes(std.err, name)
	}
	if len(left) > 0 {
		fmt.Fprintf(std.err, "left out: %s\n", strings.Join(left, ", "))
	}
	if err := writeNew(filepath.Join(dir, schemaFile), spicepod.JSONSchema()); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("init: %w", err)
	}
	return nil
}

// writeNew writes a file that does not exist, and its folders.
func writeNew(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
