// Package disk keeps the state of datasets in folders: a JSON file for each
// entry, which names the file with its data.
//
//	err := disk.WriteJSON(filepath.Join(dir, "flights.json"), entry) // entry has a field File
//	…
//	err = disk.Clean(dir, log) // at the next start: removes files that no entry names
package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// Clean removes the files of a folder that no entry names: a crash left them.
func Clean(dir string, log *slog.Logger) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, e := range entries {
		var doc struct{ File string }
		if strings.HasSuffix(e.Name(), ".json") && ReadJSON(filepath.Join(dir, e.Name()), &doc) == nil {
			named[e.Name()], named[doc.File] = true, true
		}
	}
	for _, e := range entries {
		if !named[e.Name()] && !e.IsDir() {
			log.Info("remove a leftover of an earlier run", "file", e.Name())
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return nil
}

// Size returns the size of a file, or -1.
func Size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// WriteJSON replaces a file in one step.
func WriteJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(raw)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}

// ReadJSON reads a file.
func ReadJSON(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// Lock makes a folder with its subfolders and takes its lock, which no other
// process can take until the file is closed.
func Lock(path string, subfolders ...string) (*os.File, error) {
	for _, sub := range subfolders {
		if err := os.MkdirAll(filepath.Join(path, sub), 0o700); err != nil {
			return nil, fmt.Errorf("make the state directory: %w", err)
		}
	}
	lock, err := lockFile(filepath.Join(path, "lock"))
	if err != nil {
		return nil, fmt.Errorf("state directory %q is used by another spiced; give each its own: %w", path, err)
	}
	return lock, nil
}
