package documents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Limits of tables.
const (
	maxColumns  = 500
	maxRows     = 200_000
	maxCells    = 2_000_000
	headerRows  = 20 // that are looked at for the names of the columns
	maxCellText = 32 << 10
)

// table is a sheet, or a file of CSV. Values are string, bool, int64, float64, or nil.
type table struct {
	name  string
	rows  [][]any
	cells int
	full  bool // the rest is left out
	wide  bool // columns are left out
}

func newTable(name string) *table { return &table{name: name} }

// add adds a row; empty ones are left out.
func (t *table) add(row []any) {
	for len(row) > 0 && row[len(row)-1] == nil {
		row = row[:len(row)-1]
	}
	if len(row) == 0 || t.full {
		return
	}
	if len(row) > maxColumns {
		row, t.wide = row[:maxColumns], true
	}
	t.rows = append(t.rows, row)
	t.cells += len(row)
	t.full = len(t.rows) >= maxRows || t.cells >= maxCells
}

// prune removes columns without any value: those that are margins, or are merged into others.
func (t *table) prune() {
	var used []bool
	for _, row := range t.rows {
		for c, v := range row {
			if c == len(used) {
				used = append(used, false)
			}
			used[c] = used[c] || v != nil
		}
	}
	if !slices.Contains(used, false) {
		return
	}
	for i, row := range t.rows {
		kept := row[:0]
		for c, v := range row {
			if used[c] {
				kept = append(kept, v)
			}
		}
		t.rows[i] = kept
	}
}

// header returns the index of the row with the names of the columns: the first that fills at
// least half of the columns, since titles and notes above a table fill fewer.
func (t *table) header() (at, width int) {
	for _, row := range t.rows {
		width = max(width, len(row))
	}
	widest := 0
	for _, row := range t.rows[:min(len(t.rows), headerRows)] {
		widest = max(widest, len(row))
	}
	for i, row := range t.rows[:min(len(t.rows), headerRows)] {
		if 2*filled(row) >= widest {
			return i, width
		}
	}
	return 0, width
}

func filled(row []any) (n int) {
	for _, v := range row {
		if v != nil {
			n++
		}
	}
	return n
}

// names are those of the columns: no two are equal, none is empty.
func (t *table) names(at, width int) []string {
	names, taken := make([]string, width), map[string]bool{}
	for i := range names {
		name := ""
		if i < len(t.rows[at]) {
			name = strings.Join(strings.Fields(cellText(t.rows[at][i])), " ")
		}
		if name == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		unique := name
		for n := 2; taken[strings.ToLower(unique)]; n++ {
			unique = fmt.Sprintf("%s_%d", name, n)
		}
		taken[strings.ToLower(unique)] = true
		names[i] = unique
	}
	return names
}

// plainNumber is a number as JSON writes it: not 007, +1, 1,000 or 1e5.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$`)

// infer makes numbers of the texts of columns in which all texts below the header are numbers.
func (t *table) infer() {
	if len(t.rows) == 0 {
		return
	}
	at, width := t.header()
	for c := range width {
		numbers := false
		for _, row := range t.rows[at+1:] {
			if c >= len(row) || row[c] == nil {
				continue
			}
			text, ok := row[c].(string)
			if numbers = ok && plainNumber.MatchString(text); !numbers {
				break
			}
		}
		for _, row := range t.rows[at+1:] {
			if numbers && c < len(row) && row[c] != nil {
				row[c] = number(row[c].(string))
			}
		}
	}
}

// number returns the number that a text is, with as few digits as it needs, or nil.
func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

func cellText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// tables sets the rows of tables as JSON: a list of objects for one table, else an object of
// such lists by the names of the tables.
func (r *reader) tables(all []*table) error {
	var out bytes.Buffer
	if len(all) != 1 {
		out.WriteByte('{')
	}
	for i, t := range all {
		if len(all) != 1 {
			if i > 0 {
				out.WriteByte(',')
			}
			name, err := json.Marshal(t.name)
			if err != nil {
				return err
			}
			out.Write(name)
			out.WriteByte(':')
		}
		if t.wide {
			r.Metadata.Truncated = true
			r.note("%s has more than %d columns; the others are left out", strings.TrimSpace("the table "+t.name), maxColumns)
		}
		wrote, err := t.write(&out)
		if err != nil {
			return err
		}
		if rest := len(t.rows) - wrote; t.full || rest > 0 {
			r.Metadata.Truncated = true
			r.note("data has the first %d rows of %s: its limits are %d bytes, %d rows and %d cells", max(0, wrote-1),
				strings.TrimSpace("the table "+t.name), maxData, maxRows, maxCells)
		}
	}
	if len(all) != 1 {
		out.WriteByte('}')
	}
	r.Data = out.Bytes()
	return nil
}

// write writes the rows below the header, and returns how many of the rows it used.
func (t *table) write(out *bytes.Buffer) (used int, err error) {
	out.WriteByte('[')
	defer func() { out.WriteByte(']') }()
	if len(t.rows) == 0 {
		return 0, nil
	}
	at, width := t.header()
	keys := make([][]byte, 0, width)
	for _, name := range t.names(at, width) {
		key, err := json.Marshal(name)
		if err != nil {
			return 0, err
		}
		keys = append(keys, key)
	}
	for i, row := range t.rows[at+1:] {
		start := out.Len()
		if i > 0 {
			out.WriteByte(',')
		}
		for c, key := range keys {
			out.WriteByte("{,"[min(c, 1)])
			out.Write(key)
			out.WriteByte(':')
			var value any
			if c < len(row) {
				value = row[c]
			}
			text, err := json.Marshal(value)
			if err != nil {
				return 0, err
			}
			out.Write(text)
		}
		out.WriteByte('}')
		if out.Len() > maxData {
			out.Truncate(start)
			return at + 1 + i, nil
		}
	}
	return len(t.rows), nil
}

// markdown writes the table, with what is above its header as text.
func (t *table) markdown(out *strings.Builder, limit int) {
	if len(t.rows) == 0 {
		return
	}
	at, width := t.header()
	for _, row := range t.rows[:at] {
		var parts []string
		for _, v := range row {
			if v != nil {
				parts = append(parts, cellText(v))
			}
		}
		out.WriteString(strings.Join(parts, " ") + "\n\n")
	}
	markdownRow(out, t.rows[at], width)
	out.WriteString("|" + strings.Repeat(" --- |", width) + "\n")
	for _, row := range t.rows[at+1:] {
		if out.Len() > limit {
			return
		}
		markdownRow(out, row, width)
	}
}

var cellEscapes = strings.NewReplacer("|", `\|`, "\n", "<br>", "\r", "")

func markdownRow(out *strings.Builder, row []any, width int) {
	out.WriteByte('|')
	for c := range width {
		out.WriteByte(' ')
		if c < len(row) {
			out.WriteString(cellEscapes.Replace(cellText(row[c])))
		}
		out.WriteString(" |")
	}
	out.WriteByte('\n')
}
