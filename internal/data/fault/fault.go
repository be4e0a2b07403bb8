// Package fault describes what is wrong with a dataset or view: a message, the
// value of the declaration that it is about, and what to write instead.
//
//	if len(files) > limit {
//		return fault.New("from", "name fewer files", "%q matches more than %d files", pattern, limit)
//	}
//	…
//	problem := fault.Of(err).Problem(pod, "datasets[3]", "dataset flights")
//
// [FromDuckDB] turns DuckDB's errors about a source into faults.
package fault

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

// Fault is an error about a dataset or view.
type Fault struct {
	Path    string // below the component: "from", "params.delim"; "" means the component
	Offset  int    // byte within the text at Path; -1 means the whole value
	Key     bool   // the key is wrong, not its value
	Message string
	Public  string // Message without values of rows; "" if Message contains none
	Hint    string
	Retry   bool // a later attempt may succeed without a change of the Spicepod
	Warning bool // the component is served nevertheless
	Left    bool // a warning that the component is left out

	format string // of Message, and its arguments; see Redacted
	args   []any
}

// Error returns the message and the hint.
func (f *Fault) Error() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "; " + f.Hint
}

// New returns a fault about the value at path.
func New(path, hint, format string, args ...any) *Fault {
	return &Fault{Path: path, Offset: -1, Hint: hint, Message: fmt.Sprintf(format, args...), format: format, args: args}
}

// Redacted returns the fault with redact applied to the parts of its message that come from
// outside: the arguments of [New]. The words around them are ours; a secret that is one of
// them, such as the password postgres, would be revealed by its place. So would it in the
// hint, which has no values.
func (f *Fault) Redacted(redact func(string) string) *Fault {
	redacted := *f
	if f.format == "" || f.Message != fmt.Sprintf(f.format, f.args...) {
		redacted.Message = redact(f.Message)
		return &redacted
	}
	redacted.Message = httpx.Redactf(redact, f.format, f.args...)
	redacted.format, redacted.args = "", nil
	return &redacted
}

// At returns a fault about a position in the text at path.
func At(path string, offset int, hint, format string, args ...any) *Fault {
	f := New(path, hint, format, args...)
	f.Offset = max(offset, 0)
	return f
}

// OfKey returns a fault about the key at path, not its value.
func OfKey(path, hint, format string, args ...any) *Fault {
	f := New(path, hint, format, args...)
	f.Key = true
	return f
}

// NoColumn reports a column that the source, which has the columns have, lacks.
func NoColumn(path, name string, have []string) *Fault {
	return New(path, nearest.Hint(name, have, "it has "+truncate.Ellipsis(strings.Join(have, ", "), MaxMessage)),
		"the source has no column %q", name)
}

// WithPublic sets the message for callers who must not see values of rows.
func (f *Fault) WithPublic(message string) *Fault {
	f.Public = message
	return f
}

// Retryable sets Retry.
func (f *Fault) Retryable() *Fault {
	f.Retry = true
	return f
}

// Of returns err as a fault. An error without a path is about `from`.
func Of(err error) *Fault {
	if f := known(err); f != nil {
		return f
	}
	return New("from", "", "%s", err)
}

// known returns the fault in err, or nil.
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
// path of the component, such as datasets[3]; component names it: "dataset x".
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

// WithoutRoots makes paths in a message relative to the data roots: callers must not see
// where they are on the server.
func WithoutRoots(message string, roots []string) string {
	for _, root := range roots {
		message = strings.ReplaceAll(message, root+string(filepath.Separator), "")
	}
	return message
}
