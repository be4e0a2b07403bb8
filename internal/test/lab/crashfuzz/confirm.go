package main

import (
	"context"
	"slices"
	"strings"
)

// confirm runs the statement again, as a caller's and in a child of its own, and
// returns the smallest statement that still is of the class, or why there is none.
func (t *tester) confirm(ctx context.Context, s *subject, n try, class string) (sql, why string, err error) {
	got := ""
	for range 3 { // stray memory may be harmless at times
		if got, err = t.fresh(ctx, n.sql); err != nil || got == class {
			break
		}
	}
	if err != nil || got != class {
		return "", "alone it is " + quoted(got), err
	}
	if len(s.f.whole) > 0 {
		return n.sql, "", nil
	}
	for _, a := range n.args {
		if strings.HasPrefix(a, "lambda ") {
			continue
		}
		if got, err = t.fresh(ctx, "SELECT ("+a+") IS NULL"); err != nil || got == class {
			return "", "the argument is: " + a, err
		}
	}
	if n.control != "" {
		if got, err = t.fresh(ctx, n.control); err != nil || got == class {
			return "", "the statement around it is: " + n.control, err
		}
	}
	sql = n.sql
	simple := simplest(s, n.args)
	if got, err = t.fresh(ctx, simple); err != nil || got != class {
		return sql, "", err
	}
	sql, args := simple, slices.Clone(n.args)
	for i := range args {
		for _, v := range []string{"NULL", "1", "'a'", "[1]"} {
			if strings.HasPrefix(args[i], "lambda ") || args[i] == v {
				break
			}
			smaller := slices.Clone(args)
			smaller[i] = v
			if got, err = t.fresh(ctx, simplest(s, smaller)); err != nil {
				return "", "", err
			}
			if got == class {
				sql, args = simplest(s, smaller), smaller
				break
			}
		}
	}
	return sql, "", nil
}

// simplest is the shortest statement with a call.
func simplest(s *subject, args []string) string {
	expr := s.f.call(args)
	switch {
	case isStatement(s.f.template()):
		return expr
	case strings.HasPrefix(s.f.signatures[0].kind, "table"):
		return "SELECT * FROM " + expr
	case windowOnly[s.f.name]:
		return "SELECT " + expr + " OVER ()"
	}
	return "SELECT " + expr
}

func quoted(class string) string {
	if class == "" {
		return "harmless"
	}
	return class
}
