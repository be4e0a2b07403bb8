package fileformat

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// A file of text has no types: DuckDB finds them in its values. What it finds is sometimes
// not what the author means, and nothing fails: a column of numbers with one NA is text, an
// identifier of 20 digits loses its last ones, 01/02/2024 is a day in February. This file
// looks at the texts of the first rows and warns, with what to declare. A remark must be
// rare on ordinary files: each asks for all values of the column to look alike.

// sampledRows is how many rows are looked at.
const sampledRows = 10_000

// mostWhole is the largest file whose types are detected from all rows. DuckDB samples about 20,000
// rows, which is wrong if a later value differs: 00123 would become 123, and a JSON key that no
// earlier object has would be missing.
const mostWhole = 16 << 20

// whole returns the scan that finds types in all rows, with its columns, if these differ from
// the columns of s.
func whole(found Files, s scan, columns []engine.Column,
	describe func(scan) ([]engine.Column, error),
) (scan, []engine.Column) {
	size := found.Bytes
	if _, compression := splitExtension(found.Found[0]); compression != "" {
		size *= 8
	}
	if s.format == parquetFormat || !found.local() || size > mostWhole || s.has("sample_size") || s.has("columns") ||
		s.has("auto_detect") {
		return s, columns
	}
	all := s.with("sample_size", "-1")
	if other, err := describe(all); err == nil && !slices.EqualFunc(other, columns, sameColumn) {
		return all, other
	}
	return s, columns
}

func sameColumn(a, b engine.Column) bool {
	return a.Name == b.Name && a.Type.String() == b.Type.String()
}

// Texts, as regular expressions of DuckDB.
const (
	plainNumber  = `[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?`
	decimalComma = `[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+`
	thousands    = `[+-]?\d{1,3}(,\d{3})+(\.\d+)?`
	wholeNumber  = `[+-]?\d{16,}`
	dayOrMonth   = `\d{1,2}([/.-])\d{1,2}[/.-]\d{2,4}( .*)?`
)

// missingWords are what programs write for a value that is missing, in lower case.
var missingWords = []string{"na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing", "-", "?", "."}

// remarks returns warnings about the values of files of text.
func (r *Reader) remarks(ctx context.Context, db *engine.DB, s scan, columns []engine.Column,
	found Files,
) (list []error) {
	if s.format == parquetFormat || !found.local() || s.has("columns") || s.has("all_varchar") {
		return nil
	}
	name := found.shown(found.Found[0])
	add := func(hint, format string, args ...any) {
		f := fault.New("from", hint, format, args...)
		f.Warning = true
		list = append(list, f)
	}
	if s.readsCSV() {
		headerRemarks(s, columns, r.settings, name, add)
	}
	noted, err := tables.Texts(ctx, db, r.samples(s, columns))
	if err != nil {
		return list // a statement says why
	}
	for _, text := range noted {
		kind, rest, _ := strings.Cut(text, " ")
		at, detail, _ := strings.Cut(rest, " ")
		column := ""
		if i, err := strconv.Atoi(at); err == nil && i < len(columns) {
			column = columns[i].Name
		}
		switch kind {
		case "rows":
			hint := "write rows to it, or declare the types of its columns under columns: without rows they are not known"
			if !s.readsCSV() {
				hint = "write an object to it, or set params.columns: without one its columns are not known"
			}
			add(hint, "the file %q has no rows", name)
		case "missing":
			add(fmt.Sprintf("set params.csv_null_value: ['', %s], so that the column has numbers", detail),
				"column %q of file %q has numbers and the text %s, and is read as text", column, name, detail)
		case "comma":
			add(`set params.csv_decimal_separator: ","`,
				"column %q of file %q has numbers with a decimal comma, and is read as text", column, name)
		case "thousands":
			add(`set params.csv_thousands: ","`,
				"column %q of file %q has numbers with thousands separators, and is read as text", column, name)
		case "digits":
			add(fmt.Sprintf("declare it: columns: [{name: %s, type: 'decimal(38,0)'}], or utf8", column),
				"column %q of file %q has whole numbers beyond 64 bits, and is read as DOUBLE, which loses digits", column, name)
		case "date":
			f := r.dateRemark(ctx, db, s, column, name)
			if f != nil {
				list = append(list, f)
			}
		}
	}
	return list
}

// headerRemarks judges the names of the columns.
func headerRemarks(s scan, columns []engine.Column, settings []setting, name string,
	add func(hint, format string, args ...any),
) {
	byUser := slices.ContainsFunc(settings, func(x setting) bool { return x.name == "names" })
	numbers := !slices.ContainsFunc(columns, func(c engine.Column) bool {
		_, err := strconv.ParseFloat(c.Name, 64)
		return err != nil
	})
	first := strings.ReplaceAll(columns[0].Name, " ", "")
	switch {
	case byUser || s.value("header") != "true":
	case strings.HasPrefix(first, `{"`) || strings.HasPrefix(first, `[{`):
		add("set params.file_format: json",
			"the file %q begins like JSON, and its first line is read as the names of columns", name)
	case numbers:
		add("set params.csv_has_header: false, if its first line is a row",
			"the names of all columns of file %q are numbers", name)
	}
}

// samples returns a query for what is to remark of the first rows: lines of a word, the index of a
// column, and a detail.
func (r *Reader) samples(s scan, columns []engine.Column) string {
	var checks, read []string
	declared := func(c engine.Column) bool {
		return slices.ContainsFunc(r.columns, func(d spicepod.DatasetColumn) bool {
			return d.Type != "" && strings.EqualFold(d.Name, c.Name)
		})
	}
	if slices.ContainsFunc(columns, func(c engine.Column) bool { return !declared(c) }) {
		checks = append(checks, "CASE WHEN count(*) = 0 THEN 'rows' END")
	}
	for i, c := range columns {
		if declared(c) {
			continue
		}
		v := engine.Identifier(c.Name)
		before := len(checks)
		switch {
		case c.Type.ID == engine.Varchar && !c.Type.JSON && s.readsCSV():
			checks = append(checks, textChecks(i, v))
		case c.Type.ID == engine.Double:
			exact := fmt.Sprintf("TRY_CAST(%s AS HUGEINT)", v)
			checks = append(checks,
				fmt.Sprintf("CASE WHEN bool_or(regexp_full_match(%[2]s, '%[3]s') AND (%[4]s IS NULL OR TRY_CAST(CAST(%[2]s AS "+
					"DOUBLE) AS HUGEINT) IS DISTINCT FROM %[4]s)) THEN 'digits %[1]d' END", i, v, wholeNumber, exact))
		case (c.Type.ID == engine.Date || c.Type.ID == engine.Timestamp) && s.readsCSV() && !s.has("dateformat") &&
			!s.has("timestampformat"):
			part := func(n int) string {
				return fmt.Sprintf(`TRY_CAST(regexp_extract(%s, '^(\d{1,2})[/.-](\d{1,2})[/.-]', %d) AS INTEGER)`, v, n)
			}
			checks = append(checks, fmt.Sprintf("CASE WHEN bool_and(regexp_full_match(%[2]s, '%[3]s')) AND max(greatest(%[4]s, "+
				"%[5]s)) <= 12 AND bool_or(%[4]s <> %[5]s) THEN 'date %[1]d' END",
				i, v, dayOrMonth, part(1), part(2)))
		}
		if len(checks) > before && !s.readsCSV() {
			read = append(read, fmt.Sprintf("json ->> %s AS %s", engine.Literal("$."+v), v))
		}
	}
	from := "SELECT * FROM " + s.texts().SQL()
	if !s.readsCSV() {
		from = "SELECT " + strings.Join(append(read, "1 AS one"), ", ") + " FROM " + s.texts().SQL()
	}
	return fmt.Sprintf("SELECT x FROM (SELECT unnest([%s]) AS x FROM (%s LIMIT %d)) WHERE x IS NOT NULL",
		strings.Join(checks, ", "), from, sampledRows)
}

// textChecks returns the check of a column of text.
func textChecks(i int, v string) string {
	count := func(condition string) string { return "count(*) FILTER (" + condition + ")" }
	matches := func(pattern string) string { return "regexp_full_match(" + v + ", '" + pattern + "')" }
	missing := "lower(" + v + ") IN (" + strings.Trim(literalList(missingWords), "[]") + ")"
	filled, numbers := count(v+" <> ''"), count(v+" <> '' AND "+matches(plainNumber))
	return fmt.Sprintf("CASE WHEN %[3]s > 0 AND %[4]s > 0 AND %[3]s + %[4]s = %[2]s THEN 'missing %[1]d ' || "+
		"string_agg(DISTINCT %[7]s, ', ' ORDER BY %[7]s) FILTER (%[8]s)"+
		" WHEN %[6]s > 0 AND %[3]s + %[6]s = %[2]s THEN 'thousands %[1]d' WHEN %[5]s > 0 AND %[3]s + %[5]s = %[2]s THEN "+
		"'comma %[1]d' END",
		i, filled, numbers, count(missing), count(matches(decimalComma)), count(matches(thousands)), v, missing)
}

// texts returns the scan with all values as texts: as columns of CSV, or as the objects of JSON.
func (s scan) texts() scan {
	kept := func(names ...string) []setting {
		return slices.DeleteFunc(slices.Clone(s.settings), func(x setting) bool { return slices.Contains(names, x.name) })
	}
	if s.readsCSV() {
		return scan{
			s.format, s.files,
			append(kept("types", "dateformat", "timestampformat", "auto_type_candidates", "decimal_separator", "thousands"),
				setting{"all_varchar", "true"}),
		}
	}
	f := *s.format
	f.reader = "read_json_objects"
	out := scan{&f, s.files, nil}
	for _, x := range s.settings {
		if slices.Contains([]string{"format", "maximum_object_size", "compression", "ignore_errors"}, x.name) {
			out.settings = append(out.settings, x)
		}
	}
	return out
}

// dateRemark returns a warning that says how ambiguous dates are read, such as 01/02/2024; nil: there
// are none.
func (r *Reader) dateRemark(ctx context.Context, db *engine.DB, s scan, column, name string) *fault.Fault {
	sniff := s
	f := *s.format
	f.reader = "sniff_csv"
	sniff.format, sniff.files = &f, s.files[:1]
	formats, err := tables.Texts(ctx, db, "SELECT coalesce(nullif(DateFormat, ''), TimestampFormat) FROM "+sniff.SQL())
	if err != nil || len(formats) == 0 || formats[0] == "" {
		return nil
	}
	first, other := "day", strings.NewReplacer("%d", "%m", "%m", "%d").Replace(formats[0])
	if strings.Index(formats[0], "%m") < strings.Index(formats[0], "%d") {
		first = "month"
	}
	out := fault.New("from", fmt.Sprintf("set params.csv_date_format: %q, or to %q if this is wrong", formats[0], other),
		"the dates in column %q of file %q can be read in two ways, and are read with the %s first", column, name, first)
	out.Warning = true
	return out
}

// otherColumns warns of files that have columns which the first one lacks: they are not read.
func otherColumns(s scan, columns []engine.Column, found Files, describe func(scan) ([]engine.Column, error)) error {
	if !found.local() || len(found.Found) < 2 || s.has("union_by_name") || s.has("columns") || s.has("names") ||
		s.format.reader == "read_json" {
		return nil
	}
	const most = 8
	step := max(1, len(found.Found)/most)
	for i := len(found.Found) - 1; i > 0; i -= step {
		if info, err := os.Stat(found.Found[i]); err != nil || info.Size() == 0 {
			continue
		}
		one := s
		one.files = []string{EscapeGlob(found.Found[i])}
		other, err := describe(one)
		if err != nil {
			continue
		}
		var missing []string
		for _, c := range other {
			if !slices.ContainsFunc(columns, func(have engine.Column) bool { return strings.EqualFold(have.Name, c.Name) }) {
				missing = append(missing, c.Name)
			}
		}
		if len(missing) > 0 {
			f := fault.New("from", "set params.union_by_name: true to read them",
				"the file %q has columns that the first file lacks: %s", found.Found[i], strings.Join(missing, ", "))
			f.Warning = true
			return f
		}
	}
	return nil
}
