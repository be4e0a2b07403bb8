package builtin

import "time"

// Limits on what a call may ask for and get. What is beyond one is refused, or
// cut off where the result says so.
const (
	// DefaultRows is how many rows a statement returns when the call has no
	// limit of its own.
	DefaultRows = 1000
	// DefaultBytes is the size of a result as JSON when the call has no limit
	// of its own.
	DefaultBytes = 4 << 20
	// MaxSample is how many rows, or values of a column, a sample has.
	MaxSample = 1000
	// MaxSampledColumns is how many columns one call takes distinct values of.
	MaxSampledColumns = 100
	// MaxText is how many characters of a string a sample shows.
	MaxText = 512
	// MaxTables is how many tables one call describes.
	MaxTables = 100
	// MaxHits is how many rows a search returns.
	MaxHits = 100
	// MaxSearchRows and MaxSearchBytes are how much of a dataset is searched.
	// An index takes some 25 times the bytes of its rows.
	MaxSearchRows  = 100_000
	MaxSearchBytes = 32 << 20 // of the rows, as JSON
	// MaxRowText is how much of a row's text is searched.
	MaxRowText = 64 << 10
	// MaxWhere is the size of a search's condition in bytes.
	MaxWhere = 64 << 10
	// MaxIndexes and MaxIndexedBytes bound the indexes of rows that are kept;
	// one index has at most MaxIndexedRows and MaxIndexedBytes, shared by its
	// datasets.
	MaxIndexes      = 8
	MaxIndexedRows  = 200_000
	MaxIndexedBytes = 32 << 20
	// MaxBuilds is how many indexes are made at once.
	MaxBuilds = 1
	// maxRawSample is how much of a sample is read before strings are cut.
	maxRawSample = 64 << 20
	// IndexLife is how long an index is used of which nobody can say whether
	// its rows have changed.
	IndexLife = time.Minute
	// suggestions is how many names an error lists.
	suggestions = 20
)
