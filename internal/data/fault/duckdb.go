package fault

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// MaxMessage is how many bytes of DuckDB's errors are shown.
const MaxMessage = 400

// Parts of DuckDB's errors about files, which are long.
var (
	csvLine    = regexp.MustCompile(`CSV Error on Line: (\d+)`)
	csvText    = regexp.MustCompile(`Original Line: ?(.*)`)
	csvCount   = regexp.MustCompile(`Expected Number of Columns: (\d+) Found: (\d+)`)
	csvFile    = regexp.MustCompile(`(?m)^\s*file = (.*)$`)
	csvConvert = regexp.MustCompile(`Error when converting column "(.*)"\. Could not convert string "(.*)" to '(.*)'`)
	csvSniff   = regexp.MustCompile(`Error when sniffing file "(.*)"`)
	pattern    = regexp.MustCompile(`No files found that match the pattern "(.*)"`)
)

// RaggedHint is the hint for rows with too few or too many columns.
const RaggedHint = "repair the file, or set params.null_padding: true to fill short rows, " +
	"or params.csv_delimiter, params.csv_quote and params.csv_escape to what the file uses"

// NotUTF8 returns a fault about text that is not UTF-8, if a row of it, or DuckDB's reason why
// it cannot be read, shows that; else nil. A NUL byte in a row is half of a character of UTF-16.
func NotUTF8(at, reason, row string) *Fault {
	encoding := "latin-1"
	switch {
	case strings.Contains(row, "\x00"):
		encoding = "utf-16"
	case !strings.Contains(reason, "not utf-8"):
		return nil
	}
	return New("from", "set params.encoding: "+encoding+", if that is its encoding, or convert the file to UTF-8",
		"%s: the file is not UTF-8", at)
}

// FromDuckDB returns an error of DuckDB about a source as a fault.
func FromDuckDB(err error) *Fault {
	f := known(err)
	if f != nil {
		return f
	}
	text, hint := err.Error(), ""
	var e *engine.Error
	if errors.As(err, &e) {
		text, hint = e.Message, e.Hint
	}
	switch {
	case csvLine.MatchString(text):
		return csvFault(text)
	case pattern.MatchString(text):
		return New("from", "", "no file matches %q", group(pattern, text, 1)).Retryable()
	case UnreadableCSV(err) != "":
		return New("from", "set params.csv_delimiter, params.csv_quote or params.csv_has_header to what the file uses",
			"file %q cannot be read as CSV with these params", UnreadableCSV(err))
	case e != nil && e.Class == "IO" && strings.Contains(text, "Could not set lock on file"): // a class has no kinds
		return New("from", "end the other process, or read a copy of the file", "%s", FirstLines(text)).Retryable()
	}
	f = New("from", hint, "%s", FirstLines(text))
	if e == nil || e.Code == errcode.Execution {
		f.WithPublic("the source cannot be read; DuckDB's error may contain rows that callers must not see")
	}
	return f
}

// UnreadableCSV returns the file that DuckDB cannot read as CSV, or "" if err is
// another error.
func UnreadableCSV(err error) string {
	var e *engine.Error
	if !errors.As(err, &e) {
		return ""
	}
	return group(csvSniff, e.Message, 1)
}

// csvFault returns the line of a CSV file that cannot be read, with the params
// that would help.
func csvFault(text string) *Fault {
	at := "line " + group(csvLine, text, 1)
	if file := group(csvFile, text, 1); file != "" {
		at = fmt.Sprintf("file %q, %s", file, at)
	}
	row := truncate.Ellipsis(group(csvText, text, 1), 80)
	if f := NotUTF8(at, text, row); f != nil {
		return f
	}
	if n := csvCount.FindStringSubmatch(text); n != nil {
		return New("from", RaggedHint, "%s: expected %s columns, found %s: %q", at, n[1], n[2], row).
			WithPublic(fmt.Sprintf("%s: expected %s columns, found %s", at, n[1], n[2]))
	}
	if c := csvConvert.FindStringSubmatch(text); c != nil {
		hint := fmt.Sprintf("declare a type that fits the column (columns: name %s, type utf8), or set "+
			"params.sample_size: -1 "+
			"or params.nullstr", c[1])
		return New("from", hint, "%s: column %q is read as %s, but the value is %q", at, c[1], c[3],
			truncate.Ellipsis(c[2], 80)).
			WithPublic(fmt.Sprintf("%s: column %q is read as %s, but a value is not", at, c[1], c[3]))
	}
	if long := len(group(csvText, text, 1)); long > longRow { // DuckDB's reason comes after the row, and may be cut off
		return New("from", "set params.csv_max_line_size to more bytes than the longest row has (2000000 without it), or "+
			"close the quote that makes one row of many lines",
			"%s: the row is too long, or cannot be read: %q", at, row).WithPublic(at +
			": the row is too long, or cannot be read")
	}
	reason := "the row cannot be read"
	for _, l := range strings.Split(text, "\n")[1:] {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "Original Line") {
			reason = l
			break
		}
	}
	return New("from", RaggedHint, "%s: %s: %q", at, truncate.Ellipsis(reason, MaxMessage), row).
		WithPublic(at + ": the row cannot be read")
}

// longRow is how many bytes of a row an error has at least if the row may be too long for DuckDB:
// a row that leaves no space for the reason.
const longRow = engine.MaxMessage / 2

func group(r *regexp.Regexp, text string, n int) string {
	if m := r.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[n])
	}
	return ""
}

// FirstLines returns the first lines of a long message as one line.
func FirstLines(text string) string {
	text, _, _ = strings.Cut(text, "\nPossible ")
	text, _, _ = strings.Cut(text, "\nCandidates:")
	lines := strings.Split(text, "\n")
	return truncate.Ellipsis(strings.Join(lines[:min(len(lines), 3)], " "), MaxMessage)
}

// SelectMessage returns DuckDB's message about a text that must be one SELECT.
func SelectMessage(message string) string {
	if strings.Contains(message, "serialized to json") {
		return "the text is not one SELECT statement"
	}
	return message
}
