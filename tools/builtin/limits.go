package builtin

import "time"

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
	MaxHits = 100
	// MaxSearchRows and MaxSearchBytes limit the searched part of a dataset. An
	// index takes about 25 times the bytes of the rows.
	MaxSearchRows  = 100_000
	MaxSearchBytes = 32 << 20 // of the rows, as JSON
	// MaxRowText is the maximum size of a row's searched text.
	MaxRowText = 64 << 10
	// MaxWhere is the maximum size of a search condition in bytes.
	MaxWhere = 64 << 10
	// MaxIndexes and MaxIndexedBytes bound the stored indexes of rows; one
	// index has at most MaxIndexedRows and MaxIndexedBytes, shared by its
	// datasets.
	MaxIndexes      = 8
	MaxIndexedRows  = 200_000
	MaxIndexedBytes = 32 << 20
	// MaxBuilds is the maximum number of concurrent index builds.
	MaxBuilds = 1
	// maxRawSample is the maximum size of a sample before strings are
	// truncated.
	maxRawSample = 64 << 20
	// IndexLife is how long an index is used if it is unknown whether the rows
	// have changed.
	IndexLife = time.Minute
	// suggestions is the maximum number of names in an error.
	suggestions = 20
)
