//go:build !unix

package disk

// SyncDir does nothing: this system cannot sync a folder.
func SyncDir(string) error { return nil }
