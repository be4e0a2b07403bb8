package repl

import (
	"slices"
	"strings"
	"unicode"
)

// keywords are completed where names are.
var keywords = strings.Fields(`
	ALL AND AS ASC BETWEEN BY CASE CAST CROSS DESC DESCRIBE DISTINCT ELSE END
	EXCEPT EXISTS EXPLAIN FALSE FILTER FROM FULL GROUP HAVING ILIKE IN INNER
	INTERSECT IS JOIN LATERAL LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OUTER
	OVER PARTITION QUALIFY RIGHT SELECT TABLE THEN TRUE UNION USING VALUES WHEN
	WHERE WINDOW WITH`)

// builtins are common functions of DuckDB; the server's table of functions has
// the declared ones.
var builtins = strings.Fields(`
	abs any_value arg_max arg_min array_agg array_to_string avg ceil coalesce
	concat count date_diff date_part date_trunc epoch floor greatest least len
	length list_udfs lower max median min mode now nullif quantile_cont replace
	round row_number split_part stddev strftime string_agg strptime substr sum
	trim unnest upper year`)

// completer completes words at the cursor.
type completer struct {
	names func() *nameSet
}

// complete has the signature that liner requires: the text before the word at
// the cursor, its completions, and the text after it. pos counts runes.
func (c completer) complete(line string, pos int) (head string, words []string, tail string) {
	runes := []rune(line)
	pos = min(pos, len(runes))
	before, tail := string(runes[:pos]), string(runes[pos:])
	start := strings.LastIndexFunc(before, func(r rune) bool { return !isWord(r) }) + 1
	head, word := before[:start], before[start:]
	if isCommand(before) {
		head, word = splitCommand(before)
	}
	for _, candidate := range c.candidates(head, word) {
		if len(candidate) > 0 && hasPrefixFold(candidate, word) && !slices.Contains(words, candidate) {
			words = append(words, candidate)
		}
	}
	return head, words, tail
}

func isWord(r rune) bool {
	return r == '_' || r == '.' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// splitCommand splits a command line before its last word.
func splitCommand(before string) (head, word string) {
	start := strings.LastIndexAny(before, " \t") + 1
	return before[:start], before[start:]
}

// candidates are the possible words after head, best first.
func (c completer) candidates(head, word string) []string {
	trimmed := strings.TrimSpace(head)
	if isCommand(head + word) {
		return c.commandWords(trimmed)
	}
	names := c.names()
	if table, _, dotted := cutLast(word, "."); dotted {
		return append(columnsOf(names, table), names.tables...)
	}
	words := strings.Fields(trimmed)
	if len(words) > 0 && slices.Contains([]string{"from", "join", "describe", "into", "table"},
		strings.ToLower(words[len(words)-1])) {
		return append(slices.Clone(names.tables), calls(names.functions)...)
	}
	all := slices.Concat(everyColumn(names), calls(names.functions), names.tables, calls(builtins))
	return append(all, inCaseOf(word, keywords)...)
}

// commandWords are the arguments of a command, or the commands themselves.
func (c completer) commandWords(name string) []string {
	switch name {
	case "":
		return commandNames()
	case `\d`, ".schema", `\dt`, `\dv`, ".tables":
		return c.names().tables
	case `\df`, `\df+`, `\sf`, ".functions":
		return c.names().functions
	case `\o`, ".mode":
		return formats
	case `\timing`, ".timer", `\x`, `\pager`:
		return []string{"on", "off"}
	}
	return nil
}

// columnsOf are the columns of a table as table.column. For any other name,
// such as an alias, these are all columns.
func columnsOf(n *nameSet, table string) []string {
	_, short, _ := cutLast(table, ".")
	if short == "" {
		short = table
	}
	columns, known := n.columns[short]
	if !known {
		columns = everyColumn(n)
	}
	out := make([]string, 0, len(columns))
	for _, column := range columns {
		out = append(out, table+"."+column)
	}
	return out
}

func everyColumn(n *nameSet) []string {
	var all []string
	for _, columns := range n.columns {
		all = append(all, columns...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// calls appends the opening parenthesis to names of functions.
func calls(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		out = append(out, name+"(")
	}
	return out
}

// inCaseOf writes keywords in the user's case: lower case after a lower-case
// letter.
func inCaseOf(word string, keywords []string) []string {
	if word == "" || word != strings.ToLower(word) {
		return keywords
	}
	lower := make([]string, 0, len(keywords))
	for _, k := range keywords {
		lower = append(lower, strings.ToLower(k))
	}
	return lower
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// cutLast is strings.Cut around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
