//go:build !unix

package disk

import "os"

// Lock creates the file; the locks of this system are not used.
func Lock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
