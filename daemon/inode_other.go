//go:build !unix

package daemon

import "io/fs"

// inodeOf is unknown here; size and time have to do.
func inodeOf(fs.FileInfo) any { return nil }
