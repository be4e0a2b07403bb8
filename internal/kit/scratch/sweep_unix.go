//go:build unix

package scratch

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// open opens a folder and locks it, as long as it is open.
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

func lock(dir *os.File) error { return syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// Sweep removes this user's folders that no process holds, and returns their
// paths. What else there is of such a name, others may have put there: the
// folder is shared.
func Sweep() (removed []string) {
	temp, err := os.OpenRoot(os.TempDir())
	if err != nil {
		return nil
	}
	defer temp.Close()
	entries, _ := os.ReadDir(temp.Name()) // those that could be read
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) && sweep(temp, e.Name()) {
			removed = append(removed, filepath.Join(temp.Name(), e.Name()))
		}
	}
	return removed
}

// sweep removes a folder, unless it is of somebody else or in use.
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
		return false // its process has removed it in the meantime
	}
	return temp.RemoveAll(name) == nil
}

// ours reports whether this user made the folder.
func ours(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(s.Uid) == os.Geteuid()
}
