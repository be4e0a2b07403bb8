//go:build !unix

package disk

import "os"

// lockFile opens the file; this system's file locks are not used.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
