package datasets

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
)

// Errors of [Manager.Refresh], for errors.Is.
var (
	ErrUnknown        = errors.New("not found")
	ErrNotAccelerated = errors.New("does not have acceleration enabled")
	ErrReplaced       = errors.New("was replaced by a reload meanwhile")
	ErrOverride       = errors.New("invalid override")
)

// fault is why a dataset or view cannot be served.
type fault struct {
	path    string // below the component: "from", "params.delim"; "" for all of it
	offset  int    // byte within the text at path; -1 for the value as a whole
	key     bool   // the key is meant, not the value
	message string
	plain   string // message without the values of rows, where it shows some
	hint    string
	retry   bool // the source may come back without a change of the file
	warning bool // the component is served all the same
}

func (f *fault) Error() string {
	if f.hint == "" {
		return f.message
	}
	return f.message + "; " + f.hint
}

// newFault makes a fault about the value at path.
func newFault(path, hint, format string, args ...any) *fault {
	return &fault{path: path, offset: -1, hint: hint, message: fmt.Sprintf(format, args...)}
}

// showing says what to tell in place of a message that shows values of rows.
func (f *fault) showing(plain string) *fault {
	f.plain = plain
	return f
}

// mayReturn marks a fault of a source that may come back by itself.
func (f *fault) mayReturn() *fault {
	f.retry = true
	return f
}

// asFault returns err as a fault. An error without a path is about `from`.
func asFault(err error) *fault {
	if f := faultOf(err); f != nil {
		return f
	}
	return newFault("from", "", "%s", err)
}

// faultOf returns the fault in err, or nil.
func faultOf(err error) *fault {
	var f *fault
	var p *spicepod.ParamError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &p):
		f = newFault(strings.TrimPrefix(spicepod.ParamPath(p.Key), "."), p.Hint, "%s", p.Message)
		f.key = p.Unknown
		return f
	}
	return nil
}

// problem places the fault in the file. component is "dataset x" or "view x",
// prefix its path.
func (f *fault) problem(pod *spicepod.Pod, prefix, component string) spicepod.Problem {
	path := prefix
	if f.path != "" {
		path += "." + f.path
	}
	var p spicepod.Problem
	switch {
	case f.offset >= 0:
		p = pod.TextProblem(path, f.offset, f.message, f.hint)
	case f.key:
		p = pod.KeyProblem(path, f.message, f.hint)
	default:
		p = pod.Problem(path, f.message, f.hint)
	}
	p.Component = component
	if f.warning {
		p.Severity = spicepod.Warning
	}
	return p
}
