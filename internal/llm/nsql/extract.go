package nsql

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Candidates returns the parts of a model's answer that may be its statement,
// the likeliest first, at most [MaxCandidates]. Which of them is SQL only a
// parser can tell.
//
// It is the last code block that is marked as SQL; without one, they are the
// other code blocks, the last one first; without blocks, the whole answer, and
// what begins with the first line like SELECT …, to the end of the answer, to
// an empty line before prose, or to a semicolon. A statement that is broken is
// not cut down to a part that happens to be whole. What stands before </think>
// is left out.
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

// add adds statements without what surrounds them.
func (c *candidates) add(statements ...string) {
	for _, s := range statements {
		s = strings.TrimSpace(s)
		s = strings.TrimRightFunc(s, func(r rune) bool { return r == ';' || unicode.IsSpace(r) })
		if s != "" && len(*c) < MaxCandidates && !slices.Contains(*c, s) {
			*c = append(*c, s)
		}
	}
}

// blocks returns the code blocks of Markdown in text, those marked as SQL and
// others, the last first. One that is not closed goes to the end.
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

// fence returns the backticks that a line begins with, at least three, and
// what follows them.
func fence(line string) (mark, info string) {
	line = strings.TrimSpace(line)
	info = strings.TrimLeft(line, "`")
	mark = line[:len(line)-len(info)]
	if len(mark) < 3 || strings.Contains(info, "`") {
		return "", ""
	}
	return mark, strings.TrimSpace(info)
}

// firstLine is where the first line begins that a statement may begin with, or
// the end of text. A line that ends as a sentence is none.
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

// lastOf is the last byte of a line that is no space.
func lastOf(line string) string {
	line = strings.TrimSpace(line)
	return line[max(0, len(line)-1):]
}

// beginsSelect reports whether a line begins as a statement may.
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

// ends are the beginnings of text that may be a whole statement, the longest
// first.
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

// isProse reports whether text begins as a sentence does: with a capital letter
// that no other capital follows.
func isProse(text string) bool {
	first, n := utf8.DecodeRuneInString(text)
	second, _ := utf8.DecodeRuneInString(text[n:])
	return unicode.IsUpper(first) && !unicode.IsUpper(second)
}
