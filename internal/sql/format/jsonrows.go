package format

import (
	"io"
	"strconv"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// jsonRows writes rows as JSON objects, with text before, between and after them.
type jsonRows struct {
	buffered
	before  func(buf []byte, columns []engine.Column) []byte
	between string
	after   func(buf []byte, rows int64) []byte

	keys   [][]byte // {"a": and ,"b": …
	values []appender
	rows   int64
}

// newJSON writes an array of rows.
func newJSON(w io.Writer) Writer {
	return &jsonRows{
		buffered: buffered{w: w},
		before:   func(buf []byte, _ []engine.Column) []byte { return append(buf, '[') },
		between:  ",",
		after:    func(buf []byte, _ int64) []byte { return append(buf, ']') },
	}
}

// newNDJSON writes a row per line.
func newNDJSON(w io.Writer) Writer {
	return &jsonRows{
		buffered: buffered{w: w},
		before:   func(buf []byte, _ []engine.Column) []byte { return buf },
		between:  "\n",
		after: func(buf []byte, rows int64) []byte {
			if rows == 0 {
				return buf
			}
			return append(buf, '\n')
		},
	}
}

// newSQLv1 writes Spice's object with the schema. The row count comes last, since it
// is known only then.
func newSQLv1(w io.Writer) Writer {
	return &jsonRows{
		buffered: buffered{w: w},
		before: func(buf []byte, columns []engine.Column) []byte {
			buf = append(buf, `{"schema":`...)
			return append(appendSchema(buf, columns), `,"data":[`...)
		},
		between: ",",
		after: func(buf []byte, rows int64) []byte {
			buf = append(buf, `],"row_count":`...)
			return append(strconv.AppendInt(buf, rows, 10), '}')
		},
	}
}

func (j *jsonRows) Begin(columns []engine.Column) error {
	j.buf = j.before(j.buf, columns)
	names := uniqueNames(columns)
	for i, c := range columns {
		key := []byte{','}
		if i == 0 {
			key[0] = '{'
		}
		j.keys = append(j.keys, append(AppendString(key, names[i]), ':'))
		j.values = append(j.values, jsonOrNull(c.Type))
	}
	return nil
}

func (j *jsonRows) Write(chunk *engine.Chunk) error {
	for i := range chunk.Len() {
		if j.rows > 0 {
			j.buf = append(j.buf, j.between...)
		}
		j.rows++
		for c, key := range j.keys {
			j.buf = j.values[c](append(j.buf, key...), chunk.Column(c), i)
		}
		j.buf = append(j.buf, '}')
		if err := j.spill(); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonRows) End() error {
	j.buf = j.after(j.buf, j.rows)
	return j.Flush()
}

// uniqueNames makes column names unique: x, x:1, x:2.
func uniqueNames(columns []engine.Column) []string {
	taken := make(map[string]bool, len(columns))
	for _, c := range columns {
		taken[c.Name] = true
	}
	names := make([]string, len(columns))
	used := make(map[string]bool, len(columns))
	next := map[string]int{}
	for i, c := range columns {
		name := c.Name
		for used[name] || name != c.Name && taken[name] {
			next[c.Name]++
			name = c.Name + ":" + strconv.Itoa(next[c.Name])
		}
		used[name] = true
		names[i] = name
	}
	return names
}
