package wasm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
)

// maxCached is how many compiled modules a cache folder keeps.
const maxCached = 128

// sealName is the file with the checksums of the others of an entry.
const sealName = "checksums"

// entryOf returns the folder of a compiled module. wazero distinguishes its versions and
// processors below it.
func entryOf(folder string, code []byte) string {
	sum := sha256.Sum256(code)
	return filepath.Join(folder, hex.EncodeToString(sum[:16]))
}

// openCache opens the cache of a module. An entry that is damaged is removed: wazero checks
// less of it than the machine code needs.
func openCache(folder string, code []byte) (wazero.CompilationCache, error) {
	entry := entryOf(folder, code)
	if sums, err := checksums(entry); err == nil {
		sealed, err := os.ReadFile(filepath.Join(entry, sealName))
		if err != nil || string(sealed) != sums {
			if err := os.RemoveAll(entry); err != nil {
				return nil, err
			}
		}
	}
	if err := os.MkdirAll(entry, 0o700); err != nil {
		return nil, err
	}
	return wazero.NewCompilationCacheWithDir(entry)
}

// sealCache writes the checksums of an entry, and removes the oldest entries. A cache that
// cannot be written is compiled again.
func sealCache(folder string, code []byte) {
	entry := entryOf(folder, code)
	seal := filepath.Join(entry, sealName)
	if sums, err := checksums(entry); err == nil {
		if old, err := os.ReadFile(seal); err != nil || string(old) != sums {
			temporary := seal + ".tmp"
			if err := os.WriteFile(temporary, []byte(sums), 0o600); err == nil {
				_ = os.Rename(temporary, seal)
			}
		}
	}
	now := time.Now()
	_ = os.Chtimes(entry, now, now)
	prune(folder)
}

// checksums returns a line for each file of an entry.
func checksums(entry string) (string, error) {
	var lines []string
	err := filepath.WalkDir(entry, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), sealName) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		name, err := filepath.Rel(entry, path)
		lines = append(lines, hex.EncodeToString(sum[:])+" "+filepath.ToSlash(name)+"\n")
		return err
	})
	if len(lines) == 0 {
		err = errors.Join(err, fs.ErrNotExist)
	}
	return strings.Join(lines, ""), err
}

// prune removes the entries that were not used for longest.
func prune(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) <= maxCached {
		return
	}
	used := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			used[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return used[a.Name()].Compare(used[b.Name()]) })
	for _, e := range entries[:len(entries)-maxCached] {
		_ = os.RemoveAll(filepath.Join(folder, e.Name()))
	}
}
