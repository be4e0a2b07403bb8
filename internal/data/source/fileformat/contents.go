package fileformat

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// The first bytes of files, by which they are what they are whatever their names.
var (
	gzipped  = []byte{0x1f, 0x8b}
	parquet  = []byte("PAR1")
	zipped   = []byte("PK\x03\x04")
	utf8Mark = []byte("\xef\xbb\xbf")
)

// mostLooked is how many files of a dataset are looked at before DuckDB reads them.
const mostLooked = 100

// local reports whether the names of the files are paths of this machine.
func (f Files) local() bool { return len(f.Found) > 0 && filepath.IsAbs(f.Found[0]) }

// shown is the name of a file for messages.
func (f Files) shown(path string) string { return cmp.Or(f.Shown, path) }

// look refuses files whose first bytes contradict their format: DuckDB would read some of them
// as other rows, and gives reasons for the rest that are not the cause.
func (f Files) look(s scan) error {
	if !f.local() {
		return nil
	}
	for _, path := range f.Found[:min(len(f.Found), mostLooked)] {
		head, tail, err := ends(path)
		if err != nil || len(head) == 0 {
			continue // DuckDB says why, or it has no rows
		}
		if fault := contradiction(s, f.shown(path), head, tail); fault != nil {
			return fault.Retryable()
		}
	}
	return nil
}

func contradiction(s scan, name string, head, tail []byte) *fault.Fault {
	_, compression := splitExtension(name)
	is := func(magic []byte) bool { return bytes.HasPrefix(head, magic) }
	switch {
	case s.format == parquetFormat && !is(parquet):
		return fault.New("from", "set params.file_format to its format, or write it again",
			"the file %q is not a Parquet file", name)
	case s.format == parquetFormat && !bytes.HasSuffix(tail, parquet):
		return fault.New("from", "copy or write it again", "the end of the Parquet file %q is missing", name)
	case s.format == parquetFormat:
		return nil
	case is(parquet):
		return fault.New("from", "set params.file_format: parquet", "the file %q is a Parquet file", name)
	case is(zipped):
		return fault.New("from", "unpack the archive, or set params.file_format: xlsx or docx",
			"the file %q is a ZIP archive or a spreadsheet", name)
	case is(gzipped) && compression == "" && !s.has("compression"):
		return fault.New("from", "add .gz to its name, or set params.compression: gzip",
			"the file %q is compressed with gzip", name)
	case compression == ".gz" && !is(gzipped) && !s.has("compression"):
		return fault.New("from", "remove .gz from its name, or compress it with gzip",
			"the file %q is not compressed with gzip", name)
	case !s.readsCSV() && is(utf8Mark):
		return fault.New("from", "remove its first three bytes: write the file as UTF-8 without BOM",
			"the JSON file %q begins with a byte order mark", name)
	}
	return nil
}

// ends returns the first and last bytes of a file, at most four of each.
func ends(path string) (head, tail []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	head, tail = make([]byte, 4), make([]byte, 4)
	n, err := io.ReadFull(file, head)
	if err != nil && n == 0 {
		return nil, nil, nil //nolint:nilerr // an empty file
	}
	if _, err := file.Seek(-int64(n), io.SeekEnd); err != nil {
		return nil, nil, err
	}
	m, err := io.ReadFull(file, tail[:n])
	return head[:n], tail[:m], err
}

// lineEnds returns the fault of a file whose lines end in several ways, which DuckDB does not
// read; nil if they do not.
func lineEnds(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, 1<<20))
	windows := bytes.Count(text, []byte("\r\n"))
	unix, old := bytes.Count(text, []byte("\n"))-windows, bytes.Count(text, []byte("\r"))-windows
	switch {
	case windows > 0 && unix > 0:
		return fault.New("from", "convert it to one kind of line ends, or set params.strict_mode: false",
			"some lines of the file %q end with CR LF, and some with LF", path)
	case old > 0 && windows+unix > 0:
		return fault.New("from", "quote the values that contain it, or convert the line ends",
			"the file %q has a CR without LF in a line", path)
	}
	return nil
}

// wideDecimals refuses a Parquet file with decimals of more digits than DuckDB has: DuckDB
// 1.5.5 reads other numbers from them, such as 16777216.0 for 1.00 of a decimal(50, 2).
func (f Files) wideDecimals(ctx context.Context, db *engine.DB, s scan, columns []engine.Column) error {
	if s.format != parquetFormat || !hasType(columns, "DOUBLE") {
		return nil
	}
	list, err := tables.Texts(ctx,
		db, fmt.Sprintf("SELECT name || ' is decimal(' || precision || ', ' || scale || ')' FROM parquet_schema(%s) WHERE "+
			"converted_type = 'DECIMAL' AND precision > 38",
			literalList(s.files[:1])))
	if err != nil || len(list) == 0 {
		return err
	}
	return fault.New("from", "write the column with at most 38 digits, or as text",
		"column %s, and DuckDB reads at most 38 digits", list[0])
}

// maxNesting is how many levels the type of a column may have: workers send no more.
const maxNesting = 60

// tooDeep refuses columns whose values no statement could read.
func tooDeep(columns []engine.Column) error {
	for _, c := range columns {
		if n := levels(c.Type); n > maxNesting {
			return fault.New("from", fmt.Sprintf("set params.json_maximum_depth: %d, so that what is deeper stays JSON",
				maxNesting/2), "column %q is nested %d levels deep; the limit is %d", c.Name, n, maxNesting)
		}
	}
	return nil
}

// levels returns how deep a type is nested.
func levels(t *engine.Type) (most int) {
	if t == nil {
		return 0
	}
	most = levels(t.Elem)
	for _, f := range t.Fields {
		most = max(most, levels(f.Type))
	}
	if t.Elem != nil || t.Fields != nil {
		most++
	}
	return most
}

func hasType(columns []engine.Column, part string) bool {
	for _, c := range columns {
		if strings.Contains(c.Type.String(), part) {
			return true
		}
	}
	return false
}
