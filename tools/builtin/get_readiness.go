package builtin

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/tools"
)

// newGetReadiness returns the tool that reports the readiness of components.
func newGetReadiness(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "get_readiness",
		Description: "Says for each component of the runtime (datasets, views, functions, models) whether it is ready, " +
			"has loaded or has an error. " +
			"Use it when a table or function is missing or when the state of the system is asked for.",
		Returns: json.RawMessage(`{"type":"object","additionalProperties":{"type":"string"},"description":"The state of each component, such as Ready."}`),
		Tags:    []string{"status"},
	})
	return tools.Typed(def, func(_ context.Context, _ struct{}, in tools.Input) (map[string]string, error) {
		hides, states := env.Hidden(in.Scope), map[string]string{}
		for component, state := range env.Readiness() {
			if name, ok := strings.CutPrefix(component, "function:"); !ok || !hides(name) {
				states[component] = state
			}
		}
		return states, nil
	})
}
