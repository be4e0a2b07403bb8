package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// blankPod is the text of a Spicepod that has only an embedding, for the search of tools. Its
// name is that of the folder.
func blankPod(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	name, err := yaml.Marshal(filepath.Base(absolute))
	return "# yaml-language-server: $schema=" + schemaFile + "\nversion: v1\nkind: Spicepod\nname: " + string(name) +
		"\nruntime:\n  functions:\n    enabled: true\n" +
		"\nembeddings: # vectors for the search of tools, made here, without a download\n  " + embeddings.Remedy + "\n", err
}

// maxInitFiles is the most files of a folder that init makes datasets of.
const maxInitFiles = 1000

// podFrom is the text of a Spicepod in dir with a dataset for each data file of a folder, their
// names, and the names of the files that it leaves out, with a reason where the format is one. Two
// files whose names differ only in what a table's
// name cannot have, or in their format, get the format behind the name.
func podFrom(dir, folder string) (text string, names, left []string, err error) {
	text, err = blankPod(dir)
	if err != nil {
		return "", nil, nil, err
	}
	text += "\n" // the datasets follow
	root, err := filepath.Abs(dir)
	if err != nil {
		return "", nil, nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", nil, nil, err
	}
	taken := map[string]bool{}
	for _, e := range entries {
		if e.Name() == schemaFile {
			continue // of another Spicepod
		}
		path, err := filepath.Abs(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", nil, nil, err
		}
		format, served := fileformat.FormatOf(e.Name())
		draft, err := datasets.NewDraft(runtime.Connectors, "file:"+e.Name(), "")
		name := draft.Name
		if err != nil || !e.Type().IsRegular() || !served || name == "" || strings.HasPrefix(e.Name(), ".") {
			left = append(left, e.Name())
			if e.Type().IsRegular() && fileformat.Unread(e.Name()) != "" {
				left[len(left)-1] += " (" + fileformat.Unread(e.Name()) + ")"
			}
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
		names = append(names, name)
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		if text, err = (spicepod.NewDataset{From: "file:" + filepath.ToSlash(path), Name: name}).AddTo(text); err != nil {
			return "", nil, nil, err
		}
	}
	if len(taken) == 0 && slices.ContainsFunc(left, fileformat.IsDocument) {
		return documentsPod(text, root, folder, left)
	}
	if len(taken) == 0 {
		return "", nil, left, fmt.Errorf("there is no data file in %s (files of the formats %s become datasets)", folder,
			fileformat.ServedFormats())
	}
	return withRoot(text, root, folder), names, left, nil
}

// documentsPod adds a dataset of the documents in a folder without tables.
func documentsPod(text, root, folder string, files []string) (_ string, names, left []string, err error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return "", nil, nil, err
	}
	draft, err := datasets.NewDraft(runtime.Connectors, "file:"+filepath.ToSlash(path), "")
	if err != nil {
		return "", nil, nil, err
	}
	name := cmp.Or(draft.Name, "documents")
	if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	d := spicepod.NewDataset{
		From: "file:" + filepath.ToSlash(path) + "/", Name: name,
		Params: []spicepod.NewParam{{Name: "file_format", Value: "document"}},
	}
	text, err = d.AddTo(text)
	return withRoot(text, root, folder), []string{name}, slices.DeleteFunc(files, fileformat.IsDocument), err
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
	return strings.Replace(text, "runtime:\n", "runtime:\n  data_roots:\n    "+
		strings.ReplaceAll(strings.TrimSpace(string(quoted)), "\n", "\n    ")+"\n", 1)
}

// podOf is the text of a Spicepod in dir without data, which may read a source that is a file.
func podOf(dir, source string) (string, error) {
	text, err := blankPod(dir)
	if err != nil {
		return "", err
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	path := strings.TrimPrefix(source, "file:")
	info, err := os.Stat(path)
	switch {
	case err != nil: // it is a URL, a pattern, or not there
		return text + "\n", nil
	case !info.IsDir():
		path = filepath.Dir(path)
	}
	return withRoot(text, root, path) + "\n", nil
}

// noteQuotes says how a statement names a dataset whose name is a keyword of SQL.
func noteQuotes(out io.Writer, name string) {
	if engine.NeedsQuotes(name) {
		fmt.Fprintf(out, "note: %s is a word of SQL; write its name in double quotes: SELECT * FROM %s\n", name,
			engine.Identifier(name))
	}
}

// writePod writes a new Spicepod, whose text depends on its folder.
func writePod(dir string, text func(dir string) (string, error)) error {
	t, err := text(dir)
	if err != nil {
		return err
	}
	return writeNew(filepath.Join(dir, "spicepod.yaml"), []byte(t))
}
