package datasets

import (
	"fmt"
	"strings"
	"testing"
)

// TestEncodingsAndDelimitersAreDiagnosed follows the hints for CSV files that are not UTF-8, or
// whose rows do not fit their delimiter: they name params with which every row is read, and
// never one that leaves rows out.
func TestEncodingsAndDelimitersAreDiagnosed(t *testing.T) {
	utf16 := func(text string) string {
		var b strings.Builder
		for _, r := range text {
			b.WriteString(string([]byte{byte(r), byte(r >> 8)}))
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, message, hint, params, sql, want string }{
		"latin-1": {
			"id,name\n1,Caf\xe9\n2,b\n", "line 2: the file is not UTF-8", "params.encoding: latin-1", "encoding: latin-1", "SELECT name FROM d",
			"Café, b",
		},
		"latin-1, late": {
			"id,name\n" + strings.Repeat("1,a\n", 30000) + "2,\xe9\n", "the file is not UTF-8", "params.encoding: latin-1", "encoding: latin-1",
			"SELECT count(*)::VARCHAR FROM d", "30001",
		},
		"utf-16": {
			utf16("id,name\n1,Café\n2,b\n"), "the file is not UTF-8", "params.encoding: utf-16", "encoding: utf-16", "SELECT name FROM d",
			"Café, b",
		},
		"utf-16 with its mark": {
			"\xff\xfe" + utf16("id,name\n1,Café\n2,b\n"), "the file is not UTF-8", "params.encoding: utf-16", "encoding: utf-16",
			"SELECT name FROM d", "Café, b",
		},
		"a short row": {
			"id;name\n1;\"a;x\"\n2;b\n3\n", `one column, "id;name"`, `params.csv_delimiter: ";"`, "csv_delimiter: ';', null_padding: true",
			"SELECT name FROM d", "a;x, b, NULL",
		},
		"a text with bars": {"a|b\n1\n", `one column, "a|b"`, `params.csv_delimiter: ","`, "csv_delimiter: ','", "SELECT \"a|b\"::VARCHAR FROM d", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.file("d.csv", c.text)
			problems := w.reload("datasets: [{name: d, from: 'file:d.csv', acceleration: {}}]\n")
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) ||
				strings.Contains(problems[0].Hint, "ignore_errors") {
				t.Errorf("got %s", messages(problems))
			}
			w.ok(fmt.Sprintf("datasets: [{name: d, from: 'file:d.csv', params: {%s}}]\n", c.params))
			w.want(c.sql, c.want)
		})
	}
}
