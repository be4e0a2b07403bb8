package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/tools"
)

// The tools of metrics, which exist where metrics are declared.
const (
	listMetrics  = "list_metrics"
	queryMetrics = "query_metrics"
)

type listMetricsArgs struct {
	Metrics []string `json:"metrics,omitempty" doc:"Only these metrics, with what their dimensions mean; without it all, with the names of their dimensions."`
}

// newListMetrics returns the tool that lists metrics.
func newListMetrics(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: listMetrics,
		Description: "Lists the metrics: business figures such as revenue or conversion that have one agreed definition, " +
			"each with its synonyms and the dimensions it can be grouped and filtered by. " +
			"Use it first for any question about figures; prefer certified metrics, and say what no metric covers.",
		Returns: json.RawMessage(`{"type":"array","items":{"type":"object","properties":{
			"metric":{"type":"string","description":"Name to use in query_metrics, and in SQL: FROM metric('name', by := ['dimension'])."},
			"kind":{"type":"string"},
			"type":{"type":"string"},
			"description":{"type":"string"},
			"synonyms":{"type":"array","items":{"type":"string"}},
			"certified":{"type":"boolean","description":"Whether it is marked as the agreed definition."},
			"definition":{"type":"string"},
			"filter":{"type":"string"},
			"dimensions":{"type":"array","description":"Names, or objects with their type, grains and meaning."}},
			"required":["metric","kind","type","certified","definition","dimensions"]}}`),
		Tags: []string{"data", "metrics", "catalog"},
	})
	return tools.Typed(def, func(_ context.Context, a listMetricsArgs, in tools.Input) (rows, error) {
		metrics := env.metrics(c, in.Scope)
		chosen := metrics
		if len(a.Metrics) > 0 {
			chosen = nil
			for _, name := range a.Metrics {
				i := slices.IndexFunc(metrics, func(m Metric) bool { return sqltree.Fold(m.Name) == sqltree.Fold(name) })
				if i < 0 {
					return rows{}, noMetric(name, metrics)
				}
				chosen = append(chosen, metrics[i])
			}
		}
		var lines [][]byte
		for _, m := range chosen {
			line, err := json.Marshal(m)
			if len(a.Metrics) == 0 {
				line, err = json.Marshal(m.brief())
			}
			if err != nil {
				return rows{}, fmt.Errorf("encode metric %s: %w", m.Name, err)
			}
			lines = append(lines, line)
		}
		return fit(lines, extentOf(in.Limits, math.MaxInt))
	})
}

// briefMetric is a metric with the names of its dimensions.
type briefMetric struct {
	Metric
	Dimensions []string `json:"dimensions"`
}

func (m Metric) brief() briefMetric {
	b := briefMetric{Metric: m, Dimensions: []string{}}
	for _, d := range m.Dimensions {
		b.Dimensions = append(b.Dimensions, d.Name)
	}
	return b
}

// metrics returns the metrics that a call may read.
func (e Env) metrics(c custom, s tools.Scope) []Metric {
	if e.Metrics == nil {
		return nil
	}
	return e.Metrics(c.access(s).permits, e.Hidden(s))
}

func noMetric(name string, known []Metric) error {
	names := make([]string, len(known))
	for i, m := range known {
		names[i] = m.Name
	}
	err := tools.NewError(errcode.InvalidArguments, "there is no metric "+name, "there are no metrics")
	if len(names) > 0 {
		err.Hint = "the metrics are " + listed(names)
	}
	return err.Suggest(name, names)
}

type queryMetricsArgs struct {
	Metrics []string `json:"metrics" doc:"Names of metrics, as list_metrics has them."`
	By      []string `json:"by,omitempty" doc:"Dimensions to group by, such as region, or ordered_at__month with a grain; metric_time is the time of each metric."`
	Grain   string   `json:"grain,omitempty" enum:"second,minute,hour,day,week,month,quarter,year" doc:"Grain of the time dimensions in by that name none."`
	Where   string   `json:"where,omitempty" doc:"SQL condition over dimensions, such as region = 'EU' AND ordered_at >= DATE '2024-01-01'. To filter by the value of a metric, use sql: SELECT … FROM metric('revenue', by := ['region']) WHERE revenue > 5."`
	OrderBy []string `json:"order_by,omitempty" doc:"Columns of the result; -revenue is descending."`
	Limit   *int     `json:"limit,omitempty" min:"0" doc:"How many rows at most."`
}

// Statement returns the statement, for the audit log.
func (a queryMetricsArgs) Statement() string {
	var b strings.Builder
	b.WriteString("SELECT * FROM metric(" + textList(a.Metrics))
	for _, arg := range []struct {
		name string
		list []string
	}{{"by", a.By}, {"order_by", a.OrderBy}} {
		if len(arg.list) > 0 {
			b.WriteString(", " + arg.name + " := " + textList(arg.list))
		}
	}
	for _, arg := range [][2]string{{"grain", a.Grain}, {"where", a.Where}} {
		if arg[1] != "" {
			b.WriteString(", " + engine.Identifier(arg[0]) + " := " + engine.Literal(arg[1]))
		}
	}
	if a.Limit != nil {
		fmt.Fprintf(&b, `, "limit" := %d`, *a.Limit)
	}
	return b.String() + ")"
}

func textList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = engine.Literal(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// newQueryMetrics returns the tool that queries metrics.
func newQueryMetrics(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: queryMetrics,
		Description: "Returns the values of metrics, grouped by dimensions such as region or month, as JSON objects. " +
			"The joins and filters are those of the agreed definitions. " +
			"Use it instead of sql for figures that list_metrics has; what no metric or dimension covers is for sql, and then " +
			"say that the figure is not an agreed one.",
		Returns: storedSchema(env.Results),
		Tags:    []string{"data", "metrics", "query"},
	})
	return tools.Typed(def, func(ctx context.Context, a queryMetricsArgs, in tools.Input) (output, error) {
		most := DefaultRows
		if in.Limits.MaxRows > 0 {
			most = in.Limits.MaxRows
		}
		return queryOrStore(ctx, env, sqlRequest(a.Statement(), c, in), extentOf(in.Limits, most))
	})
}
