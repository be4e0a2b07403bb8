//go:build !unix

package runtime

import "io/fs"

// inodeOf is unknown here; size and time have to do.
func inodeOf(fs.FileInfo) any { return nil }
