package ossie

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// exporter writes the metrics of a Spicepod.
type exporter struct {
	pod        *spicepod.Pod
	parse      Parse
	aggregates func(string) bool
	notes      []Note
	out        model
}

// Export returns the semantic models and metrics of a Spicepod as a document of Ossie. aggregates
// reports whether a function aggregates.
func Export(pod *spicepod.Pod, parse Parse, aggregates func(string) bool) ([]byte, []Note, error) {
	e := &exporter{pod: pod, parse: parse, aggregates: aggregates, out: model{Name: pod.Name}}
	for i := range pod.SemanticModels {
		e.model(i)
	}
	for i := range pod.Metrics {
		e.metric(i)
	}
	text, err := encode(file{Version, []model{e.out}})
	return text, e.notes, err
}

func (e *exporter) note(path, format string, args ...any) {
	at := e.pod.At(path)
	place := fmt.Sprintf("%s:%d: %s", at.File, at.Line, path)
	e.notes = append(e.notes, Note{Path: place, Text: fmt.Sprintf(format, args...)})
}

func (e *exporter) model(i int) {
	m, path := e.pod.SemanticModels[i], fmt.Sprintf("semantic_models[%d]", i)
	schema, table := m.Relation()
	d := dataset{
		Name: m.Name, Source: table, PrimaryKey: m.PrimaryKey, Description: m.Description, AIContext: synonyms(m.Synonyms),
		Extensions: ours("", map[string]any{"time": m.Time}),
	}
	if schema != "" {
		d.Source = schema + "." + table
	}
	for _, key := range m.UniqueKeys {
		d.UniqueKeys = append(d.UniqueKeys, key)
	}
	if m.Time != "" {
		e.note(path+".time", "only readers of the extension of %s see it", vendor)
	}
	if len(m.Metadata) > 0 {
		e.note(path+".metadata", "Ossie has no place for it")
	}
	for j, dim := range m.Dimensions {
		f := field{
			Name: dim.Name, Expression: ansi(dim.SQL), Description: dim.Description, AIContext: synonyms(dim.Synonyms),
			Dimension:  &dimension{dim.Type == spicepod.TimeDimension},
			Extensions: ours("", map[string]any{"grain": string(dim.Grain)}),
		}
		if dim.SQL == "" {
			f.Expression = ansi(dim.Name)
		}
		if dim.Grain != "" {
			e.note(fmt.Sprintf("%s.dimensions[%d].grain", path, j), "only readers of the extension of %s see it", vendor)
		}
		d.Fields = append(d.Fields, f)
	}
	e.out.Datasets = append(e.out.Datasets, d)
	for j, join := range m.Joins {
		r := relationship{
			Name: m.Name + "_" + join.As(), From: m.Name, To: join.To, FromColumns: join.FromColumns, ToColumns: join.ToColumns,
		}
		r.Extensions = ours("", map[string]any{"name": join.As()})
		to := e.named(join.To)
		if len(r.ToColumns) == 0 && to != nil {
			r.ToColumns = to.PrimaryKey
		}
		if len(r.ToColumns) == 0 {
			e.note(fmt.Sprintf("%s.joins[%d]", path, j), "left out: semantic model %s has no primary_key", join.To)
			continue
		}
		e.out.Relationships = append(e.out.Relationships, r)
	}
}

func (e *exporter) named(name string) *spicepod.SemanticModel {
	for i := range e.pod.SemanticModels {
		if sqltree.Fold(e.pod.SemanticModels[i].Name) == sqltree.Fold(name) {
			return &e.pod.SemanticModels[i]
		}
	}
	return nil
}

func (e *exporter) metric(i int) {
	m, path := e.pod.Metrics[i], fmt.Sprintf("metrics[%d]", i)
	text, err := e.expression(m, 0)
	if err != nil {
		e.note(path, "metric %s is left out: %s", m.Name, err)
		return
	}
	declared := map[string]any{
		"semantic_model": m.SemanticModel, "measure": m.Measure, "filter": m.Filter, "time": m.Time,
		"numerator": m.Numerator, "denominator": m.Denominator, "expr": m.Expr, "certified": m.Certified,
	}
	if m.FillNullsWith != nil {
		declared["fill_nulls_with"] = *m.FillNullsWith
	}
	e.out.Metrics = append(e.out.Metrics, metric{
		Name: m.Name, Expression: ansi(text), Description: m.Description, AIContext: synonyms(m.Synonyms),
		Extensions: ours(text, declared),
	})
	for key, there := range map[string]bool{
		"certified": m.Certified, "fill_nulls_with": m.FillNullsWith != nil, "time": m.Time != "",
	} {
		if there {
			e.note(path+"."+key, "only readers of the extension of %s see it", vendor)
		}
	}
	if len(m.Tests) > 0 {
		e.note(path+".tests", "Ossie has no place for them")
	}
	if len(m.Metadata) > 0 {
		e.note(path+".metadata", "Ossie has no place for it")
	}
}

// expression writes a metric as one expression over the columns of datasets. A filter is one of
// each aggregate in it.
func (e *exporter) expression(m spicepod.Metric, level int) (string, error) {
	if level > 10 {
		return "", fmt.Errorf("it is made of metrics that are made of each other")
	}
	inner := func(name string) (string, error) {
		i := slices.IndexFunc(e.pod.Metrics, func(o spicepod.Metric) bool {
			return sqltree.Fold(o.Name) == sqltree.Fold(name)
		})
		if i < 0 {
			return "", fmt.Errorf("there is no metric %q", name)
		}
		text, err := e.expression(e.pod.Metrics[i], level+1)
		return "(" + text + ")", err
	}
	switch {
	case m.Numerator != "":
		above, err := inner(m.Numerator)
		if err != nil {
			return "", err
		}
		below, err := inner(m.Denominator)
		return "CAST(" + above + " AS DOUBLE PRECISION) / NULLIF(" + below + ", 0)", err
	case m.Expr != "":
		p, err := parseExpression(m.Expr, e.parse)
		if err != nil {
			return "", err
		}
		var failed error
		text, ok := p.write(func(c sqltree.Column) string {
			text, err := inner(strings.Join(c.Parts, "."))
			if err != nil {
				failed = err
			}
			return text
		})
		if !ok {
			failed = fmt.Errorf("the form of %q is not supported", m.Expr)
		}
		return text, failed
	}
	return e.measure(m)
}

// measure writes a measure with its filter.
func (e *exporter) measure(m spicepod.Metric) (string, error) {
	model := e.named(m.SemanticModel)
	if model == nil {
		return "", fmt.Errorf("there is no semantic model %q", m.SemanticModel)
	}
	p, err := parseExpression(m.Measure, e.parse)
	if err != nil {
		return "", err
	}
	_, table := model.Relation()
	qualified := func(c sqltree.Column) string {
		if len(c.Parts) > 1 && sqltree.Fold(c.Parts[0]) != sqltree.Fold(table) {
			return "" // a field of a struct
		}
		return model.Name + "." + c.Parts[len(c.Parts)-1]
	}
	var filter []sqltree.Edit
	if m.Filter != "" {
		condition, err := e.filter(m, model)
		if err != nil {
			return "", err
		}
		for _, call := range p.st.Calls {
			if !e.aggregates(call.Name) {
				continue
			}
			span, filtered, ok := p.call(call)
			if !ok || filtered {
				return "", fmt.Errorf("its measure and its filter cannot be one expression")
			}
			filter = append(filter, sqltree.Edit{
				Span: sqltree.Span{Start: span.End, End: span.End}, New: " FILTER (WHERE " + condition + ")",
			})
		}
	}
	text, ok := p.write(qualified, filter...)
	if !ok {
		return "", fmt.Errorf("the form of %q is not supported", m.Measure)
	}
	if len(p.st.Columns) == 0 && len(e.pod.SemanticModels) > 1 && m.Filter == "" { // count(*) names no dataset
		key := model.PrimaryKey
		if len(key) == 0 || !strings.EqualFold(strings.ReplaceAll(m.Measure, " ", ""), "count(*)") {
			return "", fmt.Errorf("%s names no column, and so no dataset; declare primary_key of %s", m.Measure, model.Name)
		}
		return "COUNT(" + model.Name + "." + key[0] + ")", nil
	}
	return text, nil
}

// filter writes a filter over fields of datasets. A dataset that several ways lead to has no name
// in Ossie.
func (e *exporter) filter(m spicepod.Metric, model *spicepod.SemanticModel) (string, error) {
	p, err := parseExpression(m.Filter, e.parse)
	if err != nil {
		return "", err
	}
	all := e.reachable(model)
	ways := map[*spicepod.SemanticModel]map[string]bool{}
	for _, r := range all {
		if ways[r.model] == nil {
			ways[r.model] = map[string]bool{}
		}
		ways[r.model][r.prefix] = true
	}
	var failed error
	text, ok := p.write(func(c sqltree.Column) string {
		name := sqltree.Fold(c.Parts[len(c.Parts)-1])
		for _, r := range all {
			whole := sqltree.Fold(r.prefix + r.dimension)
			if whole != name && !strings.HasSuffix(whole, "__"+name) {
				continue
			}
			if len(ways[r.model]) > 1 {
				failed = fmt.Errorf("its filter names %s, and several joins lead to %s", name, r.model.Name)
			}
			return r.model.Name + "." + r.dimension
		}
		return model.Name + "." + c.Parts[len(c.Parts)-1]
	})
	if !ok {
		failed = fmt.Errorf("the form of %q is not supported", m.Filter)
	}
	return text, failed
}

// reached is a dimension that rows of a model have, by joins whose names are in prefix.
type reached struct {
	prefix, dimension string
	model             *spicepod.SemanticModel
}

// reachable returns the dimensions of a model and of those that it joins, nearest first.
func (e *exporter) reachable(model *spicepod.SemanticModel) (all []reached) {
	const hops, most = 4, 2000
	type place struct {
		model  *spicepod.SemanticModel
		prefix string
	}
	for queue := []place{{model: model}}; len(queue) > 0 && len(all) < most; queue = queue[1:] {
		at := queue[0]
		for _, d := range at.model.Dimensions {
			all = append(all, reached{at.prefix, d.Name, at.model})
		}
		if strings.Count(at.prefix, "__") == hops {
			continue
		}
		for _, j := range at.model.Joins {
			if to := e.named(j.To); to != nil {
				queue = append(queue, place{to, at.prefix + j.As() + "__"})
			}
		}
	}
	return all
}
