package availability

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/types"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Rule is one expression of `available` or `requires_approval`. It is immutable and safe for concurrent use.
type Rule struct {
	Declared string // what declares it: function refund
	Text     string
	// Path is the path of the expression in the Spicepod.
	Path string

	expression *expression // nil: it has a fault
}

// Fields are the fields of ctx that the expression uses.
func (r *Rule) Fields() Fields {
	if r.expression == nil {
		return 0
	}
	return r.expression.fields
}

// Variant identifies the values of the fields of t that the expression uses: tools with
// equal variants are available in the same contexts.
func (r *Rule) Variant(t *Tool) string {
	if r.expression == nil || len(r.expression.tool) == 0 {
		return ""
	}
	variant := ""
	for i, value := range []string{t.Name, t.Owner, fmt.Sprintf("%q", t.Tags), t.Source, string(t.Risk)} {
		if r.expression.tool[fields[i]] {
			variant += value + "\x00"
		}
	}
	return variant
}

var (
	// errFault means that the expression was not compiled.
	errFault = errors.New("its expression has a fault")
	// errNull means that a function or an operator does not take a value: null, as the types
	// of all others are known.
	errNull = errors.New("its expression failed: it calls a function or an operator with null; ask for != null first")
)

// Eval evaluates the expression. With an error it failed: the tool is not available.
func (r *Rule) Eval(c *Context, t *Tool) (available bool, err error) {
	if r.expression == nil {
		return false, errFault
	}
	defer func() {
		if p := recover(); p != nil {
			available, err = false, fmt.Errorf("it failed inside: %v", p)
		}
	}()
	value, _, err := r.expression.program.Eval(&activation{c, t})
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "no such overload"):
		return false, errNull
	case err != nil:
		return false, errors.New(truncate.Ellipsis(err.Error(), maxShown))
	}
	return value == types.True, nil
}

// Reason returns why the rule hides a tool from c, or "".
func (r *Rule) Reason(c *Context, t *Tool) string {
	available, err := r.Eval(c, t)
	switch {
	case err != nil:
		return fmt.Sprintf("available of %s: %s", r.Declared, err)
	case !available:
		return fmt.Sprintf("available of %s is false: %s", r.Declared, truncate.Ellipsis(r.Text, maxShown))
	}
	return ""
}

// Requires reports whether a call requires approval by the rule of requires_approval. A
// failure, which is returned, requires it.
func (r *Rule) Requires(c *Context, t *Tool) (bool, error) {
	required, err := r.Eval(c, t)
	return required || err != nil, err
}

// Name is the name of the component that declares the rule.
func (r *Rule) Name() string {
	_, name, _ := strings.Cut(r.Declared, " ")
	return name
}
