package engine

// The driver's mapping package leaves out the two calls of the C API that
// stream a result instead of collecting it; they are taken from the bindings
// it is made of. DuckDB marks them as deprecated but has no other way to read
// a large result in bounded memory. See docs/decisions.

import (
	duckdb "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// pendingStreaming plans a bound statement whose rows will be streamed.
func pendingStreaming(s mapping.PreparedStatement, out *mapping.PendingResult) mapping.State {
	return duckdb.PendingPreparedStreaming(s, out)
}

// fetchStreaming returns the next chunk; StateError at an error.
func fetchStreaming(r mapping.Result, out *mapping.DataChunk) mapping.State {
	return duckdb.StreamFetchChunk(r, out)
}
