package datasets

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// opened is a source that can be read now.
type opened struct {
	query     string          // SELECT over the source, columns with their declared types
	base      string          // the table that writes go to; "" when there are none
	private   bool            // no other process can attach it
	columns   []engine.Column // of query
	format    string
	bytes     int64
	stale     error // why an older copy stands for the source
	resources []*resource
}

// open resolves and describes the source of a dataset. Its resources are the
// caller's to release.
func (m *Manager) open(ctx context.Context, d *Dataset) (*opened, error) {
	out := &opened{}
	err := m.openSource(ctx, d, out)
	if err == nil {
		err = m.castColumns(ctx, d, out)
	}
	if err != nil {
		m.release(out.resources...)
		return nil, d.redacted(err)
	}
	return out, nil
}

func (m *Manager) openSource(ctx context.Context, d *Dataset, out *opened) error {
	var found files
	var err error
	switch {
	case d.source.connector == "duckdb":
		return m.openDuckDB(ctx, d, out)
	case d.source.remote():
		var got *fetched
		if got, err = m.fetch(ctx, d); err != nil {
			return err
		}
		out.resources, out.stale = []*resource{got.resource}, got.stale
		found = files{[]string{escapeGlob(got.path)}, []string{got.path}, got.Size}
	default:
		if found, err = m.findFiles(ctx, d); err != nil {
			return err
		}
	}
	out.bytes = found.bytes
	return m.openFiles(ctx, d, found, out)
}

// openFiles settles the table function that reads the files.
func (m *Manager) openFiles(ctx context.Context, d *Dataset, found files, out *opened) error {
	f, settings := d.format, d.settings
	if f == nil {
		if f = formatOf(found.found[0]); f == nil {
			return newFault("from", "set params.file_format: one of "+servedFormats, "the format of %q is not known by its name", found.found[0])
		}
		var err error
		if settings, err = f.settings(d.Declared.Params, connectors[d.source.connector]); err != nil {
			return err
		}
	}
	s, columns, err := detectDelimiter(scan{f, found.patterns, settings}, func(s scan) ([]engine.Column, error) {
		return m.describe(ctx, "SELECT * FROM "+s.SQL())
	})
	if err != nil {
		return sourceError(err, s)
	}
	out.columns = columns
	out.format, out.query = f.name, "SELECT * FROM "+d.typed(s, out.columns).SQL()
	return nil
}

// typed gives a CSV reader the declared types, so that it does not guess them:
// what it guessed may have lost something, such as leading zeros.
func (d *Dataset) typed(s scan, columns []engine.Column) scan {
	if !s.readsCSV() || s.has("types") || s.has("columns") || s.has("names") {
		return s
	}
	var parts []string
	for i, c := range d.columns {
		if d.types[i] == "" {
			continue
		}
		for _, have := range columns {
			if strings.EqualFold(have.Name, c.Name) {
				parts = append(parts, literal(have.Name)+": "+literal(d.types[i]))
			}
		}
	}
	if len(parts) == 0 {
		return s
	}
	return s.with("types", "{"+strings.Join(parts, ", ")+"}")
}

// castColumns gives declared columns their types, and checks that they exist.
func (m *Manager) castColumns(ctx context.Context, d *Dataset, out *opened) error {
	if _, err := matchColumns(out.columns, d.columns); err != nil {
		return err
	}
	var replace []string
	at := 0
	for i, c := range d.columns {
		if d.types[i] == "" {
			continue
		}
		j := slices.IndexFunc(out.columns, func(h engine.Column) bool { return strings.EqualFold(h.Name, c.Name) })
		name := engine.Identifier(out.columns[j].Name)
		replace = append(replace, fmt.Sprintf("CAST(%s AS %s) AS %s", name, d.types[i], name))
		at = i
	}
	if len(replace) == 0 {
		return nil
	}
	query := strings.Replace(out.query, "SELECT *", "SELECT * REPLACE ("+strings.Join(replace, ", ")+")", 1)
	columns, err := m.describe(ctx, query)
	if err != nil {
		f := describeError(err)
		f.path = fmt.Sprintf("columns[%d].type", at)
		return f
	}
	out.query, out.columns = query, columns
	return nil
}

// sourceError says what is wrong with files that DuckDB cannot read.
func sourceError(err error, s scan) error {
	f := describeError(err)
	var e *engine.Error
	if !s.readsCSV() || !errors.As(err, &e) || !csvSniff.MatchString(e.Message) {
		return f
	}
	file := group(csvSniff, e.Message, 1)
	if ragged := findRagged(file, s); ragged != nil {
		return ragged
	}
	return f
}

// diagnoseBytes bounds the search for the row that spoils a CSV file.
const diagnoseBytes = 64 << 20

// findRagged looks for the first row with another number of columns than the
// header.
func findRagged(path string, s scan) *fault {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			return newFault("from", "write the file anew", "file %q is no gzip file: %s", path, err)
		}
	}
	r := csv.NewReader(io.LimitReader(in, diagnoseBytes))
	r.LazyQuotes, r.ReuseRecord = true, true
	for _, x := range s.settings {
		if v := strings.Trim(x.value, "'"); (x.name == "delim" || x.name == "sep") && len([]rune(v)) == 1 {
			r.Comma = []rune(v)[0]
		}
	}
	expected := 0
	for {
		row, err := r.Read()
		switch {
		case errors.Is(err, csv.ErrFieldCount):
			line, _ := r.FieldPos(0)
			return newFault("from", raggedHint, "file %q, line %d: expected %d columns, found %d: %q",
				path, line, expected, len(row), truncate.Ellipsis(strings.Join(row, string(r.Comma)), 80)).
				showing(fmt.Sprintf("file %q, line %d: expected %d columns, found %d", path, line, expected, len(row)))
		case err != nil:
			return nil
		}
		expected = len(row)
	}
}

// describe returns the columns of a query of ours, on a stage of its own.
func (m *Manager) describe(ctx context.Context, query string) (columns []engine.Column, err error) {
	stage, err := m.opts.DB.Stage(ctx)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	err = stage.Run(ctx, func() (err error) {
		columns, err = stage.Describe(query)
		return err
	})
	return columns, err
}

// query runs a query of ours on a stage of its own.
func (m *Manager) query(ctx context.Context, sql string, f func(*engine.Chunk)) error {
	stage, err := m.opts.DB.Stage(ctx)
	if err != nil {
		return err
	}
	defer stage.Close()
	return stage.Run(ctx, func() error {
		return stage.Query(sql, func(c *engine.Chunk) error { f(c); return nil })
	})
}
