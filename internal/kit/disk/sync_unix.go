//go:build unix

package disk

import (
	"errors"
	"os"
)

// SyncDir makes a renamed file durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
