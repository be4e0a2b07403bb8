package isolate

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// physical is the type of the bits that DuckDB holds of a value of t. Rows
// cross as columns of these types, whose Arrow form is an exact copy: what
// DuckDB has and Arrow lacks, such as an INTERVAL of microseconds or the bits
// of a TIME WITH TIME ZONE, comes back as it was. Fields have no names.
func physical(t *engine.Type) *engine.Type {
	switch t.ID {
	case engine.Boolean, engine.Null:
		return &engine.Type{ID: t.ID}
	case engine.Varchar, engine.Blob, engine.Bit:
		return &engine.Type{ID: engine.Blob}
	case engine.List, engine.Map:
		return &engine.Type{ID: engine.List, Elem: physical(t.Elem)}
	case engine.Array:
		return &engine.Type{ID: engine.Array, Elem: physical(t.Elem), Size: t.Size}
	case engine.Struct, engine.Union:
		s := &engine.Type{ID: engine.Struct}
		for _, m := range members(t) {
			s.Fields = append(s.Fields, engine.Field{Type: physical(m)})
		}
		return s
	}
	return &engine.Type{ID: unsignedOf[width(t)]}
}

var unsignedOf = map[int]engine.TypeID{
	1: engine.UTinyInt, 2: engine.USmallInt, 4: engine.UInteger, 8: engine.UBigInt, 16: engine.HugeInt,
}

var tagType = &engine.Type{ID: engine.UTinyInt}

// members are the types of what [engine.Vector.Field] returns.
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

// width is the number of bytes of a value of a type of fixed width, which
// [engine.Values] tells; BOOLEAN is not asked for.
func width(t *engine.Type) int {
	switch t.ID {
	case engine.TinyInt, engine.UTinyInt:
		return 1
	case engine.SmallInt, engine.USmallInt:
		return 2
	case engine.Integer, engine.UInteger, engine.Float, engine.Date:
		return 4
	case engine.HugeInt, engine.UHugeInt, engine.UUID, engine.Interval:
		return 16
	case engine.Decimal:
		return decimalWidth(t.Width)
	case engine.Enum:
		return enumWidth(len(t.Values))
	}
	return 8
}

func decimalWidth(digits int) int {
	switch {
	case digits <= 4:
		return 2
	case digits <= 9:
		return 4
	case digits <= 18:
		return 8
	}
	return 16
}

func enumWidth(values int) int {
	switch {
	case values < 1<<8:
		return 1
	case values < 1<<16:
		return 2
	}
	return 4
}

// room is the memory that DuckDB takes for a value of t in a vector, in bytes:
// without the elements of a LIST, or with those of one each, as in a new chunk.
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
	return width(t)
}

// checkRoom refuses columns whose chunks take more than maxChunk.
func checkRoom(columns []engine.Column) error {
	n := 0
	for _, c := range columns {
		n += room(c.Type, true)
	}
	if n > maxChunk/engine.ChunkRows {
		return fmt.Errorf("a row has %d bytes without its texts; at most %d are possible", n, maxChunk/engine.ChunkRows)
	}
	return nil
}

func physicalColumns(columns []engine.Column) []engine.Column {
	out := make([]engine.Column, len(columns))
	for i, c := range columns {
		out[i].Type = physical(c.Type)
	}
	return out
}

// Limits of the types of a result, which its worker tells.
const (
	maxColumns  = 1 << 16
	maxNesting  = 60      // Arrow's readers go to 64
	maxArray    = 100_000 // elements of an ARRAY, those in an ARRAY of them counted together: DuckDB's limit of one
	maxMembers  = 1 << 14 // of a STRUCT
	maxTags     = 255     // members of a UNION
	maxDecimals = 38

	maxChunk = 256 << 20 // bytes of a new chunk; a column of FLOAT[8192] takes a quarter
)

// checkColumns refuses columns that DuckDB would not survive: a worker may be
// in the hands of its statement.
func checkColumns(columns []engine.Column) error {
	if len(columns) == 0 || len(columns) > maxColumns {
		return fmt.Errorf("%w: %d columns", errFrame, len(columns))
	}
	for _, c := range columns {
		if err := checkType(c.Type, 0, 1); err != nil {
			return fmt.Errorf("%w: the type of a column: %w", errFrame, err)
		}
	}
	return nil
}

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
		return fmt.Errorf("has %d members", len(fields))
	}
	for _, f := range fields {
		if !plainName(f.Name) {
			return errors.New("has a member without a proper name")
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
			return errors.New("is an ENUM with improper values")
		}
		seen[v] = true
	}
	return nil
}

// plainName reports whether s can cross into C as UTF-8.
func plainName(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
