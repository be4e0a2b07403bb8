package lake

import (
	"errors"
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

var deltaFormat = format{
	connector: "delta_lake", title: "Delta Lake", extension: "delta", log: "_delta_log",
	store: deltaNames, azure: deltaAzure, params: append(deltaNames.Params(), deltaAzure.Params()...),
	selectRows: deltaRows,
}

var (
	deltaNames = objectstore.S3Names("delta_lake_aws")
	deltaAzure = objectstore.AzurePrefix("delta_lake_azure_storage")
)

// fileColumn has the file of a row. A table cannot have a column of that name: DuckDB
// refuses it.
const fileColumn = engine.Hidden + "file"

// deltaRows reads a table. The log may name a file by its absolute path, which the
// extension would read without the proxy.
func deltaRows(url string) string {
	inside := "starts_with(" + fileColumn + ", " + engine.Literal(url+"/") + ")"
	return "SELECT * EXCLUDE (" + fileColumn + ") FROM delta_scan(" + engine.Literal(url) + ", filename = " +
		engine.Literal(fileColumn) + ") " +
		"WHERE CASE WHEN " + inside + " THEN true ELSE error('the log of the table names a file outside of its folder') END"
}

// kernelError begins errors of the library that reads the log of Delta Lake.
var kernelError = regexp.MustCompile(`DeltaKernel [A-Za-z]+ \([0-9]+\): (?:Generic delta kernel error: )?`)

// explain explains an error of DuckDB about a table.
func (s *lakeSource) explain(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	text := fault.FirstLines(kernelError.ReplaceAllString(e.Message, ""))
	hint := ""
	if strings.Contains(strings.ToLower(text), "unsupported") {
		hint = "write the table without that feature, or read a copy of it"
	}
	return fault.New("from", hint, "the table of %s at %q cannot be read: %s", s.title, s.from, text).Retryable()
}
