//go:build !unix

package environment

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: this system's job objects are not used.
func ownGroup(*exec.Cmd) {}

// share opens a folder; this system's file locks are not used.
func share(dir string) (*os.File, error) { return os.Open(dir) }

// claim opens a folder; see share.
func claim(dir string) (*os.File, error) { return os.Open(dir) }
