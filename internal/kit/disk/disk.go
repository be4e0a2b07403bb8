// Package disk has helpers for files that a process keeps for its next run.
//
//	err = disk.WriteJSON(filepath.Join(dir, "flights.json"), entry) // entry has a field File
//	…
//	err = disk.Clean(dir, log) // at the next start: removes files that no entry names
package disk

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// Clean removes the files of a folder that are neither a JSON file nor named by
// the field File of one; a crash left them.
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
			log.Info("remove a file left by an earlier run", "file", e.Name())
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return nil
}

// Size returns the size of a file, or -1 if there is none.
func Size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// Write atomically replaces a file.
func Write(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Copy copies a file to a new one, which shares its blocks where the file system can.
func Copy(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); errors.Join(err, out.Close()) != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// WriteJSON atomically replaces a file by v as JSON.
func WriteJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return Write(path, raw, 0o600)
}

// ReadJSON decodes a file.
func ReadJSON(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}
