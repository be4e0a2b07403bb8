package repl

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// maxRemembered is the maximum length of a history entry; longer ones came from
// a file.
const maxRemembered = 4000

// history is the history of entered text, oldest first, in memory and in a file
// that only its owner may read. Each entry is appended immediately, so that
// concurrent sessions keep theirs; openHistory truncates the file when it has
// grown.
type history struct {
	path    string // or ""
	mu      sync.Mutex
	entries []string
}

// openHistory reads the file. If that fails, the history is empty.
func openHistory(path string) *history {
	h := &history{path: path}
	if path == "" {
		return h
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	_ = os.Chmod(path, 0o600) // best effort: another user may own it
	for line := range bytes.Lines(raw) {
		if text := strings.TrimRight(string(line), "\r\n"); text != "" && len(text) <= maxRemembered {
			h.entries = append(h.entries, text)
		}
	}
	if n := len(h.entries); n > maxHistory {
		h.entries = slices.Clone(h.entries[n-maxHistory:])
		h.rewrite()
	}
	return h
}

// rewrite replaces the file with the entries in memory. If that fails, the
// history stays in memory.
func (h *history) rewrite() {
	_ = disk.Write(h.path, []byte(strings.Join(h.entries, "\n")+"\n"), 0o600)
}

// add appends an entry and returns it as one line; "" if it is not recorded: it
// starts with a blank, is too long, or repeats the last one.
func (h *history) add(text string) string {
	if text == "" || text[0] == ' ' || text[0] == '\t' {
		return ""
	}
	line := flatten(text)
	h.mu.Lock()
	defer h.mu.Unlock()
	if line == "" || len(line) > maxRemembered || len(h.entries) > 0 && h.entries[len(h.entries)-1] == line {
		return ""
	}
	h.entries = append(h.entries, line)
	h.append(line)
	return line
}

func (h *history) append(line string) {
	if h.path == "" {
		return
	}
	_ = os.MkdirAll(filepath.Dir(h.path), 0o700)
	file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	fmt.Fprintln(file, line)
}

// flatten joins the lines of a statement without changing its meaning: line
// breaks between tokens become blanks, and comments are removed. It returns ""
// if a literal contains a line break.
func flatten(text string) string {
	if !strings.ContainsAny(text, "\n\r") {
		return text
	}
	var b strings.Builder
	end := 0
	for _, t := range sqltree.Scan(text) {
		if gap := text[end:t.Start]; strings.ContainsAny(gap, "\n\r") || strings.Contains(gap, "--") {
			b.WriteByte(' ')
		} else {
			b.WriteString(gap)
		}
		b.WriteString(t.Text(text))
		end = t.End
	}
	line := strings.TrimSpace(b.String())
	if strings.ContainsAny(line, "\n\r") {
		return ""
	}
	return line
}
