//go:build !unix

package scratch

import "os"

// LockFile creates a file; this system's file locks are not used.
func LockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
