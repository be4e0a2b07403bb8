package spicepod

import "time"

// Pod is one Spicepod as written, with defaults applied and references resolved. It is
// immutable after Load and safe for concurrent use; the zero value is an empty pod.
type Pod struct {
	Version string `yaml:"version" required:"true" enum:"v1,v2,v1beta1" doc:"Version of the file format."`
	Kind    string `yaml:"kind" required:"true" enum:"Spicepod" doc:"What this file is."`
	Name    string `yaml:"name" required:"true" doc:"Name of the project."`

	Metadata map[string]any `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
	Runtime  Runtime        `yaml:"runtime" doc:"Settings of the process."`
	Secrets  []SecretStore  `yaml:"secrets" doc:"Where secret references are looked up. Without it: the process environment, then .env.local, then .env."`

	Catalogs       []Catalog       `yaml:"catalogs" component:"catalog" doc:"Databases of other servers, whose tables are served as catalog.schema.table."`
	Datasets       []Dataset       `yaml:"datasets" component:"dataset" doc:"Tables read from files, databases and URLs."`
	Views          []View          `yaml:"views" component:"view" doc:"Named queries over datasets."`
	Functions      []Function      `yaml:"functions" component:"function" doc:"Functions callable from SQL, and as tools."`
	SemanticModels []SemanticModel `yaml:"semantic_models" component:"semantic model" doc:"What metrics are made of: dimensions of tables, and the joins between them. See docs/semantic.md."`
	Metrics        []Metric        `yaml:"metrics" component:"metric" doc:"Measures with one definition, which SQL reads with metric(…) and models query as tools. See docs/semantic.md."`

	Sandboxes []Sandbox `yaml:"sandboxes" component:"sandbox" doc:"Where the code of functions with from: exec runs."`

	Embeddings  []Embedding  `yaml:"embeddings" component:"embedding" doc:"Embedding models."`
	Tools       []Tool       `yaml:"tools" component:"tool" doc:"Tools: customized built-in tools, and MCP servers."`
	Toolsets    []Toolset    `yaml:"toolsets" component:"toolset" doc:"Groups of tools."`
	Models      []Model      `yaml:"models" component:"model" doc:"Language models."`
	Agents      []Agent      `yaml:"agents" component:"agent" doc:"Agents: models with their own instructions, tools and agents."`
	SearchTests []SearchTest `yaml:"search_tests" doc:"Searches for tools with their expected results; run at load."`

	Rerankers []Reranker `yaml:"rerankers" component:"reranker" served:"no" instead:"'rerank' in SQL with a model of 'models'" doc:"Reranking models."`
	Workers   []Worker   `yaml:"workers" component:"worker" served:"no" instead:"'models'; a router in front of them" doc:"Workers that route between models."`
	Evals     []Eval     `yaml:"evals" component:"eval" served:"no" instead:"'search_tests' and the 'tests' of functions" doc:"Evaluations of models."`

	Snapshots *Snapshots `yaml:"snapshots" doc:"Where snapshots of accelerated datasets are, which other runtimes and later starts load instead of the source. Datasets use it with acceleration.snapshots."`

	SearchEngines []any `yaml:"search_engines" served:"no" instead:"'columns[].full_text_search', whose index spiced keeps itself" doc:"Indexes of other servers for searches."`
	Management    any   `yaml:"management" served:"no" instead:"nothing: no server manages the runtime" doc:"The connection to Spice's cloud."`

	Memory       any            `yaml:"memory" served:"no" instead:"a 'duckdb:' dataset with 'access: read_write'" doc:"Memory of models."`
	Extensions   map[string]any `yaml:"extensions" served:"no" instead:"nothing: the runtime has no extensions" doc:"Extensions of the runtime."`
	Dependencies []string       `yaml:"dependencies" doc:"Other Spicepods whose components are served too: the path of a folder with a spicepod.yaml, relative to this file, or org/name for the folder spicepods/org/name next to the Spicepod, where spice add puts it. Their runtime sections have no effect; they read files below their own folders, and variables of their own .env files, only."`

	// Dir is the absolute folder of the file.
	Dir string `yaml:"-"`
	// File is the absolute path of the file.
	File string `yaml:"-"`

	roots  []string
	index  *index
	tables []int // of the last datasets, which are tables of catalogs: indexes in Catalogs

	bodies       []BodyKind // that are served
	dependencies []*dependency
	faults       Problems
}

// Runtime is the `runtime:` section.
type Runtime struct {
	Functions              RuntimeFunctions `yaml:"functions" doc:"Enables the functions section."`
	Tools                  RuntimeTools     `yaml:"tools" doc:"The tool registry."`
	DataRoots              []Text           `yaml:"data_roots" doc:"Folders that datasets may read from; relative ones start at the Spicepod's folder. Default: the Spicepod's folder. May contain references. A change requires a restart."`
	Query                  Query            `yaml:"query" doc:"Limits of every statement."`
	DatasetLoadParallelism int              `yaml:"dataset_load_parallelism" min:"0" doc:"How many datasets load at once; 0 leaves it to the runtime."`
	ShutdownTimeout        time.Duration    `yaml:"shutdown_timeout" default:"30s" doc:"How long running requests may take to finish at shutdown."`
	MCP                    RuntimeMCP       `yaml:"mcp" doc:"The MCP server, /v1/mcp."`
	OutputLevel            string           `yaml:"output_level" served:"no" instead:"'--log-level debug' of 'spiced serve'" doc:"How much the runtime logs."`
	Params                 Params           `yaml:"params" served:"no" instead:"nothing: the settings of the runtime are keys of their own" doc:"Further settings by name."`

	Auth     *Auth     `yaml:"auth" doc:"Who may connect. Without it, anyone who can; all protocols then listen on loopback only."`
	Audit    Audit     `yaml:"audit" doc:"The audit log. A change requires a restart."`
	TLS      *TLS      `yaml:"tls" doc:"Encryption of all listeners. SIGHUP reloads the files; which listeners are encrypted is fixed at start."`
	CORS     CORS      `yaml:"cors" doc:"Web pages of other origins that may call the HTTP API. A change requires a restart."`
	Postgres *Postgres `yaml:"postgres" doc:"The PostgreSQL protocol. Without it, and without --postgres, it is not served. A change requires a restart."`
	Flight   *Flight   `yaml:"flight" doc:"Arrow Flight SQL. Without it, and without --flight, it is not served. A change requires a restart."`
	Caching  Caching   `yaml:"caching" doc:"Caches of results."`
	Results  Results   `yaml:"results" doc:"Stored results: those of references and of /v1/queries."`

	Extensions RuntimeExtensions `yaml:"extensions" doc:"The extensions of DuckDB that connectors need."`

	Authorization any `yaml:"authorization" served:"refused" instead:"'row_filter' and 'column_mask' of datasets, and 'runtime.auth.api-key'" doc:"Policies of who may do what."`

	Scheduler   any          `yaml:"scheduler" served:"no" instead:"'POST /v1/queries' and 'runtime.results', which need no location" doc:"The scheduler of distributed queries."`
	CPU         any          `yaml:"cpu" served:"no" instead:"a limit of the container or of systemd ('CPUQuota')" doc:"Use of processors."`
	Metrics     any          `yaml:"metrics" served:"no" instead:"'/metrics'; '--metrics ADDRESS' for a second address" doc:"Metrics."`
	ReadyState  string       `yaml:"ready_state" served:"no" enum:"on_registration,on_load" instead:"'ready_state' of each dataset" doc:"When datasets count as ready."`
	Tracing     any          `yaml:"tracing" served:"no" instead:"'/metrics', the log and 'spiced.tool_calls'" doc:"Spans for Zipkin."`
	TaskHistory *TaskHistory `yaml:"task_history" served:"no" instead:"'spiced.tool_calls', 'spiced.searches' and 'runtime.audit'" doc:"The table of past tasks."`
	Telemetry   any          `yaml:"telemetry" served:"no" instead:"'/metrics' and the log" doc:"Traces."`

	ResultsCache        any `yaml:"results_cache" served:"renamed" instead:"'runtime.caching.sql_results', in which 'cache_max_size' is 'max_size'" doc:"Former name of caching.sql_results."`
	ParallelLoading     any `yaml:"num_of_parallel_loading_at_start_up" served:"renamed" instead:"'runtime.dataset_load_parallelism'" doc:"Former name of dataset_load_parallelism."`
	FormerMemoryLimit   any `yaml:"memory_limit" served:"renamed" instead:"'runtime.query.memory_limit'" doc:"Former place of query.memory_limit."`
	FormerTempDirectory any `yaml:"temp_directory" served:"renamed" instead:"'runtime.query.temp_directory'" doc:"Former place of query.temp_directory."`
}

// paths are the files and folders that are relative to the Spicepod's folder.
func (r *Runtime) paths() []*string {
	list := []*string{&r.Query.TempDirectory, &r.Audit.File, &r.Extensions.Directory}
	if r.TLS != nil {
		list = append(list, &r.TLS.CertificateFile, &r.TLS.KeyFile)
	}
	return list
}

// RuntimeExtensions is `runtime.extensions`.
type RuntimeExtensions struct {
	Directory string `yaml:"directory" doc:"Folder with files such as postgres_scanner.duckdb_extension, of exactly the version of DuckDB that this build has; relative to the Spicepod's folder. Extensions that it does not have are taken from where DuckDB and 'spiced extensions install' put them. Replace a file by renaming another: DuckDB has the file in memory, and overwriting it ends the process. A change requires a restart."`
	Install   bool   `yaml:"install" default:"false" doc:"Install at the start, as 'spiced extensions install' does, the extensions that datasets and catalogs need and that are not there: DuckDB downloads them. A change requires a restart."`
}

// RuntimeFunctions is `runtime.functions`.
type RuntimeFunctions struct {
	Enabled       bool        `yaml:"enabled" default:"false" doc:"Serve the functions section. If false, functions are read and checked only."`
	OnTestFailure TestFailure `yaml:"on_test_failure" enum:"skip,refuse,warn" default:"skip" doc:"What a load does with a function that fails a test: serve its last good version, or leave it out, with what uses it; refuse the Spicepod, so that the last good one stays in service and a start fails; or serve it and warn. Where the data arrives after the load, refuse is skip."`
}

// TestFailure says what a load does with a function that fails a test.
type TestFailure string

// What a load does.
const (
	SkipFunction   TestFailure = "skip"
	RefuseSpicepod TestFailure = "refuse"
	WarnOnly       TestFailure = "warn"
)

// MCPMode says which tools an MCP client sees.
type MCPMode string

// The tools that MCP clients see.
const (
	MCPDirect   MCPMode = "direct"
	MCPRegistry MCPMode = "registry"
)

// RuntimeMCP is `runtime.mcp`.
type RuntimeMCP struct {
	AllowedHosts []string `yaml:"allowed_hosts" doc:"Names allowed in the Host header of requests to /v1/mcp, and of all requests over loopback. Without it: localhost, 127.0.0.1 and ::1; \"*\" allows any. A change requires a restart."`
	Mode         MCPMode  `yaml:"mode" enum:"direct,registry" default:"direct" doc:"What tools/list shows: every tool, or tool_search, tool_invoke, list_datasets and the pinned ones."`
	PinnedTools  []string `yaml:"pinned_tools" doc:"Tools that mode registry lists in addition to tool_search and tool_invoke."`
}

// TaskHistory is `runtime.task_history`.
type TaskHistory struct {
	Enabled                bool          `yaml:"enabled" default:"true" doc:"Record the history."`
	CapturedOutput         string        `yaml:"captured_output" enum:"none,truncated" default:"none" doc:"How much of each output is recorded."`
	CapturedContext        string        `yaml:"captured_context" enum:"redacted,truncated,full" doc:"How much of the context of each task is recorded."`
	CapturedPlan           string        `yaml:"captured_plan" doc:"Which plans are recorded."`
	MinSQLDuration         time.Duration `yaml:"min_sql_duration" doc:"Shorter statements are not recorded."`
	MinPlanDuration        time.Duration `yaml:"min_plan_duration" doc:"Plans of shorter statements are not recorded."`
	RetentionPeriod        time.Duration `yaml:"retention_period" default:"8h" doc:"How long entries are kept."`
	RetentionCheckInterval time.Duration `yaml:"retention_check_interval" default:"15m" doc:"How often old entries are removed."`
}

// SecretStore is one entry of `secrets:`.
type SecretStore struct {
	From   string `yaml:"from" required:"true" doc:"Kind of store: env, kubernetes:<name>, keyring or aws_secrets_manager. Only env is served."`
	Name   string `yaml:"name" required:"true" doc:"Name of the store in references."`
	Params Params `yaml:"params" doc:"Settings of the store."`
}

// Kind returns the part of From before the first colon.
func (s SecretStore) Kind() string { return schemeOf(s.From) }

// DataRoots returns the folders that datasets may read from, absolute, as a new slice:
// runtime.data_roots, or the Spicepod's own folder.
func (p *Pod) DataRoots() []string { return append([]string(nil), p.roots...) }

// Faults returns the problems that do not refuse the Spicepod: dependencies that are missing,
// and what has no effect in others.
func (p *Pod) Faults() Problems { return append(Problems(nil), p.faults...) }

// NotServed returns a warning for each key, or value of a key, that this file uses and this
// build reads but does not serve, in file order. The hint has what to use instead.
func (p *Pod) NotServed() Problems {
	if p.index == nil {
		return nil
	}
	var list Problems
	for _, u := range p.index.notServed {
		problem := p.KeyProblem(u.path, u.shown+" is not served yet, and has no effect", u.hint)
		problem.Severity = Warning
		list = append(list, problem)
	}
	list.Sort()
	return list
}
