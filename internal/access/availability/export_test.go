package availability

import "github.com/spiced-sql/spiced/spicepod"

// CompileExpression compiles one expression with the settings of a Spicepod.
func CompileExpression(pod *spicepod.Pod, text string) (*Rule, *Fault) {
	c := &compiler{pod: pod, policy: &Policy{}}
	c.readSettings()
	x, fault := c.compile(text)
	return &Rule{Declared: "function f", Text: text, expression: x}, fault
}
