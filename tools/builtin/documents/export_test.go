package documents

import "regexp"

func mustExpression(text string) *regexp.Regexp { return regexp.MustCompile("(?m)(?:" + text + ")") }

// GlobExpression is globExpression.
var GlobExpression = globExpression

// GrepText returns the matches of an expression in one text, as grep_documents finds them.
func GrepText(expression, text string, context int) []Match {
	g := &grepping{expression: mustExpression(expression), context: context, most: 1 << 20}
	g.document(Match{}, text)
	return g.result.Matches
}
