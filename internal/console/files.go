//go:build !no_ui

package console

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

var files fs.FS = dist
