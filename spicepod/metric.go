package spicepod

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// SemanticModel is one entry of `semantic_models:`: what metrics may be grouped and filtered by
// in the rows of one table, and which other tables each row belongs to.
type SemanticModel struct {
	Name        string         `yaml:"name" required:"true" doc:"Name of the model: letters, digits and _, at most 64, without two _ in a row."`
	From        string         `yaml:"from" doc:"Dataset or view that has the rows. Without it: the one with the model's name."`
	Description string         `yaml:"description" doc:"What a row is."`
	Synonyms    Names          `yaml:"synonyms" doc:"Other names, which people use in questions."`
	PrimaryKey  Names          `yaml:"primary_key" doc:"Columns that identify a row. Joins to the model need it, or one of unique_keys."`
	UniqueKeys  []Names        `yaml:"unique_keys" doc:"Other lists of columns that identify a row."`
	Time        string         `yaml:"time" doc:"The time dimension that metric_time means for metrics of the model. Without it: its only dimension of type time."`
	Dimensions  []Dimension    `yaml:"dimensions" doc:"What metrics may be grouped and filtered by."`
	Joins       []SemanticJoin `yaml:"joins" doc:"Models that have at most one row for each row of this one, whose dimensions are then those of this one, too."`
	Metadata    map[string]any `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
}

// Relation is the name of the dataset or view.
func (m SemanticModel) Relation() (schema, table string) {
	if m.From == "" {
		return qualified(m.Name)
	}
	return qualified(m.From)
}

// DimensionType says what may be done with a dimension.
type DimensionType string

// Types of dimensions.
const (
	Categorical   DimensionType = "categorical"
	TimeDimension DimensionType = "time"
)

// Grain is a unit of time in which a time dimension is grouped.
type Grain string

// Grains are the grains of time, from the finest to the coarsest.
var Grains = []Grain{"second", "minute", "hour", "day", "week", "month", "quarter", "year"}

// Finer reports whether g is a smaller unit than h.
func (g Grain) Finer(h Grain) bool { return slices.Index(Grains, g) < slices.Index(Grains, h) }

// Dimension is one entry of `semantic_models[].dimensions`.
type Dimension struct {
	Name        string        `yaml:"name" required:"true" doc:"Name of the dimension: letters, digits and _, at most 64, without two _ in a row."`
	SQL         string        `yaml:"sql" doc:"Expression over the columns of the table. Without it: the column of the dimension's name."`
	Type        DimensionType `yaml:"type" enum:"categorical,time" default:"categorical" doc:"time: a DATE or TIMESTAMP, which queries group by a grain."`
	Grain       Grain         `yaml:"grain" enum:"second,minute,hour,day,week,month,quarter,year" doc:"The finest unit of a time dimension by which it may be grouped. Without it: day."`
	Description string        `yaml:"description" doc:"What the dimension means."`
	Synonyms    Names         `yaml:"synonyms" doc:"Other names, which people use in questions."`
}

// SemanticJoin is one entry of `semantic_models[].joins`.
type SemanticJoin struct {
	Name        string `yaml:"name" doc:"Name in front of the dimensions: customer__region. Without it: that of the other model."`
	To          string `yaml:"to" required:"true" doc:"The other model, which has at most one row for each row of this one."`
	FromColumns Names  `yaml:"from_columns" required:"true" doc:"Columns of this model's table."`
	ToColumns   Names  `yaml:"to_columns" doc:"The columns of the other table that they are equal to, in the same order: its primary_key or one of its unique_keys. Without it: its primary_key."`
}

// As is the name of the join.
func (j SemanticJoin) As() string {
	if j.Name == "" {
		return j.To
	}
	return j.Name
}

// Metric is one entry of `metrics:`. It has a measure, a numerator with a denominator, or an
// expression over other metrics.
type Metric struct {
	Name          string         `yaml:"name" required:"true" doc:"Name of the metric: letters, digits and _, at most 64, without two _ in a row."`
	Description   string         `yaml:"description" doc:"What the metric measures; shown to people and to models."`
	Synonyms      Names          `yaml:"synonyms" doc:"Other names, which people use in questions."`
	SemanticModel string         `yaml:"semantic_model" doc:"The model whose rows are aggregated. With measure."`
	Measure       string         `yaml:"measure" doc:"Aggregate over columns of the model's table, such as sum(amount) or count(DISTINCT customer_id)."`
	Filter        string         `yaml:"filter" doc:"Condition that the rows meet, over the model's dimensions, those of its joins, and the columns of its table. With measure."`
	Time          string         `yaml:"time" doc:"The time dimension that metric_time means. With measure. Without it: that of the model."`
	FillNullsWith *float64       `yaml:"fill_nulls_with" doc:"Value in groups that have no rows of the metric, such as 0. With measure. Without it: NULL."`
	Numerator     string         `yaml:"numerator" doc:"Metric that is divided. A ratio is a float64, and NULL where the denominator is 0."`
	Denominator   string         `yaml:"denominator" doc:"Metric that it is divided by."`
	Expr          string         `yaml:"expr" doc:"Expression over other metrics, such as revenue - cost."`
	Certified     bool           `yaml:"certified" default:"false" doc:"Mark the metric as the agreed definition, which people and models should prefer. Needs tests."`
	Tests         []MetricTest   `yaml:"tests" doc:"Queries with their expected rows; run at load."`
	Metadata      map[string]any `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
}

// MetricTest is one entry of `metrics[].tests`.
type MetricTest struct {
	Name      string   `yaml:"name" doc:"Name in reports."`
	By        Names    `yaml:"by" doc:"Dimensions to group by."`
	Grain     string   `yaml:"grain" doc:"Grain of the time dimensions in by that name none."`
	Where     string   `yaml:"where" doc:"Condition over dimensions."`
	Rows      []any    `yaml:"rows" doc:"Expected rows, in any order: mappings by column, or lists of the dimensions in by and the metric's value."`
	Value     *float64 `yaml:"value" doc:"Expected value of a test without by. Instead of rows."`
	Tolerance float64  `yaml:"tolerance" min:"0" doc:"How far numbers may be off."`
}

// semanticName matches the names of models, dimensions, joins and metrics.
var semanticName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)

// MetricTime is the name in queries of the time dimension of each metric.
const MetricTime = "metric_time"

// checkSemanticName refuses a name that a query could not write as part of another, as in
// customer__region and ordered_at__month.
func (d *decoder) checkSemanticName(what, key, name string) {
	switch {
	case name == "":
	case !semanticName.MatchString(name):
		d.failPath(key, fmt.Sprintf("the name of a %s has letters, digits and _, at most 64, and does not begin with a digit",
			what), "write what people call it in description and synonyms")
	case strings.Contains(name, "__") || strings.HasSuffix(name, "_") || strings.EqualFold(name, MetricTime):
		d.failPath(key, fmt.Sprintf("%s %q has a name that queries cannot write: __ separates joins, dimensions and grains, "+
			"and %s is the time of each metric", what, name, MetricTime), "rename it")
	}
}

func (d *decoder) checkSemanticModel(m *SemanticModel) {
	d.checkSemanticName("semantic model", "name", m.Name)
	d.unique(len(m.Dimensions), "dimensions", func(i int) (string, string) {
		return m.Dimensions[i].Name, fmt.Sprintf("dimension %q is declared twice", m.Dimensions[i].Name)
	})
	d.unique(len(m.Joins), "joins", func(i int) (string, string) {
		return m.Joins[i].As(), fmt.Sprintf("join %q is declared twice", m.Joins[i].As())
	})
}

func (d *decoder) checkDimension(v *Dimension, o *object) {
	d.checkSemanticName("dimension", "name", v.Name)
	if v.Grain != "" && v.Type != TimeDimension {
		d.failPath("grain", "only a time dimension has a grain", "add type: time, or leave grain out")
	}
	if o.value("sql") != nil && isBlankText(o.value("sql")) {
		d.failPath("sql", "sql is empty", "write an expression, or leave it out for the column of the dimension's name")
	}
}

func (d *decoder) checkJoin(j *SemanticJoin) {
	if j.Name != "" {
		d.checkSemanticName("join", "name", j.Name)
	}
	if len(j.ToColumns) > 0 && len(j.ToColumns) != len(j.FromColumns) {
		d.failPath("to_columns", fmt.Sprintf("to_columns has %d, and from_columns %d", len(j.ToColumns), len(j.FromColumns)),
			"write them in pairs: each of from_columns is equal to the one of to_columns at its place")
	}
}

// metricForms are the keys that each form of a metric takes. It needs the first one.
var metricForms = [][]string{
	{"measure", "semantic_model", "filter", "time", "fill_nulls_with"}, {"numerator", "denominator"}, {"expr"},
}

func (d *decoder) checkMetric(m *Metric, o *object) {
	d.checkSemanticName("metric", "name", m.Name)
	var form []string
	for _, keys := range metricForms {
		if o.value(keys[0]) == nil {
			continue
		}
		if form != nil {
			d.failPath(keys[0], fmt.Sprintf("a metric has %s or %s, not both", form[0], keys[0]), "make two metrics of it")
			return
		}
		form = keys
	}
	if form == nil {
		d.failPath("", "a metric needs a measure, a numerator with a denominator, or an expr"+d.where(),
			"such as `measure: sum(amount)` with `semantic_model: orders`")
		return
	}
	for _, keys := range metricForms {
		for _, key := range keys {
			if o.value(key) != nil && !slices.Contains(form, key) {
				d.failPath(key, fmt.Sprintf("%s has no effect on a metric with %s", key, form[0]),
					"declare a metric with a measure that has it, and name that one")
			}
		}
	}
	second := map[string]string{"measure": "semantic_model", "numerator": "denominator"}[form[0]]
	if second != "" && o.value(second) == nil {
		d.failPath("", fmt.Sprintf("a metric with %s needs %s", form[0], second)+d.where(), "")
	}
	for _, key := range []string{"measure", "filter", "expr"} {
		if o.value(key) != nil && isBlankText(o.value(key)) {
			d.failPath(key, key+" is empty", "write an SQL expression")
		}
	}
	if m.Certified && len(m.Tests) == 0 {
		d.failPath("certified", "a certified metric needs tests",
			"add one to tests: the rows that the metric has for known data")
	}
}

func (d *decoder) checkMetricTest(t *MetricTest, o *object) {
	switch rows, value := o.written("rows"), o.written("value"); {
	case (rows == nil) == (value == nil):
		d.failPath("", "a test needs rows or value, not both"+d.where(), "rows: [] expects no rows")
	case value != nil && len(t.By) > 0:
		d.failPath("value", "a test with by expects rows", "write rows: [[…, value]]")
	case rows != nil && o.value("rows") == nil:
		d.failPath("rows", "rows takes a list, not nothing", "rows: [] expects no rows")
	case value != nil && t.Value == nil:
		d.failPath("value", "value takes a number", "write rows: [[null]] for a metric that is NULL")
	}
	for i, row := range t.Rows {
		switch row.(type) {
		case map[string]any, []any:
		default:
			d.failPath(fmt.Sprintf("rows[%d]", i), fmt.Sprintf("rows[%d] takes a mapping by column, or a list", i), "")
		}
	}
}
