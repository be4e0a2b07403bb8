//go:build no_ui

package console

import "io/fs"

// files is nil: the program has no console.
var files fs.FS
