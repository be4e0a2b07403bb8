package spicepod

import (
	"strings"
	"time"
)

// Embedding is one entry of `embeddings:`.
type Embedding struct {
	Name        string         `yaml:"name" required:"true" doc:"Name of the embedding model."`
	From        string         `yaml:"from" required:"true" doc:"Provider and model: openai:<model>, builtin:semantic, file:<folder>, huggingface:<organisation>/<model>."`
	Description string         `yaml:"description" doc:"What the model is for."`
	Params      Params         `yaml:"params" doc:"Settings of the provider."`
	Metadata    map[string]any `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
	DependsOn   []string       `yaml:"dependsOn" doc:"Components that must be loaded first."`
	Files       []any          `yaml:"files" served:"no" instead:"'from: file:FOLDER' of a sentence encoder" doc:"Files of a local model."`
	Datasets    []string       `yaml:"datasets" served:"no" instead:"'columns[].embeddings' of the datasets" doc:"Datasets it embeds."`

	// Key is the key of the provider in the environment, as ${secrets:openai_api_key} finds it; see
	// [Entry.UseKey].
	Key Text `yaml:"-" json:"-"`
}

// Tool is one entry of `tools:`.
type Tool struct {
	From        string          `yaml:"from" required:"true" doc:"Source of the tool: builtin:<name>, mcp:<command or URL>, spiced:<URL of another runtime>; with as_sql also tool:<name> of any other tool, such as tool:server__tool or an agent."`
	Name        string          `yaml:"name" required:"true" doc:"Name of the tool."`
	Description string          `yaml:"description" doc:"What the tool does; replaces the built-in description."`
	WhenToUse   string          `yaml:"when_to_use" doc:"When a model should call the tool, in a sentence. See docs/models.md."`
	NotFor      string          `yaml:"not_for" doc:"What the tool is not for, and which tool is."`
	Examples    []Example       `yaml:"examples" doc:"Calls that show how to use the tool, at most 10."`
	Documents   []ToolDocument  `yaml:"documents" doc:"For an MCP server: texts for its tools, in place of the server's and in addition to them."`
	Params      Params          `yaml:"params" doc:"Settings of the source."`
	Owner       string          `yaml:"owner" doc:"Agent that the tool belongs to: an entry of agents, if there are any; else any name. Without it: runtime."`
	Available   string          `yaml:"available" doc:"CEL expression over ctx and tool: who may see and call the tool, or each tool of an MCP server. Without it: everyone. See docs/availability.md."`
	Limits      Limits          `yaml:"limits" doc:"Limits on each call."`
	AsSQL       bool            `yaml:"as_sql" default:"false" doc:"Make the tool callable from SQL, as the function of the signature. See docs/bodies.md."`
	Signature   *Signature      `yaml:"signature" doc:"Signature of the SQL function. Without args: those of the tool's schema. Without returns: json."`
	Dispatch    string          `yaml:"dispatch" enum:"early,after_response" doc:"When a chat starts a call: as soon as its arguments are complete, or after the model's answer. Without it: early, unless the tool is destructive."`
	Parallel    *bool           `yaml:"parallel" default:"true" doc:"Whether a chat may run several calls of the tool at once."`
	DependsOn   []string        `yaml:"dependsOn" doc:"Components that must be loaded first."`
	Env         map[string]Text `yaml:"env" doc:"Environment of an MCP command, in addition to PATH, HOME and similar variables."`
	Pin         string          `yaml:"pin" enum:"none,checksum" default:"none" doc:"For an MCP server, checksum refuses tools whose texts, schemas or annotations have changed since spiced mcp pin."`
	Metrics     any             `yaml:"metrics" served:"no" instead:"the metrics of tools at '/metrics', and 'spiced.tool_usage'" doc:"Metrics of the tool."`

	Risk             Risk      `yaml:"risk" enum:"read,write,destructive" doc:"What a call may do: read, write, or destroy what cannot be brought back. Without it: read; for tools of MCP servers, what their annotations say."`
	RequiresApproval Condition `yaml:"requires_approval" doc:"Whether a person has to approve each call of the tool, or of each tool of an MCP server: true, or a CEL expression over ctx and tool, such as tool.risk != 'read'. See docs/approvals.md."`
}

// Of is the name of the tool that an entry from tool: makes a function of, or "".
func (t Tool) Of() string {
	if t.Scheme() != "tool" {
		return ""
	}
	_, name, _ := strings.Cut(t.From, ":")
	return strings.TrimSpace(name)
}

// Toolset is one entry of `toolsets:`.
type Toolset struct {
	Name        string   `yaml:"name" required:"true" doc:"Name of the toolset; models may write it among their tools."`
	From        string   `yaml:"from" doc:"builtin:documents: the toolset brings twelve tools over the documents of a dataset. See docs/documents.md. Without it, tools names the tools."`
	Description string   `yaml:"description" doc:"What the tools have in common."`
	Tools       []string `yaml:"tools" doc:"Names of tools and functions; * matches any characters, as in wiki__*. With from, the toolset has its own."`
	Params      Params   `yaml:"params" doc:"Settings of the tools that from brings."`
	Available   string   `yaml:"available" doc:"CEL expression over ctx and tool: who may see and call these tools, in addition to the expressions of the tools themselves. Without it: everyone. See docs/availability.md."`

	// Conditions are the expressions of available of the tools that from brings, by name.
	Conditions map[string]string `yaml:"-" json:"-"`
}

// Scheme returns the part of From before the first colon, in lower case.
func (t Tool) Scheme() string { return schemeOf(t.From) }

// Server reports whether the entry is a server that has tools of its own.
func (t Tool) Server() bool { return t.Scheme() == "mcp" || t.Scheme() == "spiced" }

// Builtin is the name of the built-in tool in From, or "".
func (t Tool) Builtin() string {
	if t.Scheme() != "builtin" {
		return ""
	}
	_, name, _ := strings.Cut(t.From, ":")
	return strings.TrimSpace(name)
}

// Limits are the limits of each call of a tool. Zero means no limit.
type Limits struct {
	Timeout     time.Duration `yaml:"timeout" doc:"Time limit of a call."`
	MaxRows     int           `yaml:"max_rows" min:"0" doc:"Maximum rows of a result; it is truncated, and marked as such, if there are more."`
	MaxBytes    Size          `yaml:"max_bytes" doc:"Maximum size of a result, as JSON."`
	Concurrency int           `yaml:"concurrency" min:"0" doc:"Concurrent calls; any further one fails with too_many_requests."`

	MaxCalls  int `yaml:"max_calls" min:"0" doc:"Calls that one statement may make of a function that is not SQL or of a tool with as_sql, each with other arguments; a statement that needs more fails."`
	BatchRows int `yaml:"batch_rows" min:"0" doc:"Rows that one call of a function that is not SQL gets at most. Without it: 2048."`

	MaxCallsPerSession int `yaml:"max_calls_per_session" min:"0" doc:"Calls in a session: of an MCP client, of a chat request, or of all requests with one session ID (X-Spiced-Session). Any further one fails with limit_exceeded. It keeps a model from repeating itself; callers choose their session IDs."`
}

// SearchTest is one entry of `search_tests:`: a search for tools and its expected result.
type SearchTest struct {
	Query    string   `yaml:"query" required:"true" doc:"The search query."`
	Keywords []string `yaml:"keywords" doc:"Phrases that must occur, as in tool_search."`
	Expect   string   `yaml:"expect" required:"true" doc:"Tool that must be found."`
	Top      int      `yaml:"top" default:"3" min:"1" doc:"Lowest allowed rank of the tool, at most 20."`
}

// Descriptions says whether tools need a description.
type Descriptions string

// The values of [RuntimeTools.Descriptions].
const (
	DescriptionsOptional Descriptions = "optional"
	DescriptionsRequired Descriptions = "required"
)

// RuntimeTools is `runtime.tools`.
type RuntimeTools struct {
	Domains        []string   `yaml:"domains" doc:"Groups of built-in tools to offer; core is all. The environment variable TOOL_REGISTRY_DOMAINS overrides it."`
	EmbeddingModel string     `yaml:"embedding_model" doc:"Embedding model of tool_search outside chats, when there are several."`
	Search         ToolSearch `yaml:"search" doc:"How tools are ranked."`

	Descriptions Descriptions `yaml:"descriptions" enum:"optional,required" default:"optional" doc:"Whether a tool needs a description, by which models choose it. With required, a tool without one is an error and is not offered to models; a function stays in SQL."`

	Settings map[string]any `yaml:"settings" doc:"Values for the expressions of available, as ctx.settings: booleans, numbers, texts, and lists of one of these."`

	NextTools             bool          `yaml:"next_tools" default:"true" doc:"Whether a result of tool_invoke names up to three tools that take what it has, by the names and types of fields and arguments. See docs/models.md."`
	SessionPin            time.Duration `yaml:"session_pin" default:"1h" doc:"How long a chat session without requests keeps the list of tools that it began with; 0 means that each request gets the current one. See docs/agents.md."`
	ApprovalWait          time.Duration `yaml:"approval_wait" default:"0s" doc:"How long a call that needs approval waits for the decision before it fails with approval_required."`
	ApprovalExpiry        time.Duration `yaml:"approval_expiry" default:"1h" doc:"How long after it was asked for an approval can be given and used."`
	MaxApprovals          int           `yaml:"max_approvals" default:"1000" min:"1" doc:"Approvals that may be open: pending, or approved and not used."`
	MaxApprovalsPerCaller int           `yaml:"max_approvals_per_caller" default:"100" min:"1" doc:"Of these, for one key or, without keys, one address."`

	Documents ToolDocuments `yaml:"documents" doc:"What models are sent of when_to_use, not_for and examples."`

	Limits  Limits      `yaml:"limits" doc:"Limits of tools without their own."`
	Cache   ToolCache   `yaml:"cache" doc:"Cached results of functions."`
	History ToolHistory `yaml:"history" doc:"The history of calls and searches."`
}

// ToolDocuments is `runtime.tools.documents`.
type ToolDocuments struct {
	Tokens int  `yaml:"tokens" default:"60" min:"0" doc:"Estimated tokens that when_to_use, not_for and examples may add to the definition of a tool. What does not fit is left out; search finds tools by it all the same."`
	Tests  bool `yaml:"tests" default:"true" doc:"Show up to three tests of a function as examples, unless it has examples."`
}

// Learn says whether searches learn from use.
type Learn string

// The values of [ToolSearch.Learn].
const (
	LearnOn  Learn = "on"
	LearnOff Learn = "off"
)

// ToolSearch is `runtime.tools.search`: weighted reciprocal rank fusion.
type ToolSearch struct {
	K                float64       `yaml:"k" default:"3" min:"1" max:"1000" doc:"Rank constant: the larger, the less the rank matters."`
	Depth            int           `yaml:"depth" default:"50" min:"1" doc:"Number of ranks of each channel that are considered."`
	FullText         float64       `yaml:"full_text" default:"2" min:"0" max:"1000" doc:"Weight of the full-text channel."`
	Vector           float64       `yaml:"vector" default:"2" min:"0" max:"1000" doc:"Weight of the vector channel of a model; 0 also switches off the vectors of builtin:hash."`
	Agreement        float64       `yaml:"agreement" default:"5" min:"0" max:"1000" doc:"Weight of the channel of tools that full-text and the vectors of a model support together."`
	Learned          float64       `yaml:"learned" default:"8" min:"0" max:"1000" doc:"Weight of the channel of tools that past queries support."`
	Learn            Learn         `yaml:"learn" enum:"on,off" default:"on" doc:"Whether searches that end in a successful call of a tool help later ones that are alike, see docs/retrieval.md. With off, what was learned is forgotten."`
	NGrams           float64       `yaml:"ngrams" default:"1" min:"0" max:"1000" doc:"Weight of the channel of n-grams, which are the vectors of builtin:hash."`
	Keyword          float64       `yaml:"keyword" default:"0.5" min:"0" max:"1000" doc:"Weight of the keyword channel."`
	Schema           float64       `yaml:"schema" default:"0.1" min:"0" max:"1000" doc:"Weight of the channel of parameter names."`
	NoGoodMatch      float64       `yaml:"no_good_match" min:"0" doc:"Confidence below which a search is marked no_good_match; 0 means the calibrated value."`
	EmbeddingTimeout time.Duration `yaml:"embedding_timeout" default:"1s" doc:"How long a search waits for the embedding model before it uses keywords only."`
}

// ToolCache is `runtime.tools.cache`.
type ToolCache struct {
	Enabled  bool `yaml:"enabled" default:"true" doc:"Cache the results of functions that are immutable and read no dataset, and of stable and immutable ones over accelerated data until its next refresh."`
	MaxBytes Size `yaml:"max_bytes" default:"64MiB" doc:"Size of the cache."`
}

// ToolHistory is `runtime.tools.history`. A change requires a restart.
type ToolHistory struct {
	MaxCalls    int           `yaml:"max_calls" default:"10000" min:"1" doc:"Maximum number of rows in spiced.tool_calls."`
	MaxSearches int           `yaml:"max_searches" default:"10000" min:"1" doc:"Maximum number of rows in spiced.searches."`
	MaxEvents   int           `yaml:"max_events" default:"10000" min:"1" doc:"Maximum number of rows in spiced.events, which are in memory only."`
	Retention   time.Duration `yaml:"retention" default:"8h" doc:"How long calls, searches and events of agents are stored."`
	UsageDays   int           `yaml:"usage_days" default:"400" min:"1" doc:"Number of days that spiced.tool_usage covers."`
}
