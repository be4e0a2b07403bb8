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

// schemaFile is the JSON Schema that init writes beside the Spicepod; the
// first line of the Spicepod points editors to it.
const schemaFile = "spicepod.schema.json"

func newInit(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first Spicepod, with data to try it on",
		Long:  "Write a Spicepod, its data and a JSON Schema for editors to DIR, by default this folder. No file is replaced.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("init takes one folder, got %d arguments", len(args))}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := initPod(podPath(args)); err != nil {
				return err
			}
			run := strings.Join(append([]string{"spiced"}, args...), " ")
			_, err := fmt.Fprintf(std.out, "wrote %s\nnow run: %s\n", filepath.Join(podPath(args), "spicepod.yaml"), run)
			return err
		},
	}
}

// initPod copies the quickstart into dir, which may exist but must not have a
// Spicepod. It replaces no file.
func initPod(dir string) error {
	for _, name := range []string{"spicepod.yaml", "spicepod.yml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("%s exists already; init creates a new Spicepod", filepath.Join(dir, name))
		}
	}
	if err := copyNew(examples.Quickstart(), dir); err != nil {
		return fmt.Errorf("init: %w", err)
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
