package runtime

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

const connectorsHead = `# Connectors

<!-- Written by internal/runtime/connectors_test.go. Do not edit: change the file
     kind.go of the connector and run: make docs -->

` + "`from: connector:path`" + ` of a dataset names where its rows are; ` + "`params`" + ` has what the connector
needs. Values may contain ` + "`${env:NAME}` and `${secrets:name}`" + `. With ` + "`acceleration: {}`" + ` the rows are
copied and indexed, otherwise each statement reads them where they are:
[spicepod.md](spicepod.md) lists the keys of a dataset. ` + "`spiced dataset add`" + ` writes an entry from a URL, a path
or a connection string, after reading the source ([terminal.md](terminal.md#add-a-dataset)).

| connector | ` + "`from`" + ` | |
|---|---|---|
`

const connectorsTail = `
Where a connector needs an extension of DuckDB, its section names it; ` + "`spiced extensions install NAME`" + ` installs it. It
is loaded at the start of a Spicepod with such a dataset.

A first load that fails is tried again after 5, 10, 20, 40, 80 and 160 seconds, and then every 5 minutes, where
that may help: a server does not answer, or a file is missing. So is a refresh, which ` + "`refresh_retry_enabled`" + ` and
` + "`refresh_retry_max_attempts`" + ` limit; the old rows are served meanwhile.

The other connectors of Spice (Databricks, Snowflake and so on) are not served yet; a dataset with one is
named in ` + "`spiced.load_errors`" + ` and the rest is served.
`

// TestDocsOfConnectors compares docs/connectors.md with the params that are taken.
func TestDocsOfConnectors(t *testing.T) {
	var page strings.Builder
	page.WriteString(connectorsHead)
	for _, k := range Connectors {
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", strings.Join(k.Names, "`, `"), k.From, k.About)
	}
	page.WriteString(connectorsTail)
	for _, k := range Connectors {
		fmt.Fprintf(&page, "\n## %s\n\n", strings.Join(k.Names, ", "))
		if k.Extension != "" {
			fmt.Fprintf(&page, "Extension of DuckDB: `%s`.\n\n", k.Extension)
		}
		page.WriteString("| param | type | |\n|---|---|---|\n")
		for _, p := range k.Params {
			about := p.Doc
			if p.Secret {
				about += " Use a reference."
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", p.Name, p.Type, about)
		}
		fmt.Fprintf(&page, "\n%s\n", k.Note)
	}
	page.WriteString("\n## Formats of files\n\nOptions are those of DuckDB's `read_csv`, `read_json` and `read_parquet`, by DuckDB's name or by Spice's, " +
		"each also with the prefix of the format. A CSV file has a header unless `header: false` says otherwise, and its delimiter is a comma, or what " +
		"splits the header.\n\n" +
		"Where a file declares no types, they are detected from its values: from all rows of local files up to 16 MB, and from about 20,000 rows of others " +
		"(`sample_size`). Values of local files that are probably meant otherwise are remarked, as warnings of the dataset, with what to set (files of " +
		"object stores " +
		"are not judged, because that would fetch them once more: try `from: file:` with a copy of one): a file without rows; numbers with `NA` or its kind, a " +
		"decimal comma or thousands separators, which are text; whole numbers beyond 64 bits, which lose digits as DOUBLE; dates whose first two numbers " +
		"could be the day or the month; column names that are numbers; and files of a folder that have columns which the first one lacks. A file whose first bytes " +
		"contradict its format (gzip, Parquet, ZIP, a JSON file with a byte order mark) is refused, and so is a Parquet file with decimals of more than 38 digits.\n")
	for _, f := range fileformat.Formats() {
		fmt.Fprintf(&page, "\n### %s\n\nExtensions: `%s`. Prefixes: `%s`.\n\n| param | other names | type |\n|---|---|---|\n", f.Name,
			strings.Join(f.Extensions, "`, `"), strings.Join(f.Prefixes, "`, `"))
		for _, name := range slices.Sorted(maps.Keys(f.Options)) {
			others := ""
			if aliases := f.Aliases[name]; len(aliases) > 0 {
				others = "`" + strings.Join(aliases, "`, `") + "`"
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", name, others, f.Options[name])
		}
	}
	golden.Equal(t, "../../docs/connectors.md", page.String())
}
