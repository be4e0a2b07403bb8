package documents

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

// searchWeb answers web_search: it calls the tool that the toolset names.
func (t *toolset) searchWeb(ctx context.Context, _ *definition, in tools.Input) (any, error) {
	def := t.env.Tool(t.config.WebSearch)
	if def == nil {
		return nil, unavailable
	}
	argument := queryArgument(def.Parameters)
	if argument == "" {
		return nil, tools.NewError(errcode.Execution, "the tool that searches the web has no argument for the query",
			"it needs one that is called query or q, or is the only required one")
	}
	scope := in.Scope
	scope.Callable = nil // who may call web_search may call what it is made of
	result := t.env.Call(ctx, t.config.WebSearch, map[string]any{argument: in.Arguments["query"]}, scope)
	if result.Error == nil {
		return result.Result, nil
	}
	if code := result.Error.Code; code == errcode.ToolNotFound || code == errcode.ToolUnavailable {
		return nil, unavailable
	}
	return nil, result.Error
}

// unavailable does not name the tool, which the caller may not know of.
var unavailable = tools.NewError(errcode.ToolUnavailable, "searches of the web are not available at the moment", "")

// queryArgument returns the argument of a tool that takes the query, or "".
func queryArgument(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct{ Type any }
		Required   []string
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	for _, name := range []string{"query", "q"} {
		if _, ok := s.Properties[name]; ok {
			return name
		}
	}
	if len(s.Required) == 1 {
		return s.Required[0]
	}
	return ""
}

// checkHost checks an entry of fetch_hosts.
func checkHost(host string) error {
	name, port, found := strings.Cut(host, ":")
	if i := strings.LastIndexByte(host, ':'); found && i >= 0 {
		name, port = host[:i], host[i+1:]
	}
	if _, err := strconv.ParseUint(port, 10, 16); !found || name == "" || err != nil {
		return fmt.Errorf("%q is not a host and a port", host)
	}
	return nil
}
