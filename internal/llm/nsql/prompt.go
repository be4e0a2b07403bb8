package nsql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Schema is what a statement may use.
type Schema struct {
	Tables    []Table
	Functions []Function // declared functions
	Metrics   []Metric   // declared metrics
	// Allow reports which relations a statement may use; nil means all.
	Allow func(engine.Relation) bool
}

// Table is a dataset or view.
type Table struct {
	Name string // as statements refer to it
	Text string // the columns, in Markdown; "" lists only the name
	// Samples are sample values of the columns, one line each; "" without samples.
	Samples string
}

// Function is a declared function.
type Function struct {
	Name        string
	Signature   string // haversine_km(lat1 float64) → float64
	Description string
	Volatility  string // immutable, stable or volatile
	Table       bool   // used in FROM
}

// Metric is a declared metric.
type Metric struct {
	Name        string
	Description string
	Synonyms    []string
	Certified   bool
	Dimensions  []string // with their grains: ordered_at (day, week, …)
}

const task = `You write SQL for DuckDB. Answer the question with one SELECT statement that returns what is asked for.

- Answer with the statement only, without explanation.
- Use DuckDB's dialect and functions.
- Read only the tables below, by the names they have here. Put names that are not plain identifiers in double quotes.
- Apart from DuckDB's built-in functions, only the functions below exist. Where one of them computes what is asked for, call it.
- Only reading is possible: no CREATE, INSERT, COPY, SET or PRAGMA, no files, no URLs.
`

// metricsTask comes after task where metrics are declared.
const metricsTask = `
# Metrics

Metrics are the agreed definitions of figures. Where one measures what is asked for, read it and do not compute it from the tables; prefer those that are certified. Write ` + "`FROM metric('name', by := ['dimension'], where := 'condition over dimensions')`" + `, or a list of names for several metrics. A time dimension takes a grain: ` + "`ordered_at__month`" + `. The columns are the dimensions in by, as written, and the metrics. Filter by the value of a metric outside: FROM metric(…) WHERE name > 5.
If neither a metric nor the tables have what is asked for, answer SELECT 'what is missing' AS cannot_answer.

`

// prompt returns the system message. Equal schemas have equal texts, as long as all
// functions fit.
func (w *Writer) prompt(ctx context.Context, s Schema, query string) string {
	var b strings.Builder
	b.WriteString(task + metrics(s.Metrics) + "\n# Tables\n")
	if len(s.Tables) == 0 {
		b.WriteString("\nThere are no tables.\n")
	}
	var rest []string
	size := 0
	for _, t := range s.Tables {
		if text := "\n" + t.text(); t.Text != "" && size+len(text) <= MaxTables {
			size += len(text)
			b.WriteString(text)
		} else {
			rest = append(rest, t.Name)
		}
	}
	b.WriteString(omitted("tables", rest))
	b.WriteString(w.functions(ctx, s.Functions, query))
	return b.String()
}

// metrics describes the metrics that fit, in their order.
func metrics(list []Metric) string {
	if len(list) == 0 {
		return ""
	}
	b := strings.Builder{}
	b.WriteString(metricsTask)
	var rest []string
	for _, m := range list {
		if line := m.line(); b.Len()+len(line) <= len(metricsTask)+MaxMetrics {
			b.WriteString(line)
		} else {
			rest = append(rest, m.Name)
		}
	}
	return b.String() + omitted("metrics", rest)
}

func (m Metric) line() string {
	line := "- `" + m.Name + "`"
	if m.Certified {
		line += " (certified)"
	}
	if text := strings.Join(strings.Fields(m.Description), " "); text != "" {
		line += ": " + truncate.Ellipsis(text, MaxDescription)
	}
	if len(m.Synonyms) > 0 {
		line += "; also " + strings.Join(m.Synonyms, ", ")
	}
	if len(m.Dimensions) > 0 {
		line += "; by " + strings.Join(m.Dimensions, ", ")
	}
	return line + "\n"
}

func (t Table) text() string {
	if t.Samples == "" {
		return t.Text
	}
	return t.Text + "\nSome values:\n" + t.Samples
}

// functions describes the functions that fit, in their order.
func (w *Writer) functions(ctx context.Context, list []Function, query string) string {
	if len(list) == 0 {
		return ""
	}
	fits := w.fitting(ctx, list, query)
	b := strings.Builder{}
	b.WriteString("\n# Functions\n\n")
	var rest []string
	for _, f := range list {
		if fits[f.Name] {
			b.WriteString(f.line())
		} else {
			rest = append(rest, f.Name)
		}
	}
	return b.String() + omitted("functions", rest)
}

// fitting chooses the functions to describe: all, or the best matches of the question.
func (w *Writer) fitting(ctx context.Context, list []Function, query string) map[string]bool {
	size := 0
	for _, f := range list {
		size += len(f.line())
	}
	if size > MaxFunctions && w.Rank != nil {
		list = ranked(list, w.Rank(ctx, query))
	}
	fits, left := map[string]bool{}, MaxFunctions
	for _, f := range list {
		if n := len(f.line()); n <= left {
			fits[f.Name] = true
			left -= n
		}
	}
	return fits
}

// ranked returns list with the named functions first.
func ranked(list []Function, names []string) []Function {
	rank := map[string]int{}
	for i, name := range names {
		rank[sqltree.Fold(name)] = i - len(names)
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Function) int { return rank[sqltree.Fold(a.Name)] - rank[sqltree.Fold(b.Name)] })
	return list
}

func (f Function) line() string {
	kind := f.Volatility
	if f.Table {
		kind += ", in FROM"
	}
	line := fmt.Sprintf("- `%s` (%s)", f.Signature, kind)
	if text := strings.Join(strings.Fields(f.Description), " "); text != "" {
		line += ": " + truncate.Ellipsis(text, MaxDescription)
	}
	return line + "\n"
}

// omitted names what does not fit into the prompt.
func omitted(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	text := fmt.Sprintf("\n%d more %s are not described here: ", len(names), what)
	if len(names) > MaxNames {
		return text + strings.Join(names[:MaxNames], ", ") + " …\n"
	}
	return text + strings.Join(names, ", ") + "\n"
}
