package repl

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// maxRemembered bounds one entry of the history; longer ones came from a file.
const maxRemembered = 4000

// history is what was typed, oldest first, in memory and in a file that only
// its owner may read. Each entry is appended at once, so that sessions side by
// side keep theirs; openHistory cuts the file down when it has grown.
type history struct {
	path    string // "" for none
	mu      sync.Mutex
	entries []string
}

// openHistory reads the file. One that cannot be read is an empty history.
func openHistory(path string) *history {
	h := &history{path: path}
	if path == "" {
		return h
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	_ = os.Chmod(path, 0o600) // best effort: it may belong to somebody else
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

// rewrite replaces the file by the entries in memory. A history that cannot be
// written is kept in memory only.
func (h *history) rewrite() {
	file, err := os.CreateTemp(filepath.Dir(h.path), filepath.Base(h.path)+".*") // mode 0600
	if err != nil {
		return
	}
	_, err = file.WriteString(strings.Join(h.entries, "\n") + "\n")
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), h.path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
}

// add appends an entry and returns it as one line; "" when it is not kept: it
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

// flatten makes one line of a statement without changing what it does: line
// breaks between tokens become blanks and comments go. A statement with a line
// break inside a literal cannot be one line and yields "".
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
