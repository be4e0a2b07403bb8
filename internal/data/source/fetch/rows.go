package fetch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// RowsExtension is that of files of [Rows].
const RowsExtension = ".ndjson"

// Limits of a row. DuckDB's read_json has the latter.
const (
	maxDepth = 64
	maxRow   = 16 << 20 // bytes
)

// Rows is a file of rows of JSON, one on each line, that is written.
type Rows struct {
	Count int64

	file  *os.File
	out   *bufio.Writer
	line  bytes.Buffer
	size  int64
	limit int64     // bytes
	step  io.Writer // counts bytes
}

// Rows creates a file of rows of a key, of at most limit bytes. What is written is also
// written to step, which reports progress. The caller calls Discard.
func (c *Cache) Rows(key string, limit int64, step io.Writer) (*Rows, error) {
	file, err := c.Create(key, RowsExtension)
	if err != nil {
		return nil, err
	}
	return &Rows{file: file, out: bufio.NewWriterSize(file, 1<<16), limit: limit, step: step}, nil
}

// Add writes a row, which is valid JSON.
func (r *Rows) Add(row json.RawMessage) error {
	if deeperThan(row, maxDepth) {
		return Errorf("", "", "row %d is nested deeper than %d levels", r.Count+1, maxDepth)
	}
	r.line.Reset()
	if err := json.Compact(&r.line, row); err != nil {
		return Errorf("", "", "row %d is not JSON", r.Count+1)
	}
	if r.line.Len() > maxRow {
		return TooLarge(fmt.Sprintf("row %d", r.Count+1), maxRow)
	}
	r.line.WriteByte('\n')
	r.Count++
	if r.size += int64(r.line.Len()); r.size > r.limit {
		return TooLarge("the data", r.limit)
	}
	_, _ = r.step.Write(r.line.Bytes())
	_, err := r.out.Write(r.line.Bytes())
	return err
}

// Entry ends the file, and returns its entry.
func (r *Rows) Entry(now time.Time) (*Entry, error) {
	if err := r.out.Flush(); err != nil {
		return nil, err
	}
	file := r.file
	r.file = nil
	if err := file.Close(); err != nil {
		os.Remove(file.Name())
		return nil, err
	}
	return &Entry{File: filepath.Base(file.Name()), Size: r.size, Fetched: now.UTC()}, nil
}

// Discard removes the file, unless it has an entry.
func (r *Rows) Discard() {
	if r.file != nil {
		r.file.Close()
		os.Remove(r.file.Name())
	}
}

// deeperThan reports whether valid JSON has more levels of arrays and objects.
func deeperThan(text []byte, levels int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > levels {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
