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
	documents := ""
	for _, f := range fileformat.Formats() {
		if f.Prefixes[0] == "document_" {
			documents += fmt.Sprintf("| `%s` | `%s` |\n", f.Name, strings.Join(f.Extensions, "`, `"))
			continue
		}
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
	page.WriteString(documentsText + documents)
	golden.Equal(t, "../../docs/connectors.md", page.String())
}

// documentsText is the part of docs/connectors.md on documents.
const documentsText = `
## Documents

A dataset of documents has a row for each file, from every connector that reads files:

` + "```yaml" + `
datasets:
  - from: file:handbook/
    name: handbook
    params: { file_format: document }
    acceleration: { enabled: true, refresh_check_interval: 10m }
` + "```" + `

` + "`file_format: document`" + ` reads all formats below, and CSV and TSV, in one folder; ` + "`md`, `txt`, `html`, `pdf`, `docx` or `xlsx`" + `
reads the files with the extensions of that format. Without it, a file or a folder is read as documents if its names show that and the
folder has no tables: a README next to CSV files is left out.

| column | type | |
|---|---|---|
| ` + "`id`" + ` | varchar | the path: it stays the same when the text changes, and names the file to people. A file that is moved is another document |
| ` + "`path`, `name`, `folder`" + ` | varchar | the path relative to the declared folder (of a glob: to the folder before the first pattern), its last part, and the part before (` + "`''`" + ` at the top). Of a URL: the last part of its path |
| ` + "`content`" + ` | varchar | the text; NULL if the file cannot be read |
| ` + "`metadata`" + ` | json | ` + "`format, title, author, created, language, pages, sheets, front_matter, size, sha256`" + `; ` + "`truncated`" + ` and ` + "`notes`" + ` if something was left out; ` + "`error`" + ` if the file cannot be read |
| ` + "`data`" + ` | json | the rows of tables in xlsx, CSV and TSV: a list of objects, or, of a workbook with several sheets, an object of such lists by the names of the sheets |
| ` + "`modified`" + ` | timestamptz | when the file was changed |

What a file begins with goes before its name: a PDF with the name ` + "`a.docx`" + ` is read as a PDF.

- **Markdown**: the text without front matter, which is in ` + "`metadata.front_matter`" + `; its title, author and date are also the fields of these names.
- **HTML**: the text of the page as Markdown, without menus and advertising where one part of the page has most of the text.
- **PDF**: the text of the pages with a form feed between two of them: ` + "`split(content, chr(12))[3]`" + ` is page 3. Pages that are images have no text, which a note says. A PDF with a password cannot be read; one that is encrypted with an empty password can.
- **docx**: Markdown with headings, lists, tables and notes, with all tracked changes accepted.
- **xlsx**: each sheet as a Markdown table. The names of the columns are those of the first row that fills at least half of them. Dates are texts in ISO form, formulas their last values.
- **CSV and TSV** among documents: the text as it is. In ` + "`data`" + `, a column is one of numbers if all of its values are.

Files are read by worker processes that have no files, no network, 1 GiB of memory and a limit of processor time. A file that is damaged, encrypted or too large costs one row with an error, and a warning of the dataset. So does a local file whose path is not UTF-8 (the row shows it with replacement characters), a symbolic link to nothing, to itself or out of the data roots, what is not a regular file, and a folder that cannot be read. Hidden files, whose name or that of a folder below the declared one begins with ` + "`.` or `~$`" + `, are left out: name the folder, as in ` + "`file:notes/.drafts/` or `file:notes/*/.drafts/*.md`" + `, to read them. ` + "`**`" + ` and folders do not follow links to folders. Rows are gathered in a file of the cache; the next load reads only files whose size or time has changed, and takes the text of moved files from the rows that there are. A dataset without an acceleration has the documents of its last load.

| param | | default | most |
|---|---|---|---|
| ` + "`document_max_file_size`" + ` | of a file; a larger one cannot be read | 50MiB | 256MiB |
| ` + "`document_max_content_size`" + ` | of the text; the rest is left out, and ` + "`truncated`" + ` is true | 4MiB | 4MiB |
| ` + "`document_max_pages`" + ` | of a PDF that are read | 2000 | 100000 |
| ` + "`document_timeout`" + ` | processor time for a file | 30s | 10m |

| format | extensions |
|---|---|
`
