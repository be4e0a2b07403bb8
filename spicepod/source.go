package spicepod

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

// source is a file: its text and where its lines begin.
type source struct {
	path  string // absolute
	shown string // as shown to users
	text  string // without a byte order mark

	// lines has the offset of each line as an editor counts them.
	lines []int
	// yamlLines has the offset of each line as the YAML parser counts them:
	// it also breaks at NEL, LS and PS. It equals lines without such breaks.
	yamlLines []int
	// ascii reports whether all characters are ASCII.
	ascii bool
}

func newSource(path, shown, text string) *source {
	s := &source{path: path, shown: shown, text: text, ascii: true}
	for i := 0; i < len(text) && s.ascii; i++ {
		s.ascii = text[i] < utf8.RuneSelf
	}
	s.lines = lineStarts(text, false)
	s.yamlLines = s.lines
	if strings.ContainsAny(text, "\u0085\u2028\u2029") {
		s.yamlLines = lineStarts(text, true)
	}
	return s
}

// lineStarts returns the offset of every line of text.
func lineStarts(text string, yamlBreaks bool) []int {
	starts := append(make([]int, 0, len(text)/24+1), 0)
	for i := 0; i < len(text); {
		n := breakLen(text, i)
		if n == 0 || (!yamlBreaks && text[i] >= utf8.RuneSelf) {
			i++
			continue
		}
		i += n
		starts = append(starts, i)
	}
	return starts
}

// breakLen is the length of the YAML line break at text[i], or 0.
func breakLen(text string, i int) int {
	switch text[i] {
	case '\n':
		return 1
	case '\r':
		if i+1 < len(text) && text[i+1] == '\n' {
			return 2
		}
		return 1
	case 0xC2:
		if strings.HasPrefix(text[i:], "\u0085") {
			return 2
		}
	case 0xE2:
		if strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029") {
			return 3
		}
	}
	return 0
}

// offset is the byte at a line and column as the YAML parser reports them.
func (s *source) offset(line, column int) int {
	if line < 1 || line > len(s.yamlLines) {
		return len(s.text)
	}
	at := s.yamlLines[line-1]
	if s.ascii {
		return min(at+max(column-1, 0), len(s.text))
	}
	for ; column > 1 && at < len(s.text); column-- {
		_, n := utf8.DecodeRuneInString(s.text[at:])
		at += n
	}
	return at
}

// position converts the offset of a byte.
func (s *source) position(offset int) Position {
	offset = max(0, min(offset, len(s.text)))
	line := sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset })
	start := s.lines[line-1]
	column := offset - start + 1
	if !s.ascii {
		column = utf8.RuneCountInString(s.text[start:offset]) + 1
	}
	return Position{File: s.shown, Line: line, Column: column}
}

// line is the text of line n without its break; a line that is too long to show is empty.
func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	end := len(s.text)
	if n < len(s.lines) {
		end = s.lines[n]
	}
	line := strings.TrimRight(s.text[s.lines[n-1]:end], "\r\n")
	if len(line) > maxSourceLine {
		return ""
	}
	return line
}

// problem is a Problem at a byte of the file, with its source line.
func (s *source) problem(offset int, path, message, hint string) Problem {
	pos := s.position(offset)
	return Problem{Position: pos, Path: path, Message: message, Hint: hint, Source: s.shownLine(path, pos.Line)}
}

// secretSetting matches a line that sets a secret other than by a reference: a setting whose
// name is that of a key, or a URL with a password.
var secretSetting = regexp.MustCompile(`(?i)(?:` + secretNames + `)["']?\s*:\s*[^\s#,}]|://[^/\s]*:[^/\s]+@`)

// secretNames are the ends of the names of settings that are keys, as an expression.
const secretNames = `pass|password|secret|token|bearer|headers|connection_string|sas_string|client_id|access_key_id|` +
	`(?:api|access|client|private|account|sas)[_-]key|certificate|\b(?:s3_|gcs_)?key|mcp_args`

var quotedReference = regexp.MustCompile(`["']?\$\{[^}]*\}["']?`)

// shownLine is line n of a problem at path, or "" if the line may contain keys.
func (s *source) shownLine(path string, n int) string {
	for _, secret := range []string{"runtime.auth", "runtime.tls"} {
		if path == secret || strings.HasPrefix(path, secret+".") {
			return ""
		}
	}
	line := s.line(n)
	if secretSetting.MatchString(quotedReference.ReplaceAllString(line, "")) {
		return ""
	}
	return line
}

// errTooLarge is a file beyond its limit.
var errTooLarge = errors.New("too large")

// readRegular reads a regular file of at most limit bytes.
func readRegular(path string, limit int64) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", errors.New("it is a folder")
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	if info.Size() > limit {
		return "", fmt.Errorf("%w: %s, at most %s", errTooLarge, Size(info.Size()), Size(limit))
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > limit {
		return "", fmt.Errorf("%w: at most %s", errTooLarge, Size(limit))
	}
	return string(data), nil
}

// reason is the text of an I/O error without the path, which the message already has.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

// shownPath is path relative to dir if it is below dir.
func shownPath(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}

// cleanText removes a byte order mark and finds the first character that is invalid in a
// text file. at is -1 if all are valid.
func cleanText(raw string) (text string, at int, fault string) {
	if strings.HasPrefix(raw, "\xFF\xFE") || strings.HasPrefix(raw, "\xFE\xFF") {
		return "", 0, "the file is UTF-16; save it as UTF-8"
	}
	text = strings.TrimPrefix(raw, "\uFEFF")
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c < 0x20 && c != '\t' && c != '\n' && c != '\r' || c == 0x7F {
				return text, i, fmt.Sprintf("the file contains the control character U+%04X; remove it", c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return text, i, fmt.Sprintf("the file is not UTF-8 (byte 0x%02X); save it as UTF-8", text[i])
		case r < 0xA0 && r != 0x85, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
			return text, i, fmt.Sprintf("the file contains the character U+%04X; remove it", r)
		}
		i += n
	}
	return text, -1, ""
}
