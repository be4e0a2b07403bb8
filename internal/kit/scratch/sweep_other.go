//go:build !unix

package scratch

import (
	"errors"
	"os"
)

// open is not supported: this system's locks are not used.
func open(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// Sweep removes nothing: it cannot know which folders are in use.
func Sweep() (removed []string) { return nil }
