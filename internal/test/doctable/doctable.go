// Package doctable reads tables of the documentation, so that tests compare them with
// the code.
//
//	rows := doctable.Read(t, "../../docs/errors.md", "Code")
//	if rows["timeout"]["HTTP"] != "504" { … }
package doctable

import (
	"os"
	"strings"
	"testing"
)

// Read returns the rows of the tables in a Markdown file whose first column has this
// title: by the text of the first column, then by the titles of the others. Quotes
// around code are left out.
func Read(t testing.TB, path, first string) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]map[string]string{}
	var titles []string
	for line := range strings.Lines(string(text)) {
		cells := cellsOf(line)
		switch {
		case cells == nil:
			titles = nil
		case cells[0] == first:
			titles = cells
		case titles != nil && !strings.HasPrefix(cells[0], "--"):
			row := map[string]string{}
			for i, cell := range cells {
				row[titles[i]] = cell
			}
			if rows[cells[0]] != nil {
				t.Errorf("%s has two rows %s", path, cells[0])
			}
			rows[cells[0]] = row
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table with the column %s", path, first)
	}
	return rows
}

// cellsOf are the cells of a line of a table, or nil.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
	}
	return cells
}
