//go:build unix

package daemon

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
