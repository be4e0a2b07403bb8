package lint

import (
	"fmt"

	"github.com/spiced-sql/spiced/tools"
)

// MissingIndex is the rule that a large dataset has an index of the column by which a
// function looks rows up. It is a warning.
const MissingIndex = "missing-index"

// largeTable is the number of rows from which a look-up needs an index: reading all of
// them takes longer than the rest of a call.
const largeTable = 100_000

// Lookup is a tool that reads the rows of an accelerated dataset whose column equals an
// argument.
type Lookup struct {
	Tool            *tools.Definition
	Dataset, Column string
	Rows            int64 // of the dataset
	Indexed         bool  // the column is the primary key or has an index
}

// CheckLookups returns the findings of the rule missing-index.
func CheckLookups(lookups []Lookup) []Finding {
	var found []Finding
	for _, l := range lookups {
		if l.Indexed || l.Rows < largeTable {
			continue
		}
		found = append(found, finding(MissingIndex, l.Tool,
			fmt.Sprintf("it looks rows up by column %q of dataset %q, which has %d rows and no index of that column", l.Column,
				l.Dataset, l.Rows),
			fmt.Sprintf("add acceleration: { indexes: { %s: enabled } } to the dataset, or primary_key if the values are unique",
				l.Column)))
	}
	return found
}
