package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

// Limits of tool_search and tool_invoke; the invoked tool has separate limits.
var metaLimits = tools.Limits{Timeout: 24 * time.Hour, MaxRows: 1 << 30, MaxBytes: 1 << 30, Concurrency: 4096}

// searchArguments are the arguments of tool_search.
type searchArguments struct {
	Query    string   `json:"query" doc:"What the tool should do. \"*\" lists all tools."`
	Keywords []string `json:"keywords,omitempty" doc:"Exact phrases to favour, such as column names."`
	Limit    *int     `json:"limit,omitempty" min:"1" doc:"Tools to return: by default 5, at most 20."`
	Offset   int      `json:"offset,omitempty" min:"0" doc:"Tools to skip, to see those that follow."`
	MinScore float64  `json:"min_score,omitempty" min:"0" max:"1" doc:"Least score of a tool."`
}

// invokeArguments are the arguments of tool_invoke.
type invokeArguments struct {
	ToolID    string         `json:"tool_id" doc:"The tool_id that tool_search returned."`
	Arguments map[string]any `json:"arguments,omitempty" doc:"Arguments that fit the tool's parameters."`
}

// Invoked is the response of tool_invoke.
type Invoked struct {
	ToolID      string          `json:"tool_id"`
	Result      json.RawMessage `json:"result"`
	*tools.Rows                 // if rows were cut off
	Notices     []string        `json:"notices,omitempty"`
	// NextTools are hints: see runtime.tools.next_tools.
	NextTools []NextTool `json:"next_tools,omitempty" doc:"Tools that take what the result has."`

	content []tools.Content
}

// Output returns the response with the content of the invoked tool.
func (i *Invoked) Output() (tools.Output, error) {
	type plain Invoked // without this method
	out, err := tools.JSON((*plain)(i))
	if out.Content = i.content; out.Content != nil && len(i.Notices) > 0 {
		out.Content = append(out.Content[:len(out.Content):len(out.Content)],
			tools.Content{Text: strings.Join(i.Notices, "\n")})
	}
	return out, err
}

// maxDescribed is how many tools one call of tool_describe shows.
const maxDescribed = 20

// describeArguments are the arguments of tool_describe.
type describeArguments struct {
	ToolIDs []string `json:"tool_ids" doc:"The names of the tools, at most 20."`
}

// Described is the response of tool_describe, in the order of the request.
type Described struct {
	Tools []DescribedTool `json:"tools"`
}

// DescribedTool is a tool, or why there is none of the name.
type DescribedTool struct {
	ToolID      string          `json:"tool_id"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty" type:"object"`
	Returns     json.RawMessage `json:"returns,omitempty" type:"object"`
	Error       string          `json:"error,omitempty"`
}

// metaTools returns tool_search, tool_invoke and tool_describe.
func metaTools(r *Registry) map[string]*entry {
	about := func(name, description string) tools.Definition {
		return tools.Definition{
			Name: name, Description: description, Source: tools.SourceBuiltin, Limits: &metaLimits, Declared: "built in",
			Annotations: tools.Annotations{
				ReadOnly: name != ToolInvoke, Idempotent: name != ToolInvoke,
				OpenWorld: name == ToolInvoke,
			},
		}
	}
	search := Must(tools.Typed(about(ToolSearch,
		"Find tools for the current step by what they do. Call this before tool_invoke. Returns the best matches "+
			"with tool_id, description, parameters and score."),
		r.toolSearch))
	invoke := Must(tools.Typed(about(ToolInvoke,
		"Call a tool that tool_search returned, by its tool_id."),
		r.toolInvoke))
	describe := Must(tools.Typed(about(ToolDescribe,
		"Get the parameters of tools by their names. Call this for the tools that you are about to use, before tool_invoke."),
		r.toolDescribe))
	return map[string]*entry{
		ToolDescribe: newEntry(describe, describe.Definition(), metaLimits),

		ToolSearch: newEntry(search, search.Definition(), metaLimits),
		ToolInvoke: newEntry(invoke, invoke.Definition(), metaLimits),
	}
}

// Must is for the runtime's definitions, which a test checks.
func Must(t tools.Tool, err error) tools.Tool {
	if err != nil {
		panic(err)
	}
	return t
}

// MetaTools are the definitions of tool_search and tool_invoke, in this order.
func (r *Registry) MetaTools() []*tools.Definition {
	return []*tools.Definition{r.meta[ToolSearch].def, r.meta[ToolInvoke].def}
}

// DescribeTool is the definition of tool_describe.
func (r *Registry) DescribeTool() *tools.Definition { return r.meta[ToolDescribe].def }

// toolDescribe describes tools that the scope sees and may call. One that it does not see is
// described like one that does not exist.
func (r *Registry) toolDescribe(_ context.Context, args describeArguments, in tools.Input) (*Described, error) {
	if n := len(args.ToolIDs); n == 0 || n > maxDescribed {
		return nil, tools.NewError(errcode.InvalidArguments,
			fmt.Sprintf("tool_ids has %d names; it takes 1 to %d", n, maxDescribed), "")
	}
	c, scope := r.Current(), in.Scope
	d := &Described{Tools: make([]DescribedTool, len(args.ToolIDs))}
	for i, name := range args.ToolIDs {
		e := c.get(name)
		if e == nil || !c.sees(e, scope) || !scope.MayCall(e.def.Name) || scope.Visible != nil && !scope.Visible(e.def.Name) {
			d.Tools[i] = DescribedTool{ToolID: name, Error: c.notFound(name, scope).Explain()}
			continue
		}
		d.Tools[i] = DescribedTool{
			ToolID: e.def.Name, Description: e.def.Text(), Parameters: e.def.Parameters,
			Returns: e.def.Returns,
		}
	}
	return d, nil
}

func (r *Registry) toolSearch(ctx context.Context, args searchArguments, in tools.Input) (*Found, error) {
	q := SearchRequest{
		Query: args.Query, Keywords: args.Keywords, Offset: args.Offset, MinScore: args.MinScore,
		Scope: in.Scope, EmbeddingModel: in.Scope.EmbeddingModel,
	}
	if args.Limit != nil {
		q.Limit = *args.Limit
	}
	return r.Search(ctx, q)
}

// toolInvoke calls a tool of the catalog. A failure is returned as the error,
// with the tool's name, so that a model can decide how to continue.
func (r *Registry) toolInvoke(ctx context.Context, args invokeArguments, in tools.Input) (*Invoked, error) {
	raw, err := tools.Encode(args.Arguments)
	if err != nil {
		return nil, err
	}
	result := r.Invoke(ctx, Call{Name: args.ToolID, Arguments: raw, Scope: in.Scope, inner: true})
	if !result.OK {
		return nil, result.Error.Of(args.ToolID)
	}
	invoked := &Invoked{
		ToolID: result.Tool.Name, Result: result.Result, Notices: result.Notices, content: result.Content,
		NextTools: r.Current().nextTools(result.Tool.Name, result.Result, in.Scope),
	}
	if result.Rows != nil && result.Rows.Truncated {
		invoked.Rows = result.Rows
	}
	return invoked, nil
}
