package rowindex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/disk"
)

// files has the segments of a folder that are mapped. A file is removed when it is no longer part
// of the folder's index; it stays mapped until no index uses it.
type files struct {
	folder string

	mu      sync.Mutex
	holders map[*segment]int
}

func (f *files) hold(s *segment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holders[s]++
}

func (f *files) release(s *segment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holders[s]--; f.holders[s] == 0 {
		delete(f.holders, s)
		s.unmap()
	}
}

func (f *files) path(name string) string { return filepath.Join(f.folder, name) }

// open maps a file.
func (f *files) open(name string, columns []Column) (*segment, error) {
	data, unmap, err := mapFile(f.path(name))
	if err != nil {
		return nil, err
	}
	s, err := decode(name, data, columns)
	if err != nil {
		unmap()
		return nil, err
	}
	s.unmap = unmap
	return s, nil
}

// write writes a file so that it is there whole or not at all, also after a crash.
func (f *files) write(name string, data []byte) error {
	if err := disk.Write(f.path(name), data, 0o600); err != nil {
		return err
	}
	return disk.SyncDir(f.folder)
}

// keep removes the files of the folder that are not named, among them what a crash left.
func (f *files) keep(names map[string]bool) error {
	entries, err := os.ReadDir(f.folder)
	if err != nil {
		return err
	}
	var failed []error
	for _, e := range entries {
		if !names[e.Name()] && e.Type().IsRegular() {
			if err := os.Remove(f.path(e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = append(failed, fmt.Errorf("remove a file of the index: %w", err))
			}
		}
	}
	return errors.Join(failed...)
}
