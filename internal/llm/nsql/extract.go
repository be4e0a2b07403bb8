package nsql

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Candidates returns the parts of a model's answer that may be its statement, most
// likely first, at most [MaxCandidates]. Only a parser can tell which of them is SQL.
//
// The candidate is the last code block marked as SQL. Without one, the candidates are
// the other code blocks, last first. Without blocks, they are the whole answer and the
// text from the first line that looks like SELECT …, up to the end of the answer, an
// empty line before prose, or a semicolon. An invalid statement is not cut down to a
// part that happens to be valid. Text before </think> is ignored.
func Candidates(text string) []string {
	if at := strings.LastIndex(text, "</think>"); at >= 0 {
		text = text[at+len("</think>"):]
	}
	var c candidates
	sql, others := blocks(text)
	switch {
	case len(sql) > 0:
		c.add(sql[0])
	case len(others) > 0:
		c.add(others...)
	default:
		c.add(text)
		c.add(ends(text[firstLine(text):])...)
	}
	return c
}

type candidates []string

// add appends trimmed statements.
func (c *candidates) add(statements ...string) {
	for _, s := range statements {
		s = strings.TrimSpace(s)
		s = strings.TrimRightFunc(s, func(r rune) bool { return r == ';' || unicode.IsSpace(r) })
		if s != "" && len(*c) < MaxCandidates && !slices.Contains(*c, s) {
			*c = append(*c, s)
		}
	}
}

// blocks returns the Markdown code blocks in text, those marked as SQL and others, last
// first. An unclosed block extends to the end.
func blocks(text string) (sql, others []string) {
	var open, language string
	began := 0
	add := func(block string) {
		if language == "sql" || language == "duckdb" {
			sql = append(sql, block)
		} else {
			others = append(others, block)
		}
	}
	at := 0
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		mark, info := fence(line)
		switch {
		case open == "" && mark != "":
			open, language, began = mark, strings.ToLower(info), at
		case open != "" && strings.HasPrefix(mark, open) && info == "":
			add(text[began:start])
			open = ""
		}
	}
	if open != "" {
		add(text[began:])
	}
	slices.Reverse(sql)
	slices.Reverse(others)
	return sql, others
}

// fence returns the backticks that a line begins with, at least three, and what follows
// them.
func fence(line string) (mark, info string) {
	line = strings.TrimSpace(line)
	info = strings.TrimLeft(line, "`")
	mark = line[:len(line)-len(info)]
	if len(mark) < 3 || strings.Contains(info, "`") {
		return "", ""
	}
	return mark, strings.TrimSpace(info)
}

// firstLine returns the offset of the first line that may begin a statement, or the end
// of text. A line that ends like a sentence does not.
func firstLine(text string) int {
	at := 0
	for line := range strings.Lines(text) {
		if beginsSelect(line) && !strings.ContainsAny(lastOf(line), ":.!?") {
			break
		}
		at += len(line)
	}
	return at
}

// lastOf returns the last byte of a line that is not white space.
func lastOf(line string) string {
	line = strings.TrimSpace(line)
	return line[max(0, len(line)-1):]
}

// beginsSelect reports whether a line may begin a statement.
func beginsSelect(line string) bool {
	words := strings.Fields(strings.TrimLeft(line, " \t("))
	if len(words) == 0 {
		return false
	}
	switch strings.ToUpper(words[0]) {
	case "SELECT", "WITH", "FROM", "VALUES":
		return true
	}
	return false
}

// ends returns the prefixes of text that may be a whole statement, longest first.
func ends(text string) []string {
	all := []string{text}
	for end := len(text); len(all) < MaxCandidates-1; {
		at := strings.LastIndex(text[:end], "\n\n")
		if at < 0 {
			break
		}
		if isProse(strings.TrimSpace(text[at:])) {
			all = append(all, text[:at])
		}
		end = at
	}
	if at := strings.IndexByte(text, ';'); at >= 0 {
		all = append(all, text[:at])
	}
	return all
}

// isProse reports whether text begins like a sentence: with a capital letter that is
// not followed by another one.
func isProse(text string) bool {
	first, n := utf8.DecodeRuneInString(text)
	second, _ := utf8.DecodeRuneInString(text[n:])
	return unicode.IsUpper(first) && !unicode.IsUpper(second)
}
