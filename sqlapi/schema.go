package sqlapi

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/schema"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// components are the types that the OpenAPI document describes by name.
var components = map[string]any{
	"Caller":         callerInfo{},
	"Error":          requestError{},
	"EventReload":    Reloaded{},
	"EventWork":      workEvent{},
	"EventStatus":    statusEvent{},
	"SearchIndex":    SearchIndex{},
	"EventHello":     helloEvent{},
	"Problem":        spicepod.Problem{},
	"Component":      Component{},
	"Message":        message{},
	"Reload":         Reload{},
	"Spicepod":       Spicepod{},
	"Dataset":        Dataset{},
	"Refresh":        RefreshOptions{},
	"Function":       Function{},
	"FunctionTest":   FunctionTest{},
	"SpicepodFile":   SpicepodFile{},
	"Sandbox":        Sandbox{},
	"SandboxPackage": SandboxPackage{},
	"Field":          Field{},
	"Type":           Type{},

	"SQL":             sqlBody{},
	"Result":          sqlResult{},
	"ResultField":     resultField{},
	"Question":        questionBody{},
	"QuestionResult":  questionResult{},
	"RowSearch":       builtin.SearchArgs{},
	"RowSearchAnswer": rowSearchAnswer{},
	"RowSearchResult": rowSearchResult{},
	"ActiveQueries":   activeQueries{},
	"QueryStatus":     queryStatus{},
	"Query":           submittedQuery{},
	"Queries":         submittedQueries{},
	"QueryChunk":      queryChunk{},
	"KeptResults":     storedResults{},

	"ToolSummary":     tools.PlannerView{},
	"Tool":            tools.Definition{},
	"ToolAnnotations": tools.Annotations{},
	"ToolLimits":      tools.Limits{},
	"ToolStats":       registry.Stat{},
	"ToolStatus":      registry.Status{},
	"ToolStage":       registry.Stage{},
	"ToolDefinition":  offered{},
	"ToolFunction":    offeredFunction{},
	"Invocation":      invocation{},
	"Context":         callerContext{},
	"Trace":           caller.Trace{},
	"ToolResult":      tools.Result{},
	"ToolError":       tools.Error{},
	"Fault":           tools.Fault{},
	"ToolMetrics":     tools.Metrics{},
	"ToolSearch":      toolSearch{},
	"ToolsFound":      toolsFound{},
	"FoundTool":       registry.FoundTool{},
	"MatchSource":     registry.MatchSource{},
	"ToolWhy":         registry.Why{},
	"ToolChannel":     search.WhyChannel{},

	"Approval":      approval.Approval{},
	"Decision":      approval.Decision{},
	"NeedsApproval": tools.NeedsApproval{},
	"WouldRun":      tools.WouldRun{},

	"EmbeddingRequest":  embeddings.Request{},
	"EmbeddingResponse": embeddings.Response{},
	"Embedding":         embeddings.Item{},
	"EmbeddingUsage":    embeddings.Usage{},

	"ModelList":          modelList{},
	"AgentList":          agentList{},
	"Model":              modelLine{},
	"ModelTools":         models.ToolPlan{},
	"AnthropicModelList": anthropicModelList{},
	"AnthropicModel":     anthropicModel{},
	"ChatRequest":        completionsBody{},
	"ChatCompletion":     completionsAnswer{},
	"MessagesRequest":    messagesBody{},
	"MessagesResponse":   messagesAnswer{},
	"ResponsesRequest":   responsesBody{},
	"ResponsesResponse":  responsesAnswer{},
	"ToolEvent":          typedCallEvent{},
	"Cancelled":          cancelled{},
	"OpenAIError":        embeddings.WireError{},
	"OpenAIErrorBody":    embeddings.WireErrorBody{},
	"AnthropicError":     anthropicError{},
}

// requests are the components that clients send: null is an absent value in them.
var requests = []string{
	"SQL", "Question", "RowSearch", "Refresh", "Invocation", "Context", "Trace", "ToolSearch", "EmbeddingRequest",
	"ChatRequest", "MessagesRequest", "ResponsesRequest",
}

// schemas returns the schemas of the components.
func schemas() schema.Schema {
	names := map[reflect.Type]string{}
	for name, value := range components {
		names[reflect.TypeOf(value)] = name
	}
	d := schema.Deriver{Key: "json", Custom: func(t reflect.Type) schema.Schema {
		switch name := names[t]; {
		case t == reflect.TypeFor[rowsJSON]():
			return listOf(ref("Row"))
		case name != "":
			return ref(name)
		}
		return nil
	}}
	all := schema.Schema{"Row": schema.Schema{
		"type": "object", "description": "A column's name to its value. Columns of the same name are kept apart: x, x:1.",
	}}
	for name, value := range components {
		d.Nullable = slices.Contains(requests, name)
		all[name] = schema.Must(d.Object(reflect.TypeOf(value)))
	}
	return all
}

// The schemas of parameters.
var (
	text    = schema.Schema{"type": "string"}
	boolean = schema.Schema{"enum": []any{true, false, "", 1, 0}} // ?explain and ?explain=1 are ?explain=true
	object  = schema.Schema{"type": "object"}
)

func atLeast(n int) schema.Schema {
	return schema.Schema{"type": "integer", "minimum": n, "maximum": math.MaxInt32}
}

func oneOf(values ...string) schema.Schema { return schema.Schema{"type": "string", "enum": values} }

func anyOf(forms ...any) schema.Schema { return schema.Schema{"anyOf": forms} }

func listOf(items schema.Schema) schema.Schema { return schema.Schema{"type": "array", "items": items} }

func ref(name string) schema.Schema {
	return schema.Schema{"$ref": "#/components/schemas/" + name}
}

// rowsJSON is rows that are encoded already.
type rowsJSON struct{ json.RawMessage }

// sqlResult describes the form sql of package format, which is a stream.
type sqlResult struct {
	RowCount int64 `json:"row_count"`
	Schema   struct {
		Fields []resultField `json:"fields"`
	} `json:"schema"`
	Data rowsJSON `json:"data"`
}

type resultField struct {
	Name          string `json:"name"`
	DataType      any    `json:"data_type" doc:"An Arrow type."`
	Nullable      bool   `json:"nullable"`
	DictID        int64  `json:"dict_id"`
	DictIsOrdered bool   `json:"dict_is_ordered"`
	Metadata      any    `json:"metadata" type:"object"`
}

// questionResult describes what [withSQL] writes.
type questionResult struct {
	SQL string `json:"sql" doc:"The statement."`
	sqlResult
}
