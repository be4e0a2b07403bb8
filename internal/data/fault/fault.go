// Package fault describes why a dataset or view cannot be served: what is
// wrong, at which value of the declaration, and what to write instead.
//
//	if len(files) > limit {
//		return fault.New("from", "name fewer files", "%q matches more than %d files", pattern, limit)
//	}
//	…
//	problem := fault.Of(err).Problem(pod, "datasets[3]", "dataset flights")
//
// Errors of DuckDB become faults by [FromDuckDB], which picks the lines that
// matter.
package fault

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

// Fault is why a dataset or view cannot be served.
type Fault struct {
	Path    string // below the component: "from", "params.delim"; "" for all of it
	Offset  int    // byte within the text at Path; -1 for the value as a whole
	Key     bool   // the key is wrong, not its value
	Message string
	Plain   string // Message without the values of rows, if it shows some
	Hint    string
	Retry   bool // the source may come back without a change of the Spicepod
	Warning bool // the component is served all the same
}

// Error returns the message and the hint.
func (f *Fault) Error() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "; " + f.Hint
}

// New returns a fault of the value at path.
func New(path, hint, format string, args ...any) *Fault {
	return &Fault{Path: path, Offset: -1, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// At returns a fault at a byte of the text at path.
func At(path string, offset int, hint, format string, args ...any) *Fault {
	f := New(path, hint, format, args...)
	f.Offset = max(offset, 0)
	return f
}

// OfKey returns a fault of the key at path rather than the value.
func OfKey(path, hint, format string, args ...any) *Fault {
	f := New(path, hint, format, args...)
	f.Key = true
	return f
}

// NoColumn returns the fault of a column that the source lacks.
func NoColumn(path, name string, have []string) *Fault {
	return New(path, Suggest(name, have, "it has "+truncate.Ellipsis(strings.Join(have, ", "), MaxMessage)), "the source has no column %q", name)
}

// Suggest returns a hint with the known name nearest to name, or otherwise.
func Suggest(name string, known []string, otherwise string) string {
	if near := nearest.Name(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// Showing sets the text to show to callers who must not see values of rows.
func (f *Fault) Showing(plain string) *Fault {
	f.Plain = plain
	return f
}

// MayReturn marks the fault of a source that may come back by itself.
func (f *Fault) MayReturn() *Fault {
	f.Retry = true
	return f
}

// Of returns err as a fault. An error that names no position is attributed to
// `from`.
func Of(err error) *Fault {
	if f := known(err); f != nil {
		return f
	}
	return New("from", "", "%s", err)
}

// known returns an error that names its position as a fault, or nil.
func known(err error) *Fault {
	var f *Fault
	var p *spicepod.ParamError
	if !errors.As(err, &f) && errors.As(err, &p) {
		f = New(strings.TrimPrefix(spicepod.ParamPath(p.Key), "."), p.Hint, "%s", p.Message)
		f.Key = p.Unknown
	}
	return f
}

// Problem returns the fault with its position in the file. The prefix is the
// component's path, and component its name: "dataset x" or "view x".
func (f *Fault) Problem(pod *spicepod.Pod, prefix, component string) spicepod.Problem {
	path := prefix
	if f.Path != "" {
		path += "." + f.Path
	}
	var p spicepod.Problem
	switch {
	case f.Offset >= 0:
		p = pod.TextProblem(path, f.Offset, f.Message, f.Hint)
	case f.Key:
		p = pod.KeyProblem(path, f.Message, f.Hint)
	default:
		p = pod.Problem(path, f.Message, f.Hint)
	}
	p.Component = component
	if f.Warning {
		p.Severity = spicepod.Warning
	}
	return p
}
