// Package mcplock owns spicepod.mcp.lock, the file next to a Spicepod with the MCP
// tools whose texts have been read and approved.
//
// A server may change a tool's description and schemas at any time, and models follow
// them. With `pin: checksum` a tool is served only while its checksum matches this
// file, which is versioned and reviewed with the Spicepod: one tool per line, sorted,
// with the beginning of the description.
//
//	maps:
//	  route: "0123456789abcdef" # Finds the way between two places.
//	  search: "89abcdef01234567"
//
// Reading and writing it:
//
//	approved, err := lock.Open(dir)
//	changed, unknown := approved.Check("maps", map[string]string{"route": checksum})
//
//	servers := map[string][]lock.Entry{"maps": {{Tool: "route", Checksum: checksum}}}
//	for _, c := range lock.Diff(approved.Servers(), servers) {
//		fmt.Println(c)
//	}
//	err = lock.Write(dir, servers)
//
// The caller defines what the checksum covers.
package mcplock

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Name is the name of the file.
const Name = "spicepod.mcp.lock"

// Limits on the file.
const (
	MaxBytes   = 16 << 20
	MaxEntries = 100_000 // tools of all servers
	MaxName    = 1200    // bytes of a server's or a tool's name: 300 characters

	minChecksum = 16  // hex digits
	maxChecksum = 64  // those of SHA-256
	maxComment  = 100 // characters shown of a description
	maxExcerpt  = 60  // characters of a line that an error shows
)

// Entry is an approved tool.
type Entry struct {
	Tool        string // as the server names it
	Checksum    string // 16 to 64 lower-case hex digits
	Description string // for people: the beginning of the first line is written
}

// File is the content of the file; the zero File approves nothing. It is immutable and
// safe for concurrent use.
type File struct {
	servers map[string]map[string]Entry
}

// Open reads the file in a folder; a missing file approves nothing. An invalid file is
// a [*SyntaxError].
func Open(dir string) (*File, error) {
	path := filepath.Join(dir, Name)
	text, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the approved MCP tools: %w", err)
	}
	return parse(path, string(text))
}

// read reads a regular file within the size limit.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err == nil && len(text) > MaxBytes {
		err = fmt.Errorf("%s exceeds the limit of %d bytes", path, MaxBytes)
	}
	return text, err
}

// Check compares a server's tools, checksums by name, with the approved ones. It
// returns, sorted, the names of tools with another checksum and of tools that are not
// approved.
func (f *File) Check(server string, tools map[string]string) (changed, unknown []string) {
	approved := f.servers[server]
	for name, checksum := range tools {
		switch entry, ok := approved[name]; {
		case !ok:
			unknown = append(unknown, name)
		case entry.Checksum != checksum:
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	slices.Sort(unknown)
	return changed, unknown
}

// Servers returns a copy of the entries by server, sorted by tool. Descriptions are as
// in the file. To approve the tools of some servers only, replace their entries and
// write the result.
func (f *File) Servers() map[string][]Entry {
	servers := make(map[string][]Entry, len(f.servers))
	for server, tools := range f.servers {
		for _, entry := range tools {
			servers[server] = append(servers[server], entry)
		}
		slices.SortFunc(servers[server], byTool)
	}
	return servers
}

func byTool(a, b Entry) int { return strings.Compare(a.Tool, b.Tool) }
