package spicepod

import "time"

// Isolation says where a statement runs.
type Isolation string

// Where statements run.
const (
	IsolationNone    Isolation = "none"
	IsolationProcess Isolation = "process"
)

// IsolationScope selects the statements that are isolated.
type IsolationScope string

// The statements that are isolated.
const (
	IsolateModels   IsolationScope = "models"    // written by a model
	IsolateReadOnly IsolationScope = "read_only" // and those of callers who may not write
	IsolateAll      IsolationScope = "all"
)

// Query is `runtime.query`: limits of every statement. Zero means no limit.
type Query struct {
	Timeout              time.Duration  `yaml:"timeout" default:"30s" doc:"How long a statement may run; 0 for no limit."`
	MaxRows              int            `yaml:"max_rows" min:"0" default:"0" doc:"Maximum rows of a result; 0 for no limit."`
	MaxBytes             Size           `yaml:"max_bytes" doc:"Maximum size of a result; 0 for no limit."`
	MemoryLimit          Size           `yaml:"memory_limit" doc:"Memory of the engine, for example 4GiB; 0 leaves it to the engine."`
	MaxConcurrentQueries int            `yaml:"max_concurrent_queries" min:"0" doc:"Concurrent statements; 0 leaves it to the runtime."`
	MaxQueuedQueries     int            `yaml:"max_queued_queries" min:"1" default:"1024" doc:"Statements that may wait; any further one is refused with 429. A change requires a restart."`
	TempDirectory        string         `yaml:"temp_directory" doc:"Where the engine spills to disk; relative to the Spicepod's folder."`
	MaxSpill             Size           `yaml:"max_spill" doc:"Maximum size of what the engine, and each worker, spills to disk; 0 means a tenth of the disk space that is free at its start, but at least 1GiB and never more than what is free. A change requires a restart."`
	Isolation            Isolation      `yaml:"isolation" enum:"none,process" default:"process" doc:"Where the statements selected by isolate run: in the runtime, or in worker processes, which are killed when they exceed their limits. What only the runtime can read, such as a dataset with access: read_write, is streamed to the worker. Writes run in the runtime, except for what they compute with more than simple functions; so does the statement SHOW TABLES. A change requires a restart."`
	Isolate              IsolationScope `yaml:"isolate" enum:"models,read_only,all" default:"all" doc:"With isolation process, the statements that run in workers: only those written by models (models); also those of callers who may not write or, without runtime.auth, all that only read (read_only); or all that only read, also those of keys that may write (all). A change requires a restart."`
	Workers              int            `yaml:"workers" min:"0" doc:"With isolation process, the number of workers; 0 leaves it to the runtime."`
	WorkerMemory         Size           `yaml:"worker_memory" doc:"With isolation process, the memory limit of a worker, which is killed when it exceeds it; 0: half of the memory of the machine, or of the container (cgroup), divided by the workers, at least 1GiB."`
	SpillCompression     string         `yaml:"spill_compression" served:"no" instead:"the choice of DuckDB; 'max_spill' bounds the size" doc:"Compression of spilled data."`
}

// Caching is `runtime.caching`.
type Caching struct {
	SQLResults    ResultCache `yaml:"sql_results" doc:"Results of /v1/sql."`
	SearchResults any         `yaml:"search_results" served:"no" instead:"nothing: a search takes about a millisecond" doc:"Results of searches."`
	Embeddings    any         `yaml:"embeddings" served:"no" instead:"nothing: vectors of tools are stored in the state directory" doc:"Embeddings."`
}

// ResultCache is `runtime.caching.sql_results`.
type ResultCache struct {
	Enabled              bool          `yaml:"enabled" default:"true" doc:"Return the cached result of an equal statement. Statements with volatile functions, such as random() or now(), are never cached."`
	MaxSize              Size          `yaml:"max_size" default:"128MiB" doc:"Size of the cache."`
	ItemTTL              time.Duration `yaml:"item_ttl" default:"1s" doc:"How long a cached result is valid."`
	EvictionPolicy       string        `yaml:"eviction_policy" enum:"lru,tiny_lfu" unserved:"tiny_lfu" default:"lru" instead:"'lru'" doc:"Which results are evicted first when the cache is full."`
	CacheKeyType         string        `yaml:"cache_key_type" enum:"plan,sql" default:"plan" doc:"Which statements are equal: those with identical texts (sql), or those whose texts differ only in comments, white space and a final semicolon (plan). Statements with named parameters are never cached."`
	StaleWhileRevalidate time.Duration `yaml:"stale_while_revalidate_ttl" default:"0s" doc:"How long an expired result is still returned while it is computed again."`
	MaxStale             any           `yaml:"max_stale_while_revalidate" served:"renamed" instead:"'stale_while_revalidate_ttl'" doc:"Former name of stale_while_revalidate_ttl."`
	HashingAlgorithm     string        `yaml:"hashing_algorithm" served:"no" instead:"nothing: keys are compared whole" doc:"How keys are hashed."`
	Encoding             string        `yaml:"encoding" served:"no" instead:"a smaller 'max_size'" doc:"How results are compressed."`
}

// Results is `runtime.results`.
type Results struct {
	TTL        time.Duration `yaml:"ttl" default:"15m" doc:"How long a stored result can be read after it was made."`
	MaxBytes   Size          `yaml:"max_bytes" default:"1GiB" doc:"Maximum disk space of all stored results; the oldest are dropped first."`
	MaxResult  Size          `yaml:"max_result_bytes" default:"256MiB" doc:"Maximum size of a stored result."`
	MaxResults int           `yaml:"max_results" min:"1" default:"1000" doc:"Maximum number of stored results."`
	MaxPerUser int           `yaml:"max_per_owner" min:"1" default:"100" doc:"Maximum number of stored results of one owner."`
}
