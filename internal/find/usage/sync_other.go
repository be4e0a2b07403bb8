//go:build !unix

package usage

// syncDir does nothing: this system cannot sync a folder.
func syncDir(string) error { return nil }
