package builtin

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

// SearchEngine is a [udf.Querier] that can also parse a condition, and check and
// bind a statement, before it runs. *[engine.DB] is one.
type SearchEngine interface {
	udf.Querier
	Parse(ctx context.Context, text string) (*sqltree.Statement, error)
	Describe(ctx context.Context, req engine.Request) (*engine.Description, error)
}

// Env is the environment of the built-in tools. Each tool uses the fields it
// needs. The functions are called for every call of a tool and return the
// published state.
type Env struct {
	SQL       SearchEngine
	Datasets  func() []Dataset
	Functions func() *functions.Set
	Readiness func() map[string]string // component → state, such as Ready
	// Metrics returns the metrics in service, with the dimensions, that read only permitted
	// relations and call no function that is hidden. Nil: the Spicepod declares no metrics.
	Metrics func(permits func(engine.Relation) bool, hides func(function string) bool) []Metric
	// Unserved returns the error of a name that is declared and does not serve, because
	// its data is loaded or it has a fault, or nil; see [engine.Contents.Unserved].
	Unserved func(engine.Object, engine.Relation) *engine.Error
	// Hides returns which declared functions are hidden from the caller of a scope. Nil, or a
	// nil result: none.
	Hides func(tools.Scope) func(function string) bool
	// Loading returns the error of what needs a dataset that is loaded, or nil.
	Loading func() *engine.Error
	Now     func() time.Time // nil: time.Now
	// Search finds rows by their texts, as the caller that ctx has. Errors may be [*tools.Error]s.
	Search func(ctx context.Context, q RowQuery) (RowAnswer, error)
	// Results stores results of models' statements that are too large; nil:
	// they are truncated.
	Results udf.Results
	// Used is called with the declared functions that a model's statement used, with the
	// code of its error or ""; nil: they are not counted.
	Used func(functions []string, who caller.Caller, began time.Time, code string, rows int64)
}

func (e Env) now() func() time.Time {
	if e.Now == nil {
		return time.Now
	}
	return e.Now
}

// unserved returns the error of a call that names what is declared and does not serve,
// or nil.
func (e Env) unserved(o engine.Object, r engine.Relation) error {
	if e.Unserved == nil {
		return nil
	}
	return callError(e.Unserved(o, r))
}

// Hidden is Hides, never nil.
func (e Env) Hidden(scope tools.Scope) func(function string) bool {
	if e.Hides != nil {
		if hides := e.Hides(scope); hides != nil {
			return hides
		}
	}
	return func(string) bool { return false }
}

// loading returns the error of a call that needs all data while some of it is loaded.
func (e Env) loading() error {
	if e.Loading == nil {
		return nil
	}
	return callError(e.Loading())
}

// callError returns e, which may be nil, as the error of a tool call.
func callError(e *engine.Error) error {
	if e == nil {
		return nil
	}
	return tools.NewError(e.Code, e.Message, e.Hint)
}

// Dataset is a published dataset or view.
type Dataset struct {
	Relation    engine.Relation
	View        bool
	Description string
	Metadata    map[string]any
	Columns     []Column
}

// Metric is a declared metric that is served.
type Metric struct {
	Name        string            `json:"metric"`
	Kind        string            `json:"kind"` // simple, ratio or derived
	Type        string            `json:"type"` // DuckDB's
	Description string            `json:"description,omitempty"`
	Synonyms    []string          `json:"synonyms,omitempty"`
	Certified   bool              `json:"certified"`
	Definition  string            `json:"definition"`
	Filter      string            `json:"filter,omitempty"`
	Dimensions  []MetricDimension `json:"dimensions"`
}

// MetricDimension is what a metric can be grouped and filtered by.
type MetricDimension struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Grains      []string `json:"grains,omitempty"` // of a time dimension
	Description string   `json:"description,omitempty"`
	Synonyms    []string `json:"synonyms,omitempty"`
}

// Column is a column of a [Dataset].
type Column struct {
	Name        string
	Type        string // DuckDB's
	Description string
	NotNull     bool
	Searchable  bool
}

// FromDataset returns a declared dataset with its columns.
func FromDataset(r engine.Relation, d spicepod.Dataset, columns []Column) Dataset {
	out := Dataset{Relation: r, Description: d.Description, Metadata: d.Metadata}
	out.describe(columns, d.Columns, d.Acceleration)
	return out
}

// FromView returns a declared view with its columns.
func FromView(r engine.Relation, v spicepod.View, columns []Column) Dataset {
	out := Dataset{Relation: r, View: true, Description: v.Description, Metadata: v.Metadata}
	out.describe(columns, v.Columns, v.Acceleration)
	return out
}

// describe sets a copy of the columns, with the texts of their declarations.
func (d *Dataset) describe(columns []Column, notes []spicepod.DatasetColumn, a *spicepod.Acceleration) {
	d.Columns = append([]Column(nil), columns...)
	for _, note := range notes {
		if c := column(d.Columns, note.Name); c != nil {
			c.Searchable = note.Searchable()
			c.Description = cmp.Or(c.Description, note.Description)
		}
	}
	if a != nil && a.PrimaryKey != "" {
		d.notNull(a.PrimaryKey)
	}
}

// notNull parses a primary key: a column, or (column, column). Its columns are never NULL.
func (d *Dataset) notNull(text string) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "("); ok {
		text = strings.TrimSuffix(inner, ")")
	}
	for part := range strings.SplitSeq(text, ",") {
		if c := column(d.Columns, unquoted(strings.TrimSpace(part))); c != nil {
			c.NotNull = true
		}
	}
}

// Table is the name of the dataset in statements: spice.public.orders, or pg.public.orders
// in a catalog.
func (d Dataset) Table() string {
	if catalog, schema, ok := strings.Cut(d.Relation.Schema, "."); ok {
		return namePart(catalog) + "." + namePart(schema) + "." + namePart(d.Relation.Name)
	}
	return engine.CatalogName + "." + namePart(d.Relation.Schema) + "." + namePart(d.Relation.Name)
}

// short is Table without the optional parts.
func (d Dataset) short() string {
	switch {
	case d.Relation.Schema == engine.Public:
		return namePart(d.Relation.Name)
	case strings.Contains(d.Relation.Schema, "."):
		return d.Table()
	}
	return namePart(d.Relation.Schema) + "." + namePart(d.Relation.Name)
}

// searchable are the columns that search covers.
func (d Dataset) searchable() []Column {
	var found []Column
	for _, c := range d.Columns {
		if c.Searchable {
			found = append(found, c)
		}
	}
	return found
}

// column finds a column by name, ignoring case, or nil.
func column(columns []Column, name string) *Column {
	for i := range columns {
		if sqltree.Fold(columns[i].Name) == sqltree.Fold(name) {
			return &columns[i]
		}
	}
	return nil
}

func columnNames(columns []Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// namePart is a part of a dotted name, quoted if necessary.
func namePart(name string) string {
	if name == "" || strings.ContainsAny(name, ".\" \t\r\n") {
		return engine.Identifier(name)
	}
	return name
}

// unquoted removes the quotes of an identifier, if it has any.
func unquoted(name string) string {
	if len(name) >= 2 && name[0] == '"' && name[len(name)-1] == '"' {
		return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
	}
	return name
}

// RelationOf parses a name with an optional schema and catalog, and folds its case.
func RelationOf(name string) engine.Relation {
	schema, table := spicepod.Dataset{Name: strings.TrimSpace(name)}.Qualified()
	schema = strings.TrimPrefix(schema, engine.CatalogName+".")
	if schema == "" {
		schema = engine.Public
	}
	return engine.Relation{Schema: sqltree.Fold(schema), Name: sqltree.Fold(table)}
}
