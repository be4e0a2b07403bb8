package runtime

import (
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// component is a function or a view: what is created in dependency order.
type component struct {
	function *functions.Function
	view     *datasets.View
}

func (c component) String() string {
	if c.function != nil {
		return "function " + c.function.Name
	}
	return "view " + c.view.Declared.Name
}

func (c component) uses() (names []string, relations []engine.Relation) {
	if c.function != nil {
		return c.function.Uses.Functions, c.function.Uses.Relations
	}
	return c.view.Uses.Functions, c.view.Uses.Relations
}

// problem returns a problem of the component as a whole.
func (c component) problem(pod *spicepod.Pod, message, hint string) spicepod.Problem {
	p := pod.KeyProblem(c.pathIn(pod)+".name", message, hint)
	p.Component = c.String()
	return p
}

// pathIn returns where pod declares the component. A last good version may come
// from an older Spicepod.
func (c component) pathIn(pod *spicepod.Pod) string {
	if c.function != nil {
		for i := range pod.Functions {
			if sqltree.Fold(pod.Functions[i].Name) == sqltree.Fold(c.function.Name) {
				return fmt.Sprintf("functions[%d]", i)
			}
		}
		return "functions"
	}
	for i := range pod.Views {
		if relationOf(pod.Views[i].Qualified()) == c.view.Relation {
			return fmt.Sprintf("views[%d]", i)
		}
	}
	return "views"
}

func asProblem(pod *spicepod.Pod, c component, err error) *spicepod.Problem {
	if err == nil {
		return nil
	}
	var p *spicepod.Problem
	if errors.As(err, &p) {
		return p
	}
	problem := c.problem(pod, err.Error(), "")
	return &problem
}

func relationOf(schema, name string) engine.Relation {
	if schema == "" {
		schema = engine.Public
	}
	return engine.Relation{Schema: schema, Name: name}
}
