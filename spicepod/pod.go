package spicepod

import "time"

// Pod is one Spicepod as written, with defaults applied and references read.
// It is immutable after Load and safe for concurrent use; the zero value is an
// empty pod.
type Pod struct {
	Version string `yaml:"version" required:"true" enum:"v1,v2,v1beta1" doc:"Version of the file format."`
	Kind    string `yaml:"kind" required:"true" enum:"Spicepod" doc:"What this file is."`
	Name    string `yaml:"name" required:"true" doc:"Name of the project."`

	Metadata map[string]any `yaml:"metadata" doc:"Free-form notes; kept, never interpreted."`
	Runtime  Runtime        `yaml:"runtime" doc:"Settings of the process."`
	Secrets  []SecretStore  `yaml:"secrets" doc:"Where secret references are looked up. Without it: the process environment, then .env.local, then .env."`

	Datasets  []Dataset  `yaml:"datasets" component:"dataset" doc:"Tables read from files, databases and URLs."`
	Views     []View     `yaml:"views" component:"view" doc:"Named queries over datasets."`
	Functions []Function `yaml:"functions" component:"function" doc:"Functions callable from SQL, and as tools."`

	Embeddings  []Embedding  `yaml:"embeddings" component:"embedding" doc:"Embedding models."`
	Tools       []Tool       `yaml:"tools" component:"tool" doc:"Tools: customised built-in ones, and MCP servers."`
	Models      []Model      `yaml:"models" component:"model" doc:"Language models."`
	SearchTests []SearchTest `yaml:"search_tests" doc:"Searches for tools with what they must find; run at load."`

	Catalogs  []Catalog  `yaml:"catalogs" component:"catalog" served:"no" doc:"Catalogs of tables from another system."`
	Rerankers []Reranker `yaml:"rerankers" component:"reranker" served:"no" doc:"Reranking models."`
	Workers   []Worker   `yaml:"workers" component:"worker" served:"no" doc:"Workers that route between models."`
	Evals     []Eval     `yaml:"evals" component:"eval" served:"no" doc:"Evaluations of models."`

	Memory       any            `yaml:"memory" served:"no" doc:"Memory of models."`
	Snapshots    any            `yaml:"snapshots" served:"no" doc:"Snapshots of accelerated data."`
	Extensions   map[string]any `yaml:"extensions" served:"no" doc:"Extensions of the runtime."`
	Dependencies []string       `yaml:"dependencies" served:"no" doc:"Other Spicepods this one needs."`

	// Dir is the absolute folder of the file.
	Dir string `yaml:"-"`
	// File is the absolute path of the file.
	File string `yaml:"-"`

	roots []string
	index *index
}

// Runtime is the `runtime:` section.
type Runtime struct {
	Functions              RuntimeFunctions `yaml:"functions" doc:"The gate of the functions section."`
	Tools                  RuntimeTools     `yaml:"tools" doc:"The tool registry."`
	DataRoots              []Text           `yaml:"data_roots" doc:"Folders that datasets may read from; relative ones start at the Spicepod's folder. May hold references. Default: the Spicepod's folder. A change takes a restart."`
	Query                  Query            `yaml:"query" doc:"Limits on every statement."`
	DatasetLoadParallelism int              `yaml:"dataset_load_parallelism" min:"0" doc:"How many datasets load at once; 0 leaves it to the runtime."`
	ShutdownTimeout        time.Duration    `yaml:"shutdown_timeout" default:"30s" doc:"How long running requests may take to finish at shutdown."`
	MCP                    RuntimeMCP       `yaml:"mcp" doc:"The MCP server, /v1/mcp."`
	OutputLevel            string           `yaml:"output_level" doc:"How much the runtime logs."`
	Params                 Params           `yaml:"params" doc:"Further settings by name."`

	Auth        *Auth        `yaml:"auth" served:"no" doc:"API keys."`
	Caching     any          `yaml:"caching" served:"no" doc:"Caches of results."`
	CORS        any          `yaml:"cors" served:"no" doc:"Cross-origin requests."`
	CPU         any          `yaml:"cpu" served:"no" doc:"Use of processors."`
	Flight      any          `yaml:"flight" served:"no" doc:"Arrow Flight SQL."`
	Postgres    any          `yaml:"postgres" served:"no" doc:"The PostgreSQL protocol."`
	Metrics     any          `yaml:"metrics" served:"no" doc:"Metrics."`
	ReadyState  string       `yaml:"ready_state" served:"no" enum:"on_registration,on_load" doc:"When datasets count as ready."`
	TaskHistory *TaskHistory `yaml:"task_history" served:"no" doc:"The table of past tasks."`
	Telemetry   any          `yaml:"telemetry" served:"no" doc:"Traces."`
	TLS         *TLS         `yaml:"tls" served:"no" doc:"Encryption of the listeners."`
}

// RuntimeFunctions is `runtime.functions`.
type RuntimeFunctions struct {
	Enabled bool `yaml:"enabled" default:"false" doc:"Register the functions section. While false, functions are read and checked but not served."`
}

// Isolation says where a statement runs.
type Isolation string

// Where statements run.
const (
	IsolationNone    Isolation = "none"
	IsolationProcess Isolation = "process"
)

// Query is `runtime.query`: limits on every statement. Zero means no limit.
type Query struct {
	Timeout              time.Duration `yaml:"timeout" default:"30s" doc:"How long a statement may run; 0 for no limit."`
	MaxRows              int           `yaml:"max_rows" min:"0" default:"0" doc:"How many rows a statement may return; 0 for no limit."`
	MaxBytes             Size          `yaml:"max_bytes" doc:"How large a result may be; 0 for no limit."`
	MemoryLimit          Size          `yaml:"memory_limit" doc:"Memory of the engine, for example 4GiB; 0 leaves it to the engine."`
	MaxConcurrentQueries int           `yaml:"max_concurrent_queries" min:"0" doc:"How many statements run at once; 0 leaves it to the runtime."`
	TempDirectory        string        `yaml:"temp_directory" doc:"Where the engine spills to disk; relative to the Spicepod's folder."`
	Isolation            Isolation     `yaml:"isolation" enum:"none,process" unserved:"process" default:"none" doc:"Where statements written by a model run."`
	SpillCompression     string        `yaml:"spill_compression" served:"no" doc:"Compression of spilled data."`
}

// Auth is `runtime.auth`.
type Auth struct {
	APIKey *APIKey `yaml:"api-key" doc:"Authentication by API key."`
}

// APIKey is `runtime.auth.api-key`.
type APIKey struct {
	Enabled bool   `yaml:"enabled" default:"true" doc:"Ask for a key."`
	Keys    []Text `yaml:"keys" doc:"The keys; one that ends in :rw may write."`
}

// MCPMode says which tools an MCP client is shown.
type MCPMode string

// What MCP clients are shown.
const (
	MCPDirect   MCPMode = "direct"
	MCPRegistry MCPMode = "registry"
)

// RuntimeMCP is `runtime.mcp`.
type RuntimeMCP struct {
	AllowedHosts []string `yaml:"allowed_hosts" doc:"Names that requests may have in their Host header. Without it: localhost, 127.0.0.1 and ::1; \"*\" allows any. A change takes a restart."`
	Mode         MCPMode  `yaml:"mode" enum:"direct,registry" default:"direct" doc:"What tools/list shows: every tool, or tool_search, tool_invoke, list_datasets and the pinned ones."`
	PinnedTools  []string `yaml:"pinned_tools" doc:"Tools that mode registry lists beside tool_search and tool_invoke."`
}

// TaskHistory is `runtime.task_history`.
type TaskHistory struct {
	Enabled                bool          `yaml:"enabled" default:"true" doc:"Keep the history."`
	CapturedOutput         string        `yaml:"captured_output" enum:"none,truncated" default:"none" doc:"How much of each output is kept."`
	CapturedPlan           string        `yaml:"captured_plan" doc:"Which plans are kept."`
	MinSQLDuration         time.Duration `yaml:"min_sql_duration" doc:"Shorter statements are left out."`
	MinPlanDuration        time.Duration `yaml:"min_plan_duration" doc:"Plans of shorter statements are left out."`
	RetentionPeriod        time.Duration `yaml:"retention_period" default:"8h" doc:"How long entries are kept."`
	RetentionCheckInterval time.Duration `yaml:"retention_check_interval" default:"15m" doc:"How often old entries are removed."`
}

// TLS is `runtime.tls`.
type TLS struct {
	Enabled         bool   `yaml:"enabled" default:"true" doc:"Encrypt the listeners."`
	Certificate     Text   `yaml:"certificate" doc:"The certificate as PEM."`
	CertificateFile string `yaml:"certificate_file" doc:"File of the certificate."`
	Key             Text   `yaml:"key" doc:"The key as PEM."`
	KeyFile         string `yaml:"key_file" doc:"File of the key."`
}

// SecretStore is one entry of `secrets:`.
type SecretStore struct {
	From   string `yaml:"from" required:"true" doc:"Kind of store: env, kubernetes:<name>, keyring or aws_secrets_manager. Only env is served."`
	Name   string `yaml:"name" required:"true" doc:"Name of the store in references."`
	Params Params `yaml:"params" doc:"Settings of the store."`
}

// Kind returns the part of From before the first colon.
func (s SecretStore) Kind() string { return schemeOf(s.From) }

// Files returns every file the load read or looked for: the Spicepod, what
// ref, body_ref and sql_ref name, .env and .env.local (whether or not they
// exist). It is the watch list: absolute, sorted, a fresh slice.
func (p *Pod) Files() []string {
	if p.index == nil {
		return nil
	}
	return p.index.filePaths()
}

// DataRoots returns the folders that datasets may read from, absolute, as a
// fresh slice: runtime.data_roots, or the Spicepod's own folder.
func (p *Pod) DataRoots() []string { return append([]string(nil), p.roots...) }

// NotServed returns the paths of keys that this file uses and this build reads
// but does not serve, sorted; a value out of several is written path=value.
func (p *Pod) NotServed() []string {
	if p.index == nil {
		return nil
	}
	return append([]string(nil), p.index.notServed...)
}
