//go:build !unix

package environment

import "os/exec"

// ownGroup does nothing: this system's job objects are not used.
func ownGroup(*exec.Cmd) {}
