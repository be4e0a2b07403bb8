package spicepod

import (
	"strings"
	"time"
)

// Embedding is one entry of `embeddings:`.
type Embedding struct {
	Name        string         `yaml:"name" required:"true" doc:"Name of the embedding model."`
	From        string         `yaml:"from" required:"true" doc:"Provider and model: openai:<model>, builtin:hash, file:<path>."`
	Description string         `yaml:"description" doc:"What the model is for."`
	Params      Params         `yaml:"params" doc:"Settings of the provider."`
	Metadata    map[string]any `yaml:"metadata" doc:"Free-form notes; kept, never interpreted."`
	DependsOn   []string       `yaml:"dependsOn" doc:"Components that must be there first."`
	Files       []any          `yaml:"files" served:"no" doc:"Files of a local model."`
	Datasets    []string       `yaml:"datasets" served:"no" doc:"Datasets it embeds."`
}

// Scheme returns the part of From before the first colon, in lower case.
func (e Embedding) Scheme() string { return schemeOf(e.From) }

// Tool is one entry of `tools:`.
type Tool struct {
	From        string          `yaml:"from" required:"true" doc:"Source of the tool: builtin:<name>, mcp:<command or URL>."`
	Name        string          `yaml:"name" required:"true" doc:"Name of the tool."`
	Description string          `yaml:"description" doc:"What the tool does; instead of the built-in description."`
	Params      Params          `yaml:"params" doc:"Settings of the source."`
	Owner       string          `yaml:"owner" doc:"Agent or team that the tool belongs to. Without it: runtime."`
	Limits      Limits          `yaml:"limits" doc:"Limits on each call."`
	AsSQL       bool            `yaml:"as_sql" default:"false" doc:"Make the tool callable from SQL, as the function of the signature."`
	Signature   *Signature      `yaml:"signature" doc:"Signature of the SQL function; needed with as_sql."`
	Dispatch    string          `yaml:"dispatch" enum:"early,after_response" doc:"When a chat starts a call: as soon as its arguments are complete, or after the model's answer. Without it: early, unless the tool destroys."`
	Parallel    *bool           `yaml:"parallel" default:"true" doc:"Whether a chat runs several calls of the tool at once."`
	DependsOn   []string        `yaml:"dependsOn" doc:"Components that must be there first."`
	Env         map[string]Text `yaml:"env" doc:"Environment of an MCP command, beside PATH, HOME and the like."`
	Pin         string          `yaml:"pin" enum:"none,checksum" default:"none" doc:"Of an MCP server: checksum refuses its tools whose texts changed since spiced mcp pin."`
	Metrics     any             `yaml:"metrics" served:"no" doc:"Metrics of the tool."`
}

// Scheme returns the part of From before the first colon, in lower case.
func (t Tool) Scheme() string { return schemeOf(t.From) }

// Builtin is the name of the built-in tool that From names, or "".
func (t Tool) Builtin() string {
	if t.Scheme() != "builtin" {
		return ""
	}
	_, name, _ := strings.Cut(t.From, ":")
	return strings.TrimSpace(name)
}

// Limits bounds each call of a tool. Zero means no limit of its own.
type Limits struct {
	Timeout     time.Duration `yaml:"timeout" doc:"How long one call may run."`
	MaxRows     int           `yaml:"max_rows" min:"0" doc:"How many rows one call may return; more are cut off, which the result says."`
	MaxBytes    Size          `yaml:"max_bytes" doc:"How large one result may be, as JSON."`
	Concurrency int           `yaml:"concurrency" min:"0" doc:"How many calls run at once; more are told to try again."`
}

// SearchTest is one entry of `search_tests:`: a search for tools and what it
// must find.
type SearchTest struct {
	Query    string   `yaml:"query" required:"true" doc:"What is searched for."`
	Keywords []string `yaml:"keywords" doc:"Phrases that must occur, as tool_search takes them."`
	Expect   string   `yaml:"expect" required:"true" doc:"Tool that must be found."`
	Top      int      `yaml:"top" default:"3" min:"1" doc:"How far down the tool may stand, at most 20."`
}

// RuntimeTools is `runtime.tools`.
type RuntimeTools struct {
	Domains        []string    `yaml:"domains" doc:"Groups of built-in tools to offer; core is all. The environment variable TOOL_REGISTRY_DOMAINS overrides it."`
	EmbeddingModel string      `yaml:"embedding_model" doc:"Embedding model of tool_search outside chats, when there are several."`
	Search         ToolSearch  `yaml:"search" doc:"How tools are ranked."`
	Limits         Limits      `yaml:"limits" doc:"Limits of calls of tools that have none of their own."`
	Cache          ToolCache   `yaml:"cache" doc:"Remembered results of immutable functions."`
	History        ToolHistory `yaml:"history" doc:"What is kept of calls and searches."`
}

// ToolSearch is `runtime.tools.search`: weighted reciprocal rank fusion.
type ToolSearch struct {
	K           float64 `yaml:"k" default:"20" min:"1" doc:"Rank constant: how little a rank's place near the top counts."`
	Depth       int     `yaml:"depth" default:"50" min:"1" doc:"How many ranks of each channel count."`
	FullText    float64 `yaml:"full_text" default:"2" min:"0" doc:"Weight of the full-text channel."`
	Vector      float64 `yaml:"vector" default:"1" min:"0" doc:"Weight of the vector channel."`
	Keyword     float64 `yaml:"keyword" default:"0.5" min:"0" doc:"Weight of the keyword channel."`
	Schema      float64 `yaml:"schema" default:"0.1" min:"0" doc:"Weight of the channel of parameter names."`
	NoGoodMatch float64 `yaml:"no_good_match" min:"0" doc:"Confidence below which a search is marked no_good_match; 0 takes the calibrated one."`
}

// ToolCache is `runtime.tools.cache`.
type ToolCache struct {
	Enabled  bool `yaml:"enabled" default:"true" doc:"Remember results of functions that are immutable and read no dataset."`
	MaxBytes Size `yaml:"max_bytes" default:"64MiB" doc:"How much is remembered."`
}

// ToolHistory is `runtime.tools.history`. A change takes a restart.
type ToolHistory struct {
	MaxCalls    int           `yaml:"max_calls" default:"10000" min:"1" doc:"How many calls spiced.tool_calls keeps."`
	MaxSearches int           `yaml:"max_searches" default:"10000" min:"1" doc:"How many searches spiced.searches keeps."`
	Retention   time.Duration `yaml:"retention" default:"8h" doc:"How long calls and searches are kept."`
	UsageDays   int           `yaml:"usage_days" default:"400" min:"1" doc:"How many days spiced.tool_usage counts."`
}
