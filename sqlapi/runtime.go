package sqlapi

import (
	"context"
	"iter"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/spicepod"
)

// Inventory is what the runtime is made of at this moment. Lists are in the
// order in which they are shown; the API does not change them.
type Inventory interface {
	Ready() bool
	Generation() uint64 // that is served; 0: none yet
	// Components are the parts of the runtime that have a state: protocols first.
	Components() []Component
	// Problems are the faults of the last load, whether it was applied or
	// not.
	Problems() spicepod.Problems
	Datasets() []Dataset
	SearchIndexes() []SearchIndex
	// Functions are the declared functions that the caller may see.
	Functions(who caller.Caller) []Function
	Spicepods() []Spicepod
}

// Refresher refreshes a dataset. It returns when the refresh has begun; its
// errors wrap [refresh.ErrUnknown], [refresh.ErrNotAccelerated] or
// [refresh.ErrOverride].
type Refresher interface {
	Refresh(ctx context.Context, dataset string, o RefreshOptions) error
}

// Reloader reads the Spicepod again and waits for the outcome. The error is
// ctx's or an internal fault; a Spicepod that is refused is an outcome.
type Reloader interface {
	Reload(ctx context.Context) (Reload, error)
}

// Chats are the language models. Errors are [*chat.Error]s; any other is a
// internal fault.
type Chats interface {
	// Models are the declared models in the order of their declarations, those
	// that could not be loaded too. The agents among them are those that the caller may see.
	Models(who caller.Caller) []models.Info
	// Agents are the declared agents that the caller may see, in the same order. They are
	// models, too.
	Agents(who caller.Caller) []models.AgentInfo
	// Chat asks the model that r names, and sets r.Ignored. An error is one of the request;
	// what fails later is the last pair. To stop early, or end ctx, ends the chat.
	Chat(ctx context.Context, r *chat.Request, who caller.Caller) (iter.Seq2[toolloop.Event, error], error)
	// NSQL has the named model write a statement, which has been checked.
	NSQL(ctx context.Context, model string, r nsql.Request, who caller.Caller) (nsql.Answer, error)
}

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
	Version  string            `json:"version,omitempty" doc:"Of spiced, with the protocol http."`
	Problems spicepod.Problems `json:"problems,omitempty"`
	Waiting  []string          `json:"waiting,omitempty" doc:"The components that wait for this one; each of them is in the list, too."`
}

// Dataset is a dataset or view.
type Dataset struct {
	From                string     `json:"from" doc:"As declared; empty for a view."`
	Name                string     `json:"name"`
	ReplicationEnabled  bool       `json:"replication_enabled" doc:"Always false."` // Spice has it
	AccelerationEnabled bool       `json:"acceleration_enabled"`
	Status              string     `json:"status,omitempty" doc:"With ?status=true."`
	Description         string     `json:"description,omitempty"`
	Rows                *int64     `json:"rows,omitempty" doc:"Number of rows of an accelerated dataset."`
	LastRefresh         *time.Time `json:"last_refresh,omitempty"`
	LastSnapshot        *time.Time `json:"last_snapshot,omitempty" doc:"When the rows were read that the last snapshot of this process has."`
	Loaded              *int64     `json:"loaded_bytes,omitempty" doc:"Bytes loaded so far, by the load or refresh that runs."`
	Size                *int64     `json:"total_bytes,omitempty" doc:"Bytes to load, if that is known."`
	Progress            *float64   `json:"progress,omitempty" doc:"Of the load or refresh that runs, from 0 to 1, if it is known."`
	Error               string     `json:"error,omitempty" doc:"Why it is not served, or why its last refresh failed."`
}

// SearchIndex is the index of the searched columns of a dataset or view: a row of spiced.search_indexes.
type SearchIndex struct {
	Table    string     `json:"table"`
	Columns  []string   `json:"columns"`
	State    string     `json:"state" enum:"waiting,building,ready,updating,failed"`
	Rows     *int       `json:"rows" required:"true" nullable:"true" doc:"null: unknown, or the table hides rows from callers."`
	Chunks   *int       `json:"chunks" required:"true" nullable:"true"`
	Progress *float64   `json:"progress" required:"true" nullable:"true" doc:"Of the update that runs, from 0 to 1."`
	Bytes    *int64     `json:"bytes" required:"true" nullable:"true"`
	Models   []string   `json:"models"`
	ReadAt   *time.Time `json:"read_at" required:"true" nullable:"true"`
	Message  *string    `json:"message" required:"true" nullable:"true"`
}

// Function is a declared function that is served, or waits for data.
type Function struct {
	Name         string   `json:"name"`
	Kind         string   `json:"kind" enum:"scalar,table"`
	Volatility   string   `json:"volatility" enum:"immutable,stable,volatile"`
	From         string   `json:"from" doc:"Where the body comes from: sql, …"`
	Description  string   `json:"description,omitempty"`
	AsTool       bool     `json:"as_tool" doc:"Offered to models."`
	RegisteredAs []string `json:"registered_as" enum:"sql,tool"`
	Signature    string   `json:"signature" doc:"The signature, for people."` // f(x int64) → int64
	Arguments    []Field  `json:"arguments"`
	Tables       []Table  `json:"tables,omitempty"`  // inputs that are tables
	Returns      *Type    `json:"returns,omitempty"` // of a scalar function
	Columns      []Field  `json:"columns,omitempty"` // of a table function
	Status       string   `json:"status,omitempty" enum:"Ready,Initializing" doc:"Initializing while data that it reads is loaded."`
	Tests        int      `json:"tests" doc:"Number of declared tests, which POST /v1/functions/{name}:test runs."`
	Checksum     string   `json:"checksum" doc:"Changes with everything that affects the result of a call."`
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
	Generation uint64            `json:"generation" doc:"The generation that is served now."`
	Changed    []string          `json:"changed" doc:"Components that were rebuilt or removed."`
	Problems   spicepod.Problems `json:"problems"`
}

// Reloaded is the outcome of a load, as those who follow the events get it.
type Reloaded struct {
	Reload
	Trigger string    `json:"trigger" doc:"start, file, signal, request, retry, mcp, loaded or lost."`
	At      time.Time `json:"at" doc:"When the load began."`
	TookMS  float64   `json:"took_ms"`
	Ready   bool      `json:"ready"`
}
