// Package examples holds the Spicepods that people start from.
//
//	source := examples.Quickstart()
//	err := os.CopyFS("my-project", source)
package examples

import (
	"embed"
	"io/fs"
)

//go:embed quickstart agents
var files embed.FS

// Quickstart returns the files of the quickstart, which `spiced init` writes.
// The Spicepod is at spicepod.yaml.
func Quickstart() fs.FS {
	return folder("quickstart")
}

// Agents returns the files of the team of agents, which `spiced demo` runs. The Spicepod is
// at spicepod.yaml.
func Agents() fs.FS { return folder("agents") }

func folder(name string) fs.FS {
	sub, _ := fs.Sub(files, name) // fails for invalid names only
	return sub
}
