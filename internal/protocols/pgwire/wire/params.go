package wire

import (
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// The codes of formats.
const (
	FormatText   = 0
	FormatBinary = 1
)

// formatOf returns the format code for value i of those that a client gave: one
// for all, one for each, or none, which is text.
func formatOf(codes []int16, i int) int16 {
	switch {
	case len(codes) == 1:
		return codes[0]
	case i < len(codes):
		return codes[i]
	}
	return FormatText
}

// CheckFormats refuses unknown format codes and a wrong number of them; what
// names the n values.
func CheckFormats(what string, codes []int16, n int) error {
	if len(codes) > 1 && len(codes) != n {
		return sqlstate.Errorf(sqlstate.Protocol, "", "%d formats for %d %s", len(codes), n, what)
	}
	for _, code := range codes {
		if code != FormatText && code != FormatBinary {
			return sqlstate.Errorf(sqlstate.Protocol, "use 0 for text and 1 for binary", "there is no format %d", code)
		}
	}
	return nil
}

// MaxValues is how many bytes the parameters of a statement may take.
const MaxValues = 64 << 20

// paramSize is about what a parameter takes at least.
const paramSize = 16

// tooLarge is the error for a value that takes too much, before it does.
func tooLarge() *sqlstate.Error {
	return sqlstate.Errorf(sqlstate.Limit, "",
		"a connection can hold %d bytes of parameters and of data of COPY, with 16 or more for each value", MaxValues)
}

// Params decodes the parameters of a statement, as the engine takes them: see
// engine.Params. oids are their types, 0 for unknown. size is about the memory
// that they take.
func Params(oids []uint32, formats []int16, data [][]byte) (params []any, size int, err error) {
	if err := CheckFormats("parameters", formats, len(data)); err != nil {
		return nil, 0, err
	}
	params = make([]any, len(data))
	for i, value := range data {
		if params[i], err = decode(oids[i], formatOf(formats, i), value); err != nil {
			if e, ok := errors.AsType[*sqlstate.Error](err); ok {
				e.Message = fmt.Sprintf("parameter $%d: %s", i+1, e.Message)
			}
			return nil, 0, err
		}
		if size += sizeOf(params[i]); size > MaxValues {
			return nil, 0, tooLarge()
		}
	}
	return params, size, nil
}

// sizeOf is about what a parameter takes, which may be more than was sent.
func sizeOf(param any) int {
	size := paramSize
	switch v := param.(type) {
	case string:
		size += len(v)
	case value.Numeric:
		size += len(v)
	case []byte:
		size += len(v)
	case []any:
		for _, item := range v {
			size += sizeOf(item)
		}
	}
	return size
}
