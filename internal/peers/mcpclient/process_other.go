//go:build !unix

package mcpclient

import "os/exec"

// inherited are the variables of the runtime's environment that a command sees.
// Others may be secrets.
var inherited = []string{
	"APPDATA", "COMSPEC", "HOME", "HOMEDRIVE", "HOMEPATH", "LANG", "LOCALAPPDATA", "PATH", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "USER",
	"USERNAME", "USERPROFILE",
}

// ownGroup does nothing: this system's job objects are not used.
func ownGroup(*exec.Cmd) {}

// terminate does nothing: this system has no termination signal.
func terminate(*exec.Cmd) {}

// kill ends the process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
