// Package scratch makes folders that last as long as their process, in the
// system's folder for temporary files.
//
//	scratch.Sweep() // what processes left that were killed
//	dir, err := scratch.New("spill")
//	defer dir.Remove()
//
// A process holds a lock on each of its folders, which its end gives back
// however it comes: a folder that nobody holds is left over. It gets the name
// by which [Sweep] knows it once it is locked, so that there is no moment in
// which a new one looks left over. Where the system has no such locks, nothing
// is swept.
package scratch

import (
	"os"
	"path/filepath"
	"strings"
)

// prefix is that of the folders' names. Folders of others that have it stay,
// unless they are this user's and nobody locks them.
const prefix = "spiced-run-"

// Dir is a folder.
type Dir struct {
	Path string
	lock *os.File // the folder itself; nil: it is not locked
}

// New makes a folder. Its name says the kind of what is in it. One that cannot
// be locked keeps a name that is never swept.
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

// Remove removes the folder with all that is in it. A nil Dir is none.
func (d *Dir) Remove() {
	if d == nil {
		return
	}
	os.RemoveAll(d.Path)
	if d.lock != nil {
		d.lock.Close()
	}
}
