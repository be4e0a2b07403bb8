package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

// TestFilesThatAreReadOtherwise refuses files that DuckDB reads as other rows than they have, or whose
// error would name another cause.
func TestFilesThatAreReadOtherwise(t *testing.T) {
	w := newWorld(t)
	w.exec("COPY (SELECT 1 AS a) TO '" + filepath.Join(w.dir, "whole.parquet") + "'")
	whole, err := os.ReadFile(filepath.Join(w.dir, "whole.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	deep := `[{"a":` + strings.Repeat("[", 100) + "1" + strings.Repeat("]", 100) + "}]"
	for _, c := range []struct{ file, text, want string }{
		{"bom.json", "\xef\xbb\xbf[{\"a\":1}]", "begins with a byte order mark (remove its first three bytes"},
		{"bom.ndjson", "\xef\xbb\xbf{\"a\":1}\n{\"a\":2}\n", "begins with a byte order mark"},
		{"empty.json", "", `empty.json" is empty (write an object to it`},
		{"deep.json", deep, `column "a" is nested 100 levels deep; the limit is 60 (set params.json_maximum_depth`},
		{"named.csv.gz", "a\n1\n", "is not compressed with gzip (remove .gz"},
		{"hidden.csv", "\x1f\x8b\x08\x00", "is compressed with gzip (add .gz to its name, or set params.compression"},
		{"hidden2.csv", string(whole), "is a Parquet file (set params.file_format: parquet)"},
		{"sheet.csv", "PK\x03\x04\x14\x00", "is a ZIP archive or a spreadsheet"},
		{"cut.parquet", string(whole[:len(whole)-8]), "the end of the Parquet file"},
		{"text.parquet", "a,b\n1,2\n", "is not a Parquet file"},
		{"cr.csv", "a,b\r\n1,x\ry\r\n2,y\r\n", "has a CR without LF in a line (quote the values that contain it, or convert the line ends)"},
		{"ends.csv", "a,b\r\n1,x\n2,y\r\n3,z\n", "end with CR LF, and some with LF (convert it to one kind of line ends, or set params.strict_mode: false)"},
		{"title.csv", "Report of 2024\n\nname,amount\na,1\nb,2\n", "line 3: expected 1 columns, found 2: \"name,amount\" (set params.csv_skip: 2 if"},
	} {
		w.file(c.file, c.text)
		problems := w.m.Prepare(t.Context(), Request{Pod: w.load("datasets: [{name: t, from: 'file:" + c.file + "'}]\n")}).Problems
		if len(problems) != 1 || !problems.HasErrors() || !strings.Contains(problems[0].Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.file, problems, c.want)
		}
	}
	// The remedies work.
	for _, c := range []struct{ dataset, rows string }{
		{"file:ends.csv', params: {strict_mode: false}", "1,x;2,y;3,z"},
		{"file:title.csv', params: {csv_skip: 2}", "a,1;b,2"},
		{"file:hidden2.csv', params: {file_format: parquet}", "1"},
	} {
		w.ok("datasets: [{name: t, from: '" + c.dataset + "}]\n")
		w.want("SELECT * FROM t", strings.NewReplacer(",", "|", ";", ", ").Replace(c.rows))
	}
}

// TestWideDecimals reads a Parquet file with a decimal(50, 2), which DuckDB does not write: of
// its values 1.00 and -1.00, DuckDB 1.5.5 reads 16777216.0 and -16609443.85.
func TestWideDecimals(t *testing.T) {
	w := newWorld(t)
	text, err := os.ReadFile(filepath.Join("testdata", "decimal50.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	w.file("wide.parquet", string(text))
	problems := w.m.Prepare(t.Context(), Request{Pod: w.load("datasets: [{name: t, from: 'file:wide.parquet'}]\n")}).Problems
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "column d is decimal(50, 2), and DuckDB reads at most 38 digits") {
		t.Errorf("got %v", problems)
	}
}

// TestRemarks has files that are read otherwise than their authors mean, each with what is
// remarked, and the same rows with the remedy. It also has ordinary files, without remarks.
func TestRemarks(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ file, text, want, remedy, rows string }{
		{"header.csv", "a,b\n", "has no rows", "columns: [{name: a, type: int64}, {name: b, type: utf8}]", ""},
		{"none.json", "[]", "has no rows", "", ""},
		{"na.csv", "x\n1\nNA\n2.5\n", `column "x" of file`, "params: {csv_null_value: ['', NA]}", "1.0;NULL;2.5"},
		{"null.csv", "x,y\nnull,1\n3,2\n\n4,NULL\n", "the text null", "", ""},
		{"comma.csv", "n;p\na;1,5\nb;1.002,25\n", "numbers with a decimal comma", `params: {csv_decimal_separator: ",", csv_thousands: "."}`, "a,1.5;b,1002.25"},
		{"thousands.csv", "n,p\na,\"1,500\"\nb,12\n", "numbers with thousands separators", `params: {csv_thousands: ","}`, "a,1500;b,12"},
		{
			"digits.csv", "id,v\n12345678901234567891,1\n5,2\n", "whole numbers beyond 64 bits", "columns: [{name: id, type: 'decimal(38,0)'}]",
			"12345678901234567891,1;5,2",
		},
		{
			"digits.ndjson", "{\"id\":99999999999999999999999,\"b\":true}\n{\"id\":5,\"b\":false}\n", "whole numbers beyond 64 bits",
			"columns: [{name: id, type: utf8}]", "99999999999999999999999,true;5,false",
		},
		{
			"dates.csv", "d\n01/02/2024\n03/04/2024\n", "are read with the day first (set params.csv_date_format: \"%d/%m/%Y\", or to \"%m/%d/%Y\" if",
			`params: {csv_date_format: "%m/%d/%Y"}`, "2024-01-02;2024-03-04",
		},
		{"numbers.csv", "1,2\n3,4\n5,6\n", "the names of all columns of file", "params: {csv_has_header: false}", "1,2;3,4;5,6"},
		{"json.csv", `[{"a":1},{"a":2}]` + "\n[1,2]\n", "begins like JSON", "", ""},

		{"zip.csv", "zip,n\n00123,1\n94567,NA \n", "", "", "00123,1;94567,NA "},
		{"day.csv", "d\n01/02/2024\n23/04/2024\n", "", "", "2024-02-01;2024-04-23"},
		{"iso.csv", "d,t\n2024-01-02,2024-01-02 10:00:00\n", "", "", "2024-01-02,2024-01-02 10:00:00"},
		{"words.csv", "grade,note\nA,-\nB,1\nC,x\n", "", "", "A,-;B,1;C,x"},
		{"years.csv", "name,2019,2020\na,1,2\n", "", "", "a,1,2"},
		{"sixteen.csv", "id,x\n1234567890123456,0.1234567890123456789\n", "", "", "1234567890123456,0.12345678901234568"},
		{"numpy.csv", "x\n3.807590643342410180e-02\n9007199254740993.5\n", "", "", "0.0380759064334241;9007199254740994.0"},
		{"objects.json", `[{"a":1.5,"b":"x"},{"a":2}]`, "", "", "1.5,x;2.0,NULL"},
	} {
		w.file(c.file, c.text)
		problems := w.reload("datasets: [{name: t, from: 'file:" + c.file + "'}]\n")
		switch {
		case problems.HasErrors() || c.want == "" && len(problems) > 0:
			t.Errorf("%s: %v", c.file, problems)
		case c.want != "" && (len(problems) == 0 || !strings.Contains(problems[0].Error(), c.want) || !strings.Contains(problems[0].Message, c.file) ||
			problems[0].Hint == ""):
			t.Errorf("%s: got %v, want %s", c.file, problems, c.want)
		}
		if c.remedy != "" {
			if problems := w.reload("datasets: [{name: t, from: 'file:" + c.file + "', " + c.remedy + "}]\n"); len(problems) > 0 {
				t.Errorf("%s with the remedy: %v", c.file, problems)
			}
		}
		if c.remedy != "" || c.rows != "" {
			w.want("SELECT * FROM t", strings.NewReplacer(",", "|", ";", ", ").Replace(c.rows))
		}
	}
}

// TestTypesOfLateRows has what differs after the rows that DuckDB samples.
func TestTypesOfLateRows(t *testing.T) {
	w := newWorld(t)
	var zips, objects strings.Builder
	zips.WriteString("zip\n")
	for i := range 60_000 {
		fmt.Fprintln(&zips, 90000+i%9999)
		fmt.Fprintf(&objects, "{\"a\":%d}\n", i)
	}
	w.file("zips.csv", zips.String()+"00123\n")
	w.file("objects.ndjson", objects.String()+"{\"a\":1,\"b\":\"late\"}\n")
	w.ok("datasets: [{name: z, from: 'file:zips.csv'}, {name: o, from: 'file:objects.ndjson'}]\n")
	w.want("SELECT min(zip) FROM z", "00123")
	w.want("SELECT b FROM o WHERE b IS NOT NULL", "late")
}

// TestOtherColumns reads folders whose files have other columns.
func TestOtherColumns(t *testing.T) {
	w := newWorld(t)
	w.file("p/.keep", "")
	w.exec("COPY (SELECT 1 AS a) TO '" + filepath.Join(w.dir, "p/1.parquet") + "'")
	w.exec("COPY (SELECT 2 AS a, 3 AS b) TO '" + filepath.Join(w.dir, "p/2.parquet") + "'")
	problems := w.reload("datasets: [{name: t, from: 'file:p/'}]\n")
	if len(problems) != 1 || problems[0].Severity != spicepod.Warning ||
		!strings.Contains(problems[0].Error(), `p/2.parquet" has columns that the first file lacks: b (set params.union_by_name: true`) {
		t.Errorf("got %v", problems)
	}
	w.ok("datasets: [{name: t, from: 'file:p/', params: {union_by_name: true}}]\n")
	w.want("SELECT * FROM t", "1|NULL, 2|3")
}
