//go:build unix

package usage

import (
	"errors"
	"os"
)

// syncDir makes a renamed file durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
