package mcplock

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// top is the beginning of the file.
const top = `# The MCP tools whose texts have been read and approved; written by: spiced mcp pin
# A server with ` + "`pin: checksum`" + ` serves the tools below while their checksums match.
# Review a change of this file as you review code: models do what descriptions say.
`

// Write replaces the entries in a folder's file. It replaces the file atomically, mode
// 0644; equal entries give equal bytes. Servers without tools are left out. Duplicate
// or invalid names, invalid checksums and exceeded limits are errors and leave the file
// unchanged.
func Write(dir string, servers map[string][]Entry) error {
	text, err := render(servers)
	if err == nil {
		err = disk.Write(filepath.Join(dir, Name), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the approved MCP tools: %w", err)
	}
	return nil
}

// render returns the text of the file.
func render(servers map[string][]Entry) ([]byte, error) {
	b := bytes.NewBufferString(top)
	entries := 0
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		tools := slices.SortedFunc(slices.Values(servers[server]), byTool)
		if len(tools) == 0 {
			continue
		}
		if entries += len(tools); entries > MaxEntries {
			return nil, fmt.Errorf("there are more tools than the limit of %d", MaxEntries)
		}
		if err := check(server, tools); err != nil {
			return nil, err
		}
		fmt.Fprintf(b, "\n%s:\n", key(server))
		for _, entry := range tools {
			fmt.Fprintf(b, "  %s: %q%s\n", key(entry.Tool), entry.Checksum, comment(entry.Description))
		}
	}
	if b.Len() > MaxBytes {
		return nil, fmt.Errorf("the file would have %d bytes; the limit is %d", b.Len(), MaxBytes)
	}
	return b.Bytes(), nil
}

// check rejects what [Open] would reject.
func check(server string, tools []Entry) error {
	if err := checkName(server); err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	for i, entry := range tools {
		err := checkName(entry.Tool)
		switch {
		case err != nil:
		case !isChecksum(entry.Checksum):
			err = fmt.Errorf("the checksum of tool %q must be 16 to 64 hex digits, got %q",
				truncate.Runes(entry.Tool, maxExcerpt), truncate.Runes(entry.Checksum, maxExcerpt))
		case i > 0 && tools[i-1].Tool == entry.Tool:
			err = fmt.Errorf("tool %q is listed twice", truncate.Runes(entry.Tool, maxExcerpt))
		}
		if err != nil {
			return fmt.Errorf("server %q: %w", truncate.Runes(server, maxExcerpt), err)
		}
	}
	return nil
}

// words are values that YAML 1.1 does not parse as text.
var words = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

// key returns a name as YAML, quoted if necessary. All of Go's escapes are valid in
// YAML (YAML 1.2, 5.7).
func key(name string) string {
	if isBare(name) && !slices.Contains(words, strings.ToLower(name)) {
		return name
	}
	return strconv.Quote(name)
}

// comment returns the first line of a description, shortened. Unprintable characters
// are escaped.
func comment(description string) string {
	text := firstLine(description)
	if text == "" {
		return ""
	}
	return " # " + text
}

func firstLine(description string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(description), "\n")
	var b strings.Builder
	shown := 0
	for _, r := range strings.TrimSpace(line) {
		piece := string(r)
		if !unicode.IsPrint(r) {
			quoted := strconv.QuoteRune(r)
			piece = quoted[1 : len(quoted)-1]
		}
		if shown += len([]rune(piece)); shown >= maxComment {
			more = line
			break
		}
		b.WriteString(piece)
	}
	text := strings.TrimSpace(b.String())
	if more != "" && text != "" {
		return text + "…"
	}
	return text
}
