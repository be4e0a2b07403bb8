package spicepod

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Position is a position in a file. File is as shown to the user: relative to the
// Spicepod's folder if below it, else absolute. Line and Column start at 1; Column counts
// characters (Unicode code points), not bytes or cells. Line 0 means the whole file,
// Column 0 the whole line.
type Position struct {
	File   string `json:"file" doc:"Relative to the Spicepod's folder when below it."`
	Line   int    `json:"line" doc:"From 1; 0 is the file as a whole."`
	Column int    `json:"column" doc:"In characters from 1; 0 is the line as a whole."`
}

// String returns file:line:column without the parts that are unknown.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Severity is the severity of a Problem.
type Severity int

// Severities. The zero value is Error.
const (
	Error Severity = iota
	Warning
)

// String returns "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText writes the severity as its name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Problem is one problem: where, what is wrong, and what would be right.
type Problem struct {
	Position
	Severity Severity `json:"severity" enum:"error,warning"`
	// Component is empty for a structural problem of the file.
	Component string `json:"component,omitempty" doc:"Whose fault it is, such as: function f."`
	Path      string `json:"path,omitempty" doc:"The position in the document, such as: functions[2].body."`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty" doc:"What would be right."`
	WaitsFor  string `json:"waits_for,omitempty" doc:"The component whose fault keeps this one from being served, such as: dataset d. Nothing else is known to be wrong with it."`
	Source    string `json:"source,omitempty" doc:"The text of the line, for callers who may write."`
}

// Waits returns the problem of a component that is not served because of another one, which
// it reads, calls or expects, as verb says.
func (p Problem) Waits(component, verb string) Problem {
	p.Message, p.Hint, p.WaitsFor = "waits for "+component+", which it "+verb, "fix that first", component
	return p
}

// Located returns the message and, if it is known, the position after it.
func (p Problem) Located() string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("%s (%s)", p.Message, p.Position)
}

// Error returns the problem on one line.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.heading())
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

func (p Problem) heading() string {
	heading := p.Message
	if p.Component != "" {
		heading = p.Component + ": " + heading
	}
	if p.Severity == Warning {
		heading = "warning: " + heading
	}
	if p.File == "" {
		return heading
	}
	return p.Position.String() + ": " + heading
}

// Problems are all problems of a load. It is an error if not empty.
type Problems []Problem

var _ error = Problems(nil)

// Error returns the output of WriteText.
func (p Problems) Error() string {
	var b strings.Builder
	p.WriteText(&b)
	return strings.TrimRight(b.String(), "\n")
}

// Sort sorts the problems in file order: the Spicepod first, then the other files by
// name; within a file by position. The sort is stable.
func (p Problems) Sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(fileRank(a.File)-fileRank(b.File), strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
}

func fileRank(file string) int {
	if file == "spicepod.yaml" || file == "spicepod.yml" {
		return 0
	}
	return 1
}

// Cause is a problem, with the components that wait for what it is about.
type Cause struct {
	Problem
	Waiting []string // directly or through others, each once, in the order of the problems
}

// Causes returns the problems but those of components that only wait for another one: these
// are with the first error of the component that they wait for in the end. A problem that
// waits for what has no error in the list is a cause itself.
func (p Problems) Causes() []Cause {
	errors := map[string]int{} // the error of each component that its others wait for
	for i, q := range p {
		if first, found := errors[q.Component]; q.Severity == Error &&
			(!found || p[first].WaitsFor != "" && q.WaitsFor == "") {
			errors[q.Component] = i
		}
	}
	roots := make(map[int]int, len(p))
	var root func(i int) int
	root = func(i int) int {
		if r, known := roots[i]; known {
			return r
		}
		roots[i] = i // a cycle ends here
		if next, found := errors[p[i].WaitsFor]; found && p[i].WaitsFor != "" {
			roots[i] = root(next)
		}
		return roots[i]
	}
	var list []Cause
	at := map[int]int{}
	for i, q := range p {
		if root(i) == i {
			at[i] = len(list)
			list = append(list, Cause{Problem: q})
		}
	}
	type wait struct {
		component string
		cause     int
	}
	listed := map[wait]bool{}
	for i, q := range p {
		if w := (wait{q.Component, root(i)}); w.cause != i && !listed[w] {
			listed[w] = true
			c := &list[at[w.cause]]
			c.Waiting = append(c.Waiting, q.Component)
		}
	}
	return list
}

// HasErrors reports whether any problem is more than a warning.
func (p Problems) HasErrors() bool {
	return slices.ContainsFunc(p, func(q Problem) bool { return q.Severity == Error })
}

// WriteJSON writes the problems as a JSON array of objects with the keys file,
// line, column, severity, component, path, message, hint and source.
func (p Problems) WriteJSON(w io.Writer) error {
	return writeIndented(w, append([]Problem{}, p...))
}

func writeIndented(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
