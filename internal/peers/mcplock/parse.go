package mcplock

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// SyntaxError is damage to the file.
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

// conflict is a line that git leaves where a merge has two sides.
var conflict = regexp.MustCompile(`^(<{7}|={7}|>{7}|\|{7})( |$)`)

func isChecksum(text string) bool {
	return len(text) >= minChecksum && len(text) <= maxChecksum && strings.Trim(text, hex) == ""
}

// isBare reports whether a name is a letter and then letters, digits, _, . and
// -, which in YAML can be nothing but text or one of its words.
func isBare(name string) bool {
	rest := strings.TrimLeft(name, letters)
	return rest != name && strings.Trim(rest, letters+"0123456789_.-") == ""
}

// parse reads the form that [Write] has: of YAML, the part where each line
// says by itself what it is.
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
	tools   map[string]Entry // of the server; nil before the first
	entries int
}

func (p *parser) line(text string) error {
	body := strings.TrimLeft(text, " ")
	switch {
	case body == "" || body[0] == '#':
		return nil
	case conflict.MatchString(text):
		return fmt.Errorf("%q is a merge conflict; keep one side, or run spiced mcp pin", truncate.Runes(text, maxExcerpt))
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

// begin takes the line of a server: its name alone.
func (p *parser) begin(server, rest string) error {
	if value, _ := cutComment(rest); value != "" {
		return fmt.Errorf("server %q is followed by %q; its tools stand below it, indented", truncate.Runes(server, maxExcerpt), truncate.Runes(value, maxExcerpt))
	}
	if _, ok := p.servers[server]; ok {
		return fmt.Errorf("server %q is there twice", truncate.Runes(server, maxExcerpt))
	}
	p.server, p.tools = server, map[string]Entry{}
	p.servers[server] = p.tools
	return nil
}

// add takes the line of a tool: its name, its checksum and a comment.
func (p *parser) add(tool, rest string) error {
	value, comment := cutComment(rest)
	checksum, err := strconv.Unquote(value)
	switch {
	case err != nil || !isChecksum(checksum):
		return fmt.Errorf(`the checksum of tool %q is %q; 16 to 64 hex digits in quotes are needed, such as "0123456789abcdef"`, truncate.Runes(tool, maxExcerpt), truncate.Runes(value, maxExcerpt))
	case p.tools == nil:
		return fmt.Errorf("tool %q stands below no server", truncate.Runes(tool, maxExcerpt))
	case p.entries == MaxEntries:
		return fmt.Errorf("there are more than %d tools, which is the limit", MaxEntries)
	}
	if _, ok := p.tools[tool]; ok {
		return fmt.Errorf("server %q has tool %q twice", truncate.Runes(p.server, maxExcerpt), truncate.Runes(tool, maxExcerpt))
	}
	p.tools[tool] = Entry{tool, checksum, comment}
	p.entries++
	return nil
}

// cutName takes a name and the colon off a line.
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
			return "", "", fmt.Errorf("%q is neither a server nor a tool: a name and a colon are needed", truncate.Runes(text, maxExcerpt))
		}
	}
	rest, ok := strings.CutPrefix(rest, ":")
	if !ok {
		return "", "", fmt.Errorf("there is no colon after %q", truncate.Runes(name, maxExcerpt))
	}
	return name, rest, checkName(name)
}

// cutComment parts a value from the comment behind it.
func cutComment(text string) (value, comment string) {
	value, comment, _ = strings.Cut(text, " #")
	return strings.TrimSpace(value), strings.TrimSpace(comment)
}

// checkName refuses names that the file cannot hold.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a name is empty")
	case len(name) > MaxName:
		return fmt.Errorf("the name %q has %d bytes; the limit is %d", truncate.Runes(name, maxExcerpt), len(name), MaxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name %q is no valid UTF-8", truncate.Runes(name, maxExcerpt))
	}
	return nil
}
