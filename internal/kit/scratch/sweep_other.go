//go:build !unix

package scratch

import (
	"errors"
	"os"
)

// open locks nothing: this system's locks are not used.
func open(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// Sweep removes nothing: nobody knows which folders are in use.
func Sweep() (removed []string) { return nil }
