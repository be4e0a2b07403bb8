package sandbox

import _ "embed"

//go:embed shim.py
var shim string

// PythonCommand is the command of workers that run Python code.
func PythonCommand(python string) []string {
	return []string{python, "-I", "-B", "-X", "utf8", "-c", shim}
}
