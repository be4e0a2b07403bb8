//go:build !linux && !darwin

package disk

// Free returns how many bytes can be written to the file system of a folder; that is
// not known on this system.
func Free(string) (bytes int64, ok bool) { return 0, false }
