// Package scratch makes folders in the system's temporary folder that are removed with
// their process.
//
//	scratch.Sweep() // left over by killed processes
//	dir, err := scratch.New("spill")
//	defer dir.Remove()
//
// A process holds a lock on each of the folders, which the system releases when the
// process ends for any reason: a folder without a lock is left over. A folder gets the
// name that [Sweep] looks for once it is locked, so that a new one never looks left
// over. On systems without such locks, nothing is swept.
package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// prefix begins the folders' names. Folders of other users with it stay, and so do
// folders that are locked.
const prefix = "spiced-run-"

// ErrLocked means that another process has a lock; see [LockFile].
var ErrLocked = errors.New("another spiced process uses it; give each process its own")

// Dir is a folder.
type Dir struct {
	Path string
	lock *os.File // the folder itself; nil: not locked
}

// New makes a folder. kind, which describes the contents, is part of the name. A folder
// that cannot be locked keeps a name that is never swept.
func New(kind string) (*Dir, error) {
	path, err := os.MkdirTemp("", "spiced-"+kind+"-")
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: path}
	if d.lock, err = open(path); err != nil {
		return d, nil
	}
	known := filepath.Join(filepath.Dir(path), prefix+strings.TrimPrefix(filepath.Base(path), "spiced-"))
	if os.Rename(path, known) == nil {
		d.Path = known
	}
	return d, nil
}

// Remove removes the folder and everything in it. It does nothing on a nil Dir.
func (d *Dir) Remove() {
	if d == nil {
		return
	}
	os.RemoveAll(d.Path)
	if d.lock != nil {
		d.lock.Close()
	}
}
