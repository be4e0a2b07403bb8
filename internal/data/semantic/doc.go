// Package semantic has the semantic layer of a Spicepod: the metrics that it declares, and the SQL
// of a query of them.
//
// [Build] checks `semantic_models:` and `metrics:` against the tables that are being published.
// [Layer.SQL] writes the query that `FROM metric('revenue', by := ['region'])` means. It is text that
// the guard judges as if the caller had written it, so that whatever holds for statements
// holds for metrics: row filters, masks, limits, isolation, caches.
//
// A result can never be multiplied by a join (fan-out), by three rules:
//
//   - Each metric is aggregated over the rows of one table. Metrics of several tables are aggregated
//     apart, and their groups are then put together, so that rows of two tables never meet (the
//     chasm trap).
//   - A join leads only to a table with a declared key of exactly the joined columns: many to one.
//   - The table that is joined is first grouped by these columns, so that a row finds at most one,
//     whatever the data is. A key that is declared and does not hold is an error of the statement.
package semantic

// Limits of a layer and of a query of metrics.
const (
	// MaxMetrics and MaxBy limit what one query names.
	MaxMetrics = 20
	MaxBy      = 20
	// MaxWhere limits the bytes of a condition.
	MaxWhere = 4096
	// MaxSQL limits the bytes of the query that is written.
	MaxSQL = 128 << 10
	// MaxHops is how many joins lead from a model to a dimension at most.
	MaxHops = 4
	// MaxReachable limits the dimensions of a model with those of its joins.
	MaxReachable = 2000
	// MaxLevels limits how deep metrics are made of others.
	MaxLevels = 10
	// MaxTestRows limits the rows of a test.
	MaxTestRows = 1000
)
