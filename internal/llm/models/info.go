package models

import (
	"time"

	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/tools"
)

// Mode is how a model gets the tools of the runtime.
type Mode string

// The modes.
const (
	ModeNone     Mode = "none"     // no tools
	ModeDirect   Mode = "direct"   // every definition
	ModeRegistry Mode = "registry" // tool_search and tool_invoke instead
	ModeNative   Mode = "native"   // every definition, deferred until a search finds it
	ModePlanner  Mode = "planner"  // names and descriptions in the prompt, tool_describe and tool_invoke
)

// The states of a model.
const (
	StatusReady = "Ready"
	StatusError = "Error"
)

// Info describes a declared model, as GET /v1/models does. Its slices must not be
// modified.
type Info struct {
	Name        string   `json:"id"`
	From        string   `json:"owned_by" doc:"Its from, provider:model; of an agent, agent: and its model."`
	Datasets    []string `json:"datasets" nullable:"true" doc:"Datasets that its built-in tools may read; null means all."`
	Status      string   `json:"-"` // [StatusReady] or [StatusError]
	Agent       bool     `json:"-"`
	Description string   `json:"description,omitempty"`
	ToolPlan    `json:"-"`
	Error       string `json:"error,omitempty" doc:"Why it was not loaded."`
}

// ToolPlan describes the tools that a model gets, and why. Its names are sorted.
type ToolPlan struct {
	Declared   string   `json:"declared" doc:"As the Spicepod has it."` // params.tools
	Mode       Mode     `json:"mode" doc:"none; direct: each tool is sent; registry: tool_search and tool_invoke are sent instead; native: the provider searches; planner: the prompt has names and descriptions, and tool_describe and tool_invoke are sent."`
	Reason     string   `json:"reason" doc:"Why the mode was chosen."`
	Count      int      `json:"count" doc:"Number of tools in the set."`
	Advertised []string `json:"advertised" nullable:"true" doc:"The tools that every request carries."`
	Pinned     []string `json:"pinned,omitempty"`
	Preselect  int      `json:"preselect,omitempty" doc:"At most this many tools that match a conversation are sent in addition."`
	// DefinitionTokens is an estimate: see [tokens.Count].
	DefinitionTokens int    `json:"definition_tokens" doc:"About how many tokens the definitions of the advertised tools cost in every request, with preselect also those of that many tools of mean size."`
	DirectTokens     int    `json:"direct_tokens" doc:"About how many tokens it would cost in every request to send the definitions of all tools of the set, as mode direct does."`
	EmbeddingModel   string `json:"embedding_model,omitempty" doc:"The embedding model of tool_search."`
}

// Call is the record of one chat.
type Call struct {
	Model, From string
	Report      toolloop.Report
	Err         error // nil if the answer is complete
	Took        time.Duration
	Scope       tools.Scope
}
