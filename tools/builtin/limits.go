package builtin

// Limits of a call. Requests beyond a limit are refused, or truncated with a note in
// the result.
const (
	// DefaultRows is the maximum number of rows for a call without a limit.
	DefaultRows = 1000
	// DefaultBytes is the maximum size of a result as JSON for a call without a
	// limit.
	DefaultBytes = 4 << 20
	// MaxSample is the maximum number of rows, or values of a column, in a
	// sample.
	MaxSample = 1000
	// MaxSampledColumns is the maximum number of columns per call for distinct
	// values.
	MaxSampledColumns = 100
	// MaxText is the maximum number of characters of a string in a sample.
	MaxText = 512
	// MaxTables is the maximum number of tables that one call describes.
	MaxTables = 100
	// MaxHits is the maximum number of rows that a search returns.
	MaxHits = 1000
	// maxRawSample is the maximum size of a sample before strings are
	// truncated.
	maxRawSample = 64 << 20
	// suggestions is the maximum number of names in an error.
	suggestions = 20
)
