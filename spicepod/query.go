package spicepod

import "time"

// Isolation says where a statement runs.
type Isolation string

// Where statements run.
const (
	IsolationNone    Isolation = "none"
	IsolationProcess Isolation = "process"
)

// IsolationScope says whose statements are isolated.
type IsolationScope string

// Whose statements are isolated.
const (
	IsolateModels   IsolationScope = "models"    // written by a model
	IsolateReadOnly IsolationScope = "read_only" // and those of callers who may not write
	IsolateAll      IsolationScope = "all"
)

// Query is `runtime.query`: limits on every statement. Zero means no limit.
type Query struct {
	Timeout              time.Duration  `yaml:"timeout" default:"30s" doc:"How long a statement may run; 0 for no limit."`
	MaxRows              int            `yaml:"max_rows" min:"0" default:"0" doc:"How many rows a statement may return; 0 for no limit."`
	MaxBytes             Size           `yaml:"max_bytes" doc:"How large a result may be; 0 for no limit."`
	MemoryLimit          Size           `yaml:"memory_limit" doc:"Memory of the engine, for example 4GiB; 0 leaves it to the engine."`
	MaxConcurrentQueries int            `yaml:"max_concurrent_queries" min:"0" doc:"How many statements run at once; 0 leaves it to the runtime."`
	MaxQueuedQueries     int            `yaml:"max_queued_queries" min:"0" default:"1024" doc:"How many statements may wait for their turn; one more is refused with 429. A change takes a restart."`
	TempDirectory        string         `yaml:"temp_directory" doc:"Where the engine spills to disk; relative to the Spicepod's folder."`
	Isolation            Isolation      `yaml:"isolation" enum:"none,process" default:"none" doc:"Where the statements of isolate run: inside the runtime, or in worker processes that are killed when they overrun, and that do not reach datasets with access: read_write. A change takes a restart."`
	Isolate              IsolationScope `yaml:"isolate" enum:"models,read_only,all" default:"models" doc:"With isolation process: whose statements run in workers: those that models write, also those of read-only callers, or all."`
	Workers              int            `yaml:"workers" min:"0" doc:"With isolation process: how many workers there are; 0 leaves it to the runtime."`
	WorkerMemory         Size           `yaml:"worker_memory" default:"1GiB" doc:"With isolation process: how much memory a worker may take before it is ended."`
	SpillCompression     string         `yaml:"spill_compression" served:"no" doc:"Compression of spilled data."`
}

// Caching is `runtime.caching`.
type Caching struct {
	SQLResults    ResultCache `yaml:"sql_results" doc:"Results of /v1/sql."`
	SearchResults any         `yaml:"search_results" served:"no" doc:"Results of searches."`
	Embeddings    any         `yaml:"embeddings" served:"no" doc:"Embeddings."`
}

// ResultCache is `runtime.caching.sql_results`.
type ResultCache struct {
	Enabled              bool          `yaml:"enabled" default:"true" doc:"Answer an equal statement from the last answer. Statements that may answer otherwise, random() or now() in them, never are."`
	MaxSize              Size          `yaml:"max_size" default:"128MiB" doc:"How much the cache holds."`
	ItemTTL              time.Duration `yaml:"item_ttl" default:"1s" doc:"How long an answer serves."`
	EvictionPolicy       string        `yaml:"eviction_policy" enum:"lru,tiny_lfu" unserved:"tiny_lfu" default:"lru" doc:"Which answers go first when the cache is full."`
	CacheKeyType         string        `yaml:"cache_key_type" enum:"plan,sql" default:"plan" doc:"What makes statements equal: their text to the byte (sql), or but for comments, spaces, line breaks and a semicolon at the end (plan). Statements with named parameters are never answered from the cache."`
	StaleWhileRevalidate time.Duration `yaml:"stale_while_revalidate_ttl" default:"0s" doc:"How long an answer serves after item_ttl while it is made anew."`
	HashingAlgorithm     string        `yaml:"hashing_algorithm" served:"no" doc:"How keys are hashed."`
	Encoding             string        `yaml:"encoding" served:"no" doc:"How answers are compressed."`
}

// Results is `runtime.results`.
type Results struct {
	TTL        time.Duration `yaml:"ttl" default:"15m" doc:"How long a kept result can be read, from when it was made."`
	MaxBytes   Size          `yaml:"max_bytes" default:"1GiB" doc:"How much disk all kept results may take; the oldest go first."`
	MaxResult  Size          `yaml:"max_result_bytes" default:"256MiB" doc:"How large one kept result may be."`
	MaxResults int           `yaml:"max_results" min:"1" default:"1000" doc:"How many results are kept."`
	MaxPerUser int           `yaml:"max_per_owner" min:"1" default:"100" doc:"How many results are kept for one owner."`
}
