package mcplock

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// SyntaxError is an error in the file.
type SyntaxError struct {
	Path    string
	Line    int // from 1
	Message string
}

// Error returns path:line: message.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message) }

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hex     = "0123456789abcdef"
)

// conflict matches a conflict marker of git.
var conflict = regexp.MustCompile(`^(<{7}|={7}|>{7}|\|{7})( |$)`)

func isChecksum(text string) bool {
	return len(text) >= minChecksum && len(text) <= maxChecksum && strings.Trim(text, hex) == ""
}

// isBare reports whether a name is a letter followed by letters, digits, _, . and -,
// which YAML parses as text or as one of the words in [words].
func isBare(name string) bool {
	rest := strings.TrimLeft(name, letters)
	return rest != name && strings.Trim(rest, letters+"0123456789_.-") == ""
}

// parse parses the format of [Write], a subset of YAML in which each line can be parsed
// on its own.
func parse(path, text string) (*File, error) {
	p := parser{servers: map[string]map[string]Entry{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if err := p.line(strings.TrimRight(line, " \t\r\n")); err != nil {
			return nil, &SyntaxError{path, number, err.Error()}
		}
	}
	return &File{p.servers}, nil
}

type parser struct {
	servers map[string]map[string]Entry
	server  string
	tools   map[string]Entry // of the server; nil before the first one
	entries int
}

func (p *parser) line(text string) error {
	body := strings.TrimLeft(text, " ")
	switch {
	case body == "" || body[0] == '#':
		return nil
	case conflict.MatchString(text):
		return fmt.Errorf("%q is a merge conflict; resolve it, or run spiced mcp pin", truncate.Runes(text, maxExcerpt))
	}
	name, rest, err := cutName(body)
	if err != nil {
		return err
	}
	if len(body) == len(text) {
		return p.begin(name, rest)
	}
	return p.add(name, rest)
}

// begin parses the line of a server: its name alone.
func (p *parser) begin(server, rest string) error {
	if value, _ := cutComment(rest); value != "" {
		return fmt.Errorf("server %q is followed by %q; list the tools below it, indented",
			truncate.Runes(server, maxExcerpt), truncate.Runes(value, maxExcerpt))
	}
	if _, ok := p.servers[server]; ok {
		return fmt.Errorf("server %q is listed twice", truncate.Runes(server, maxExcerpt))
	}
	p.server, p.tools = server, map[string]Entry{}
	p.servers[server] = p.tools
	return nil
}

// add parses the line of a tool: its name, its checksum and a comment.
func (p *parser) add(tool, rest string) error {
	value, comment := cutComment(rest)
	checksum, err := strconv.Unquote(value)
	switch {
	case err != nil || !isChecksum(checksum):
		return fmt.Errorf(`the checksum of tool %q must be 16 to 64 hex digits in quotes, such as "0123456789abcdef", got %q`,
			truncate.Runes(tool, maxExcerpt), truncate.Runes(value, maxExcerpt))
	case p.tools == nil:
		return fmt.Errorf("tool %q is not below a server", truncate.Runes(tool, maxExcerpt))
	case p.entries == MaxEntries:
		return fmt.Errorf("there are more tools than the limit of %d", MaxEntries)
	}
	if _, ok := p.tools[tool]; ok {
		return fmt.Errorf("server %q has tool %q twice", truncate.Runes(p.server, maxExcerpt),
			truncate.Runes(tool, maxExcerpt))
	}
	p.tools[tool] = Entry{tool, checksum, comment}
	p.entries++
	return nil
}

// cutName splits a line after a name and its colon.
func cutName(text string) (name, rest string, err error) {
	if text[0] == '"' {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return "", "", fmt.Errorf("the quotes of %q are not closed", truncate.Runes(text, maxExcerpt))
		}
		name, _ = strconv.Unquote(quoted) // QuotedPrefix has checked it
		rest = text[len(quoted):]
	} else {
		name, _, _ = strings.Cut(text, ":")
		rest = text[len(name):]
		if !isBare(name) {
			return "", "", fmt.Errorf("%q is neither a server nor a tool: a line must begin with a name and a colon",
				truncate.Runes(text, maxExcerpt))
		}
	}
	rest, ok := strings.CutPrefix(rest, ":")
	if !ok {
		return "", "", fmt.Errorf("there is no colon after %q", truncate.Runes(name, maxExcerpt))
	}
	return name, rest, checkName(name)
}

// cutComment splits a value from the comment after it.
func cutComment(text string) (value, comment string) {
	value, comment, _ = strings.Cut(text, " #")
	return strings.TrimSpace(value), strings.TrimSpace(comment)
}

// checkName rejects names that the file cannot hold.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a name is empty")
	case len(name) > MaxName:
		return fmt.Errorf("the name %q has %d bytes; the limit is %d", truncate.Runes(name, maxExcerpt), len(name), MaxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name %q is not valid UTF-8", truncate.Runes(name, maxExcerpt))
	}
	return nil
}
