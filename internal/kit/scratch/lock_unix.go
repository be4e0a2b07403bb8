//go:build unix

package scratch

import (
	"errors"
	"os"
	"syscall"
)

// LockFile creates a file, unless it exists, and locks it until it is closed or the
// process ends. The error is [ErrLocked] if another process has the lock.
func LockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, syscall.EROFS) {
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return file, nil
}
