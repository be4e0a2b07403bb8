// Package examples holds the Spicepods that people start from.
//
//	source := examples.Quickstart()
//	err := os.CopyFS("my-project", source)
package examples

import (
	"embed"
	"io/fs"
)

//go:embed quickstart
var files embed.FS

// Quickstart returns the files of the quickstart, which `spiced init` writes.
// The Spicepod is at spicepod.yaml.
func Quickstart() fs.FS {
	sub, _ := fs.Sub(files, "quickstart") // fails for invalid names only
	return sub
}
