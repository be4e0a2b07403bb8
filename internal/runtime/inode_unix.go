//go:build unix

package runtime

import (
	"io/fs"
	"syscall"
)

// inodeOf tells a file from another that took its place.
func inodeOf(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return nil
}
