package repl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/kit/visible"
)

// Limits of a layout.
const (
	sampleRows = 1000 // rows that decide on the widths of columns
	maxWidth   = 200  // of a column without a terminal; a longer value makes its own row longer
	minFolded  = 8    // of a column that is folded
)

// cellsType is the media type of rows for a terminal.
const cellsType = "application/vnd.spiced.cells"

// column is a column of a result.
type column struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Numeric bool   `json:"numeric"`
}

// renderer lays out one result.
type renderer struct {
	out      io.Writer
	format   format
	expanded bool // one line for each value
	width    int  // of the terminal; 0: none

	columns []column
	widths  []int
	rows    int
	err     error // of out
}

// run reads a result in the form of cellsType and writes it.
func (r *renderer) run(body io.Reader) error {
	in := json.NewDecoder(body)
	if err := in.Decode(&r.columns); err != nil {
		return cutOff(err)
	}
	for i := range r.columns {
		r.columns[i].Name = visible.Escape(r.columns[i].Name)
	}
	if len(r.columns) == 2 && r.columns[0].Name == "explain_key" && r.columns[1].Name == "explain_value" {
		return r.each(in, r.plan)
	}
	sample, err := r.sample(in)
	if err != nil {
		return err
	}
	row := r.row
	r.expanded = r.expanded && r.format != markdown
	if !r.expanded && !r.layOut(sample) {
		r.expanded = true
	}
	if r.expanded {
		row = r.record
	} else {
		r.header()
	}
	for _, cells := range sample {
		row(cells)
	}
	if err := r.each(in, row); err != nil {
		return err
	}
	r.footer()
	return r.err
}

// plan writes a row of EXPLAIN.
func (r *renderer) plan(cells []*string) {
	if cells[1] == nil {
		return
	}
	for line := range strings.Lines(*cells[1]) {
		r.write(visible.Escape(strings.TrimRight(line, "\r\n")) + "\n")
	}
}

func cutOff(err error) error { return fmt.Errorf("the result was cut off: %w", err) }

// each calls f with the rows that are left.
func (r *renderer) each(in *json.Decoder, f func([]*string)) error {
	for r.err == nil {
		cells, err := r.next(in)
		if cells == nil {
			return err
		}
		f(cells)
	}
	return r.err
}

// sample reads the first rows.
func (r *renderer) sample(in *json.Decoder) (rows [][]*string, err error) {
	for len(rows) < sampleRows {
		cells, err := r.next(in)
		if cells == nil {
			return rows, err
		}
		rows = append(rows, cells)
	}
	return rows, nil
}

// next reads a row; nil after the last one.
func (r *renderer) next(in *json.Decoder) ([]*string, error) {
	var cells []*string
	if err := in.Decode(&cells); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, cutOff(err)
	}
	if len(cells) != len(r.columns) || len(cells) == 0 {
		return nil, cutOff(fmt.Errorf("a row of %s for %s", plural.Of(len(cells), "value"),
			plural.Of(len(r.columns), "column")))
	}
	return cells, nil
}

// layOut chooses the widths of the columns. It reports whether the columns fit into the
// terminal, some of them folded.
func (r *renderer) layOut(sample [][]*string) bool {
	r.widths = make([]int, len(r.columns))
	for i, c := range r.columns {
		r.widths[i] = min(runewidth.StringWidth(c.Name), maxWidth)
	}
	for _, cells := range sample {
		for i, cell := range cells {
			r.widths[i] = max(r.widths[i], min(runewidth.StringWidth(r.text(cell)), maxWidth))
		}
	}
	if r.width == 0 || r.format == markdown {
		return true
	}
	total := 1
	for _, w := range r.widths {
		total += w + 3
	}
	for ; total > r.width; total-- {
		widest := -1
		for i, w := range r.widths {
			if !r.columns[i].Numeric && w > minFolded && (widest < 0 || w > r.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		r.widths[widest]--
	}
	return true
}

// border writes a border of a table; a box has these corners.
func (r *renderer) border(left, middle, right string) {
	rule := "─"
	if r.format != box {
		rule, left, middle, right = "-", "+", "+", "+"
	}
	parts := make([]string, len(r.widths))
	for i, w := range r.widths {
		parts[i] = strings.Repeat(rule, w+2)
	}
	r.write(left + strings.Join(parts, middle) + right + "\n")
}

func (r *renderer) header() {
	names := make([]*string, len(r.columns))
	for i := range r.columns {
		names[i] = &r.columns[i].Name
	}
	if r.format == markdown {
		r.line(names, true)
		var b strings.Builder
		for i, c := range r.columns {
			end := "-"
			if c.Numeric {
				end = ":"
			}
			b.WriteString("|" + strings.Repeat("-", r.widths[i]+1) + end)
		}
		r.write(b.String() + "|\n")
		return
	}
	r.border("┌", "┬", "┐")
	r.line(names, true)
	r.border("├", "┼", "┤")
}

func (r *renderer) footer() {
	if r.format == markdown {
		return
	}
	if !r.expanded {
		r.border("└", "┴", "┘")
	}
	if r.rows == 1 {
		r.write("(1 row)\n")
		return
	}
	r.write(fmt.Sprintf("(%d rows)\n", r.rows))
}

// row writes a row of a table.
func (r *renderer) row(cells []*string) {
	r.rows++
	r.line(cells, false)
}

// line writes cells side by side, on as many lines as the longest of them takes.
func (r *renderer) line(cells []*string, header bool) {
	parts, height := make([][]string, len(cells)), 1
	for i, cell := range cells {
		text := r.text(cell)
		parts[i] = []string{text}
		if r.width > 0 && r.format != markdown {
			parts[i] = fold(text, r.widths[i])
		}
		height = max(height, len(parts[i]))
	}
	bar := "|"
	if r.format == box {
		bar = "│"
	}
	var b strings.Builder
	for n := range height {
		for i, part := range parts {
			text := ""
			if n < len(part) {
				text = part[n]
			}
			blank := strings.Repeat(" ", max(r.widths[i]-runewidth.StringWidth(text), 0))
			if r.columns[i].Numeric && !header {
				text = blank + text
			} else {
				text += blank
			}
			b.WriteString(bar + " " + text + " ")
		}
		b.WriteString(bar + "\n")
	}
	r.write(b.String())
}

// record writes a row with a line for each value.
func (r *renderer) record(cells []*string) {
	r.rows++
	width := 0
	for _, c := range r.columns {
		width = max(width, runewidth.StringWidth(c.Name))
	}
	var b strings.Builder
	title := fmt.Sprintf("-[ RECORD %d ]", r.rows)
	b.WriteString(title + strings.Repeat("-", max(width+3-len(title), 0)) + "\n")
	for i, c := range r.columns {
		b.WriteString(c.Name + strings.Repeat(" ", width-runewidth.StringWidth(c.Name)) + " | " + shown(cells[i]) + "\n")
	}
	r.write(b.String())
}

func (r *renderer) write(text string) {
	if r.err == nil {
		_, r.err = io.WriteString(r.out, text)
	}
}

// text is the text of a value in a cell.
func (r *renderer) text(cell *string) string {
	text := shown(cell)
	if r.format == markdown {
		text = strings.ReplaceAll(text, "|", `\|`)
	}
	return text
}

// shown is the text of a value in a table.
func shown(cell *string) string {
	if cell == nil {
		return "NULL"
	}
	return visible.Escape(*cell)
}

// fold cuts text into pieces of at most width cells.
func fold(text string, width int) []string {
	var pieces []string
	for runewidth.StringWidth(text) > width {
		head := runewidth.Truncate(text, width, "")
		if head == "" {
			break // a character that is wider than the column
		}
		if blank := strings.LastIndexByte(head, ' '); blank > len(head)/2 {
			head = head[:blank+1]
		}
		pieces = append(pieces, head)
		text = text[len(head):]
	}
	return append(pieces, text)
}
