//go:build unix

package scratch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// open opens a folder and locks it until it is closed.
func open(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := lock(dir); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

func lock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// Sweep removes this user's folders that no process has locked, and returns their paths.
// Other folders with such names may belong to other users: the temporary folder is
// shared.
func Sweep() (removed []string) {
	temp, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return nil
	}
	defer temp.Close()
	entries, _ := os.ReadDir(temp.Name()) // the ones read so far, on error
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) && sweep(temp, e.Name()) {
			removed = append(removed, filepath.Join(temp.Name(), e.Name()))
		}
	}
	return removed
}

// sweep removes a folder, unless it belongs to another user or is in use.
func sweep(temp *os.Root, name string) (removed bool) {
	dir, err := temp.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil || !ours(info) || lock(dir) != nil {
		return false
	}
	now, err := temp.Lstat(name)
	if err != nil || !os.SameFile(info, now) {
		return false // removed by its process meanwhile
	}
	return temp.RemoveAll(name) == nil
}

// ours reports whether this user owns the folder.
func ours(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(s.Uid) == os.Geteuid()
}
