// Package availability decides which tools and functions a caller may see and call: the
// expressions of `available`, in CEL; and which calls require approval: those of
// `requires_approval`.
//
//	policy, problems := availability.Compile(pod, nil)
//	for _, rule := range policy.Rules(tool) {
//		if ok, reason := rule.Allows(availability.ContextOf(who, time.Now()), tool); !ok {
//			return reason
//		}
//	}
//
// Expressions are typed: every field of ctx, ctx.settings and tool is declared, so that a
// misspelt one is a fault of the Spicepod. What fails at run time is not available.
package availability

// Limits of expressions.
const (
	MaxExpression = 4 << 10 // bytes
	MaxDepth      = 64      // nested operations
	MaxNesting    = 2       // nested macros such as exists
	MaxPattern    = 1 << 10 // instructions of a regular expression
	MaxCost       = 10_000  // of one evaluation, in CEL's units: about one for each operation
	MaxSettings   = 1000
)
