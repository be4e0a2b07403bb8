//go:build !linux && !darwin

package rowindex

import "os"

// mapFile reads a file.
func mapFile(path string) (data []byte, unmap func(), err error) {
	data, err = os.ReadFile(path)
	return data, func() {}, err
}
