package isolate

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

var tagType = &engine.Type{ID: engine.UTinyInt}

// members returns the types of the vectors of [engine.Vector.Field].
func members(t *engine.Type) []*engine.Type {
	var list []*engine.Type
	if t.ID == engine.Union {
		list = append(list, tagType)
	}
	for _, f := range t.Fields {
		list = append(list, f.Type)
	}
	return list
}

// room is the memory, in bytes, that DuckDB uses for a value of t in a vector:
// without the elements of a LIST, or with one element each, as in a new chunk.
func room(t *engine.Type, elements bool) int {
	switch t.ID {
	case engine.Boolean:
		return 1
	case engine.Varchar, engine.Blob, engine.Bit:
		return 16
	case engine.List, engine.Map:
		if elements {
			return 16 + room(t.Elem, true)
		}
		return 16
	case engine.Array:
		return t.Size * room(t.Elem, elements)
	case engine.Struct, engine.Union:
		n := 0
		for _, m := range members(t) {
			n += room(m, elements)
		}
		return n
	}
	return t.ValueSize()
}

// checkRoom refuses columns whose chunks take more than maxChunk.
func checkRoom(columns []engine.Column) error {
	n := 0
	for _, c := range columns {
		n += room(c.Type, true)
	}
	if n > maxChunk/engine.ChunkRows {
		return fmt.Errorf("a row has %d bytes without texts; the limit is %d", n, maxChunk/engine.ChunkRows)
	}
	return nil
}

// Limits of the types in a result, as sent by a worker.
const (
	maxColumns  = 1 << 16
	maxNesting  = 60
	maxArray    = 100_000 // elements of an ARRAY including nested ones: DuckDB's limit for one
	maxMembers  = 1 << 14 // of a STRUCT
	maxTags     = 255     // members of a UNION
	maxDecimals = 38

	maxChunk = 256 << 20 // bytes of a new chunk; a column of FLOAT[8192] takes a quarter
)

// checkColumns refuses columns that would crash DuckDB: a statement may have taken
// over its worker.
func checkColumns(columns []engine.Column) error {
	if err := checkTypes(columns); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

// checkTypes says which type of the columns is beyond the limits. A worker that works as it
// should checks its own columns, so that the statement's error names it.
func checkTypes(columns []engine.Column) error {
	if len(columns) == 0 || len(columns) > maxColumns {
		return fmt.Errorf("there are %d columns; the limit is %d", len(columns), maxColumns)
	}
	for _, c := range columns {
		if err := checkType(c.Type, 0, 1); err != nil {
			return fmt.Errorf("the type of column %q %w", truncate.Ellipsis(c.Name, maxShownName), err)
		}
	}
	return nil
}

const maxShownName = 100

func checkType(t *engine.Type, depth, array int) error {
	switch {
	case t == nil:
		return errors.New("is missing")
	case depth > maxNesting:
		return fmt.Errorf("is nested deeper than %d", maxNesting)
	}
	switch t.ID {
	case engine.List:
		return checkType(t.Elem, depth+1, array)
	case engine.Map:
		if t.Elem == nil || t.Elem.ID != engine.Struct || len(t.Elem.Fields) != 2 {
			return errors.New("is a MAP without key and value")
		}
		return checkType(t.Elem, depth+1, array)
	case engine.Array:
		if t.Size < 1 || t.Size > maxArray/array {
			return fmt.Errorf("is an ARRAY of %d", t.Size)
		}
		return checkType(t.Elem, depth+1, array*t.Size)
	case engine.Struct:
		return checkMembers(t.Fields, maxMembers, depth, array)
	case engine.Union:
		return checkMembers(t.Fields, maxTags, depth, array)
	case engine.Enum:
		return checkEnum(t.Values)
	case engine.Decimal:
		if t.Width < 1 || t.Width > maxDecimals || t.Scale < 0 || t.Scale > t.Width {
			return fmt.Errorf("is a DECIMAL(%d,%d)", t.Width, t.Scale)
		}
		return nil
	}
	if !t.Supported() {
		return fmt.Errorf("is unknown: %d", t.ID)
	}
	return nil
}

func checkMembers(fields []engine.Field, most, depth, array int) error {
	if len(fields) == 0 || len(fields) > most {
		return fmt.Errorf("has %d members; the limit is %d", len(fields), most)
	}
	for _, f := range fields {
		if !plainName(f.Name) {
			return errors.New("has a member with an invalid name")
		}
		if err := checkType(f.Type, depth+1, array); err != nil {
			return err
		}
	}
	return nil
}

func checkEnum(values []string) error {
	if len(values) == 0 {
		return errors.New("is an ENUM without values")
	}
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		if seen[v] || !plainName(v) {
			return errors.New("is an ENUM with invalid values")
		}
		seen[v] = true
	}
	return nil
}

// plainName reports whether s can be passed to C as UTF-8.
func plainName(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
