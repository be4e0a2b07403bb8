package engine

// The driver's mapping package lacks the two calls of the C API that stream a
// result instead of collecting it, so they are taken from the bindings below it.
// DuckDB marks them as deprecated but has no other way to read a large result in
// bounded memory. See docs/decisions.

import (
	duckdb "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// pendingStreaming plans a bound statement whose rows will be streamed.
func pendingStreaming(s mapping.PreparedStatement, out *mapping.PendingResult) mapping.State {
	return duckdb.PendingPreparedStreaming(s, out)
}

// fetchStreaming returns the next chunk; the state is StateError at an error.
func fetchStreaming(r mapping.Result, out *mapping.DataChunk) mapping.State {
	return duckdb.StreamFetchChunk(r, out)
}
