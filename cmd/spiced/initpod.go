package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/spicepod"
)

// blankPod is the text of a Spicepod without components. Its name is that of the folder.
func blankPod(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	name, err := yaml.Marshal(filepath.Base(absolute))
	return "# yaml-language-server: $schema=" + schemaFile + "\nversion: v1\nkind: Spicepod\nname: " + string(name) + "\nruntime:\n  functions:\n    enabled: true\n", err
}

// maxInitFiles is the most files of a folder that init makes datasets of.
const maxInitFiles = 1000

// podFrom is the text of a Spicepod in dir with a dataset for each data file of a folder, and
// the names of the files that it leaves out. Two files whose names differ only in what a table's
// name cannot have, or in their format, get the format behind the name.
func podFrom(dir, folder string) (text string, left []string, err error) {
	text, err = blankPod(dir)
	if err != nil {
		return "", nil, err
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return "", nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", nil, err
	}
	taken := map[string]bool{}
	for _, e := range entries {
		if e.Name() == schemaFile {
			continue // of another Spicepod
		}
		path, err := filepath.Abs(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", nil, err
		}
		format, served := fileformat.FormatOf(e.Name())
		draft, err := datasets.NewDraft("file:"+e.Name(), "")
		name := draft.Name
		if err != nil || !e.Type().IsRegular() || !served || name == "" || strings.HasPrefix(e.Name(), ".") {
			left = append(left, e.Name())
			continue
		}
		if taken[name] {
			name += "_" + format
		}
		if taken[name] || len(taken) == maxInitFiles {
			left = append(left, e.Name())
			continue
		}
		taken[name] = true
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		if text, err = (spicepod.NewDataset{From: "file:" + filepath.ToSlash(path), Name: name}).AddTo(text); err != nil {
			return "", nil, err
		}
	}
	if len(taken) == 0 {
		return "", left, fmt.Errorf("there is no data file in %s (files of the formats %s become datasets)", folder, fileformat.ServedFormats())
	}
	return withRoot(text, root, folder), left, nil
}

// withRoot adds the folder to runtime.data_roots if it is outside of that of the Spicepod.
func withRoot(text, root, folder string) string {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return text
	}
	if rel, err := filepath.Rel(root, absolute); err == nil && filepath.IsLocal(rel) {
		return text
	}
	quoted, err := yaml.Marshal([]string{".", absolute})
	if err != nil {
		return text
	}
	return strings.Replace(text, "runtime:\n", "runtime:\n  data_roots:\n    "+strings.ReplaceAll(strings.TrimSpace(string(quoted)), "\n", "\n    ")+"\n", 1)
}

// writePod writes a new Spicepod, whose text depends on its folder.
func writePod(dir string, text func(dir string) (string, error)) error {
	t, err := text(dir)
	if err != nil {
		return err
	}
	return writeNew(filepath.Join(dir, "spicepod.yaml"), []byte(t))
}

// startPod writes an empty Spicepod to a folder that exists and has none, for a command that adds
// to it. undo removes it.
func startPod(dir string) (undo func(), err error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fs.ErrNotExist
	}
	return func() { os.Remove(filepath.Join(dir, "spicepod.yaml")) }, writePod(dir, blankPod) //nolint:errcheck // it stays, without components
}
