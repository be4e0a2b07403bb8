//go:build linux || darwin

package disk

import (
	"path/filepath"
	"syscall"
)

// Free returns how many bytes can be written to the file system of a folder, which
// need not exist yet; ok is false if that is not known.
func Free(dir string) (bytes int64, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, false
	}
	for {
		var fs syscall.Statfs_t
		if syscall.Statfs(dir, &fs) == nil {
			return int64(fs.Bavail) * int64(fs.Bsize), true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return 0, false
		}
		dir = parent
	}
}
