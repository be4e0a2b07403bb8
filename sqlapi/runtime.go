package sqlapi

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/spicepod"
)

// Inventory is what the runtime is made of at this moment. Lists are in the
// order in which they are shown; the API does not change them.
type Inventory interface {
	Ready() bool
	// Components are the parts of the runtime that have a state: protocols first.
	Components() []Component
	// Problems are the faults of the last load, whether it was taken over or
	// not.
	Problems() spicepod.Problems
	Datasets() []Dataset
	Functions() []Function
	Spicepods() []Spicepod
}

// Refresher refreshes a dataset. It returns when the refresh has begun; its
// errors are [ErrUnknownDataset], [ErrNotAccelerated], [ErrInvalidRefresh] or
// wrap one of them.
type Refresher interface {
	Refresh(ctx context.Context, dataset string, o RefreshOptions) error
}

// Reloader reads the Spicepod again and waits for the outcome. The error is
// ctx's or a fault of ours; a Spicepod that is refused is an outcome.
type Reloader interface {
	Reload(ctx context.Context) (Reload, error)
}

// Chats are the language models. Errors are [*chat.Error]s; any other is a
// fault of ours.
type Chats interface {
	// Models are the declared models in the order of their declarations, those
	// that could not be loaded too.
	Models() []Model
	// Chat asks the model that r names. An error is one of the request; what
	// fails later is the last pair. To stop early, or end ctx, ends the chat.
	Chat(ctx context.Context, r *chat.Request, who caller.Caller) (iter.Seq2[toolloop.Event, error], error)
	// NSQL has a model write a statement, which has been checked.
	NSQL(ctx context.Context, r NSQL, who caller.Caller) (nsql.Answer, error)
}

// Errors of a [Refresher].
var (
	ErrUnknownDataset = errors.New("dataset not found")
	ErrNotAccelerated = errors.New("dataset does not have acceleration enabled")
	ErrInvalidRefresh = errors.New("invalid refresh")
)

// The states of a [Component] and a [Dataset], as Spice names them.
const (
	StatusInitializing = "Initializing"
	StatusReady        = "Ready"
	StatusDisabled     = "Disabled"
	StatusError        = "Error"
	StatusRefreshing   = "Refreshing"
	StatusShuttingDown = "ShuttingDown"
)

// Component is a line of /v1/status: a protocol (http, metrics, …) or a part of
// the Spicepod that has problems.
type Component struct {
	Name     string            `json:"name" doc:"A protocol (http, metrics, …) or a component with problems, such as: function f."`
	Endpoint string            `json:"endpoint" doc:"host:port, or N/A."`
	Status   string            `json:"status" enum:"Initializing,Ready,Disabled,Error,Refreshing,ShuttingDown"`
	Problems spicepod.Problems `json:"problems,omitempty"`
}

// Dataset is a dataset or view.
type Dataset struct {
	From                string     `json:"from" doc:"As declared; empty for a view."`
	Name                string     `json:"name"`
	ReplicationEnabled  bool       `json:"replication_enabled" doc:"Always false."` // Spice has it
	AccelerationEnabled bool       `json:"acceleration_enabled"`
	Status              string     `json:"status,omitempty" doc:"With ?status=true."`
	Description         string     `json:"description,omitempty"`
	Rows                *int64     `json:"rows,omitempty" doc:"Of an accelerated dataset."`
	LastRefresh         *time.Time `json:"last_refresh,omitempty"`
	Error               string     `json:"error,omitempty" doc:"Why it is not served, or why its last refresh failed."`
}

// Function is a declared function that is served.
type Function struct {
	Name         string   `json:"name"`
	Kind         string   `json:"kind" enum:"scalar,table"`
	Volatility   string   `json:"volatility" enum:"immutable,stable,volatile"`
	From         string   `json:"from" doc:"Where the body comes from: sql, …"`
	Description  string   `json:"description,omitempty"`
	AsTool       bool     `json:"as_tool" doc:"Offered to models."`
	RegisteredAs []string `json:"registered_as" enum:"sql,tool"`
	Signature    string   `json:"signature" doc:"To be read."` // f(x int64) → int64
	Arguments    []Field  `json:"arguments"`
	Tables       []Table  `json:"tables,omitempty"`  // inputs that are tables
	Returns      *Type    `json:"returns,omitempty"` // of a scalar function
	Columns      []Field  `json:"columns,omitempty"` // of a table function
	Checksum     string   `json:"checksum" doc:"Changes with everything that changes what a call gives."`
}

// Type is a type as declared and as DuckDB names it.
type Type struct {
	Type       string `json:"type" doc:"As declared."`
	DuckDBType string `json:"duckdb_type"`
}

// Field is a named argument or column.
type Field struct {
	Name string `json:"name"`
	Type
}

// Table is an input of a function that is a table.
type Table struct {
	Name    string  `json:"name"`
	Columns []Field `json:"columns"`
}

// Spicepod is a loaded Spicepod.
type Spicepod struct {
	Name              string `json:"name"`
	Version           string `json:"version"`
	DatasetsCount     int    `json:"datasets_count"`
	ModelsCount       int    `json:"models_count"`
	DependenciesCount int    `json:"dependencies_count"`
	FunctionsCount    int    `json:"functions_count"`
	ViewsCount        int    `json:"views_count"`
}

// Model is a declared language model.
type Model struct {
	Name        string      `json:"id"`
	Created     int64       `json:"created" doc:"0 when unknown."` // seconds since 1970
	From        string      `json:"owned_by" doc:"Its from: provider:model."`
	Datasets    []string    `json:"datasets" nullable:"true" doc:"That its built-in tools may read; null is all."`
	Status      string      `json:"-"` // StatusReady or StatusError; shown with ?status=true
	Description string      `json:"description,omitempty"`
	Tools       *ModelTools `json:"tools,omitempty"` // nil: it was not loaded
	Error       string      `json:"error,omitempty" doc:"Why it was not loaded."`
}

// ModelTools is what a model gets of the runtime's tools, and why.
type ModelTools struct {
	Declared       string   `json:"declared" doc:"As the Spicepod has it."`
	Mode           string   `json:"mode" doc:"none, direct: each tool is sent; registry: tool_search and tool_invoke in their place; native: the provider searches."`
	Reason         string   `json:"reason" doc:"For the mode."`
	Count          int      `json:"count" doc:"Of the tools in its set."`
	Advertised     []string `json:"advertised" nullable:"true" doc:"The tools that every request carries."`
	Pinned         []string `json:"pinned,omitempty"`
	EmbeddingModel string   `json:"embedding_model,omitempty" doc:"That tool_search compares by."`
}

// NSQL is a question that a model turns into a statement.
type NSQL struct {
	Query          string   `json:"query"`
	Model          string   `json:"model,omitempty" doc:"May be left out when one model is served."`
	SampleData     bool     `json:"sample_data_enabled,omitempty" doc:"Show the model some values of the tables."`
	Datasets       []string `json:"datasets,omitempty" nullable:"true" doc:"That the statement may name; none: all."`
	PromptCacheKey string   `json:"prompt_cache_key,omitempty" doc:"Passed on to the provider."`
}

// RefreshOptions replace settings of a dataset's acceleration for one refresh;
// nil and "" change nothing.
type RefreshOptions struct {
	SQL       string `json:"refresh_sql,omitempty" doc:"Instead of the declared one."`
	Mode      string `json:"refresh_mode,omitempty" doc:"Instead of the declared one."`
	JitterMax string `json:"refresh_jitter_max,omitempty" doc:"A duration such as 10s."`
}

// Reload is the outcome of reading the Spicepod again.
type Reload struct {
	Accepted   bool              `json:"accepted" doc:"Whether a new generation was made."`
	Generation uint64            `json:"generation" doc:"The one that serves now."`
	Changed    []string          `json:"changed" doc:"Components that were rebuilt or removed."`
	Problems   spicepod.Problems `json:"problems"`
}
