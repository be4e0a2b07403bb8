package ossie

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Sections are what an import writes, as a Spicepod has it.
type Sections struct {
	SemanticModels []importedModel  `yaml:"semantic_models"`
	Metrics        []importedMetric `yaml:"metrics,omitempty"`
}

type importedModel struct {
	Name        string              `yaml:"name"`
	From        string              `yaml:"from,omitempty"`
	Description string              `yaml:"description,omitempty"`
	Synonyms    []string            `yaml:"synonyms,omitempty,flow"`
	PrimaryKey  []string            `yaml:"primary_key,omitempty,flow"`
	UniqueKeys  [][]string          `yaml:"unique_keys,omitempty,flow"`
	Time        string              `yaml:"time,omitempty"`
	Dimensions  []importedDimension `yaml:"dimensions,omitempty"`
	Joins       []importedJoin      `yaml:"joins,omitempty"`
}

type importedDimension struct {
	Name        string   `yaml:"name"`
	SQL         string   `yaml:"sql,omitempty"`
	Type        string   `yaml:"type,omitempty"`
	Grain       string   `yaml:"grain,omitempty"`
	Description string   `yaml:"description,omitempty"`
	Synonyms    []string `yaml:"synonyms,omitempty,flow"`
}

type importedJoin struct {
	To          string   `yaml:"to"`
	Name        string   `yaml:"name,omitempty"`
	FromColumns []string `yaml:"from_columns,flow"`
	ToColumns   []string `yaml:"to_columns,omitempty,flow"`
}

type importedMetric struct {
	Name          string   `yaml:"name"`
	Description   string   `yaml:"description,omitempty"`
	Synonyms      []string `yaml:"synonyms,omitempty,flow"`
	SemanticModel string   `yaml:"semantic_model,omitempty"`
	Measure       string   `yaml:"measure,omitempty"`
	Filter        string   `yaml:"filter,omitempty"`
	Time          string   `yaml:"time,omitempty"`
	FillNullsWith *float64 `yaml:"fill_nulls_with,omitempty"`
	Numerator     string   `yaml:"numerator,omitempty"`
	Denominator   string   `yaml:"denominator,omitempty"`
	Expr          string   `yaml:"expr,omitempty"`
}

// importer reads one document.
type importer struct {
	parse      Parse
	aggregates func(string) bool
	notes      []Note
	out        Sections
	fields     map[string]map[string]string // expressions of fields, by folded dataset and field
}

// Import returns the sections of a Spicepod for a document of Ossie. An error says why the text is
// no such document.
func Import(text []byte, parse Parse, aggregates func(string) bool) ([]byte, []Note, error) {
	if len(text) > MaxFile {
		return nil, nil, fmt.Errorf("the file has %d bytes; the limit is %d", len(text), MaxFile)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, nil, fmt.Errorf("read YAML: %w", err)
	}
	if line := alias(&doc); line > 0 {
		return nil, nil, fmt.Errorf("line %d is a YAML alias: write its value in its place", line)
	}
	if doc.Kind != yaml.DocumentNode || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil, errors.New("the file is no document of Ossie: it has no keys version and semantic_model")
	}
	im := &importer{parse: parse, aggregates: aggregates, fields: map[string]map[string]string{}}
	root := im.keys(doc.Content[0], "", "version", "semantic_model", "dialects", "vendors")
	if v := root["version"]; v == nil || !slices.Contains(versions, v.Value) {
		shown := "none"
		if v != nil {
			shown = v.Value
		}
		im.note(doc.Content[0], "version", "version %s is not known; it is read as %s", shown, Version)
	}
	models := items(root["semantic_model"])
	if len(models) == 0 {
		return nil, nil, errors.New("the file is no document of Ossie: semantic_model has no entries")
	}
	for i, m := range models {
		im.model(m, fmt.Sprintf("semantic_model[%d]", i))
	}
	slices.SortStableFunc(im.notes, func(a, b Note) int { return a.Line - b.Line })
	out, err := encode(im.out)
	return out, im.notes, err
}

// alias returns the line of the first alias: a short file of aliases can describe a huge document.
// 0: it has none.
func alias(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		return n.Line
	}
	for _, inner := range n.Content {
		if line := alias(inner); line > 0 {
			return line
		}
	}
	return 0
}

func (im *importer) note(at *yaml.Node, path, format string, args ...any) {
	n := Note{Path: path, Text: fmt.Sprintf(format, args...)}
	if at != nil {
		n.Line = at.Line
	}
	im.notes = append(im.notes, n)
}

// items returns the elements of a list.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// keys returns the values of a mapping by key, and notes those that are not known.
func (im *importer) keys(n *yaml.Node, path string, known ...string) map[string]*yaml.Node {
	values := map[string]*yaml.Node{}
	if n == nil || n.Kind != yaml.MappingNode {
		im.note(n, path, "it is not a mapping, and left out")
		return values
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if !slices.Contains(known, key) {
			im.note(n.Content[i], join(path, key), "left out: a Spicepod has no place for it")
			continue
		}
		values[key] = n.Content[i+1]
	}
	return values
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// text returns a scalar, or "".
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func texts(n *yaml.Node) (list []string) {
	for _, item := range items(n) {
		list = append(list, text(item))
	}
	return list
}

// synonyms reads the synonyms of an ai_context, and notes the rest of it.
func (im *importer) synonyms(n *yaml.Node, path string) []string {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.ScalarNode:
		im.note(n, path, "left out: write its words as synonyms or into the description: %s", n.Value)
		return nil
	}
	return texts(im.keys(n, path, "synonyms")["synonyms"])
}

// ours returns our extension, and notes those of others.
func (im *importer) ours(n *yaml.Node, path string) (declared map[string]any) {
	for i, e := range items(n) {
		at := fmt.Sprintf("%s[%d]", path, i)
		values := im.keys(e, at, "vendor_name", "data")
		if name := text(values["vendor_name"]); name != vendor {
			im.note(e, at, "left out: it is an extension of %s", name)
			continue
		}
		if err := json.Unmarshal([]byte(text(values["data"])), &declared); err != nil {
			im.note(e, at, "left out: its data is no JSON object")
		}
	}
	return declared
}

func word(declared map[string]any, key string) string {
	s, _ := declared[key].(string)
	return s
}

// name matches what names of models, dimensions, joins and metrics may be.
var name = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)

// named returns the name of an entry if a Spicepod can have it.
func (im *importer) named(n *yaml.Node, path, what string) (string, bool) {
	s := text(n)
	if !name.MatchString(s) || strings.Contains(s, "__") || strings.HasSuffix(s, "_") {
		im.note(n, path, "left out: the name of a %s has letters, digits and _, not two _ in a row: %q", what, s)
		return "", false
	}
	return s, true
}

func (im *importer) model(n *yaml.Node, path string) {
	m := im.keys(n, path, "name", "description", "ai_context", "datasets", "relationships", "metrics", "custom_extensions")
	if d := m["description"]; d != nil {
		im.note(d, join(path, "description"), "left out: a Spicepod describes each semantic model: %s", text(d))
	}
	im.synonyms(m["ai_context"], join(path, "ai_context"))
	im.ours(m["custom_extensions"], join(path, "custom_extensions"))
	for i, d := range items(m["datasets"]) {
		im.dataset(d, fmt.Sprintf("%s.datasets[%d]", path, i))
	}
	for i, r := range items(m["relationships"]) {
		im.relationship(r, fmt.Sprintf("%s.relationships[%d]", path, i))
	}
	for i, x := range items(m["metrics"]) {
		im.metric(x, fmt.Sprintf("%s.metrics[%d]", path, i))
	}
}

// find returns an imported model, or nil.
func (im *importer) find(name string) *importedModel {
	for i := range im.out.SemanticModels {
		if sqltree.Fold(im.out.SemanticModels[i].Name) == sqltree.Fold(name) {
			return &im.out.SemanticModels[i]
		}
	}
	return nil
}

func (im *importer) dataset(n *yaml.Node, path string) {
	d := im.keys(n, path, "name", "source", "primary_key", "unique_keys", "description", "ai_context", "fields",
		"custom_extensions")
	name, ok := im.named(d["name"], join(path, "name"), "semantic model")
	if !ok {
		return
	}
	if im.find(name) != nil {
		im.note(d["name"], join(path, "name"), "left out: there is another dataset %q", name)
		return
	}
	m := importedModel{
		Name: name, Description: text(d["description"]), Synonyms: im.synonyms(d["ai_context"], join(path, "ai_context")),
		PrimaryKey: texts(d["primary_key"]),
		Time:       word(im.ours(d["custom_extensions"], join(path, "custom_extensions")), "time"),
	}
	for _, key := range items(d["unique_keys"]) {
		m.UniqueKeys = append(m.UniqueKeys, texts(key))
	}
	m.From = im.source(d["source"], join(path, "source"), name)
	im.fields[sqltree.Fold(name)] = map[string]string{}
	for i, f := range items(d["fields"]) {
		im.field(&m, f, fmt.Sprintf("%s.fields[%d]", path, i))
	}
	im.out.SemanticModels = append(im.out.SemanticModels, m)
}

// source returns the dataset or view of a Spicepod that has the rows.
func (im *importer) source(n *yaml.Node, path, name string) string {
	source := strings.TrimSpace(text(n))
	if strings.ContainsAny(source, " \t\n(") {
		im.note(n, path, "it is a query: declare it under views: as %s", name)
		return ""
	}
	parts := strings.Split(source, ".")
	table := parts[len(parts)-1]
	if len(parts) > 1 {
		im.note(n, path, "declare %s as a dataset named %s", source, table)
	}
	if sqltree.Fold(table) == sqltree.Fold(name) {
		return ""
	}
	return table
}

// times are the data types of time dimensions.
var times = []string{"Date", "DateTime", "DateTimeTz"}

func (im *importer) field(m *importedModel, n *yaml.Node, path string) {
	f := im.keys(n, path, "name", "expression", "dimension", "label", "description", "datatype", "ai_context",
		"custom_extensions")
	expr := im.ansi(f["expression"], join(path, "expression"))
	if expr == "" {
		return
	}
	im.fields[sqltree.Fold(m.Name)][sqltree.Fold(text(f["name"]))] = expr
	name, ok := im.named(f["name"], join(path, "name"), "dimension")
	if !ok {
		return
	}
	d := importedDimension{
		Name: name, Description: text(f["description"]), Synonyms: im.synonyms(f["ai_context"], join(path, "ai_context")),
		Grain: word(im.ours(f["custom_extensions"], join(path, "custom_extensions")), "grain"),
	}
	if sqltree.Fold(expr) != sqltree.Fold(name) {
		d.SQL = expr
	}
	if l := f["label"]; l != nil {
		im.note(l, join(path, "label"), "left out: a Spicepod has no place for it: %s", text(l))
	}
	isTime := text(im.keys(orEmpty(f["dimension"]), join(path, "dimension"), "is_time")["is_time"])
	datatype := text(f["datatype"])
	switch {
	case isTime == "true" && datatype != "" && !slices.Contains(times, datatype):
		im.note(f["datatype"], join(path, "datatype"), "dimension %s is not of type time: it is of type %s", name, datatype)
	case isTime == "true" || isTime == "" && slices.Contains(times, datatype):
		d.Type = "time"
	}
	m.Dimensions = append(m.Dimensions, d)
}

func orEmpty(n *yaml.Node) *yaml.Node {
	if n == nil {
		return &yaml.Node{Kind: yaml.MappingNode}
	}
	return n
}

// ansi returns the expression in standard SQL, which DuckDB's is close to.
func (im *importer) ansi(n *yaml.Node, path string) string {
	var others []string
	found := ""
	for i, d := range items(im.keys(orEmpty(n), path, "dialects")["dialects"]) {
		values := im.keys(d, fmt.Sprintf("%s.dialects[%d]", path, i), "dialect", "expression")
		if text(values["dialect"]) == "ANSI_SQL" {
			found = strings.TrimSpace(text(values["expression"]))
		} else {
			others = append(others, text(values["dialect"]))
		}
	}
	switch {
	case found == "":
		im.note(n, path, "left out: it has no expression in ANSI_SQL")
	case len(others) > 0:
		im.note(n, path, "the expressions in %s are left out", strings.Join(others, ", "))
	}
	return found
}

func (im *importer) relationship(n *yaml.Node, path string) {
	r := im.keys(n, path, "name", "from", "to", "from_columns", "to_columns", "ai_context", "custom_extensions")
	im.synonyms(r["ai_context"], join(path, "ai_context"))
	from, to := im.find(text(r["from"])), im.find(text(r["to"]))
	declared := im.ours(r["custom_extensions"], join(path, "custom_extensions"))
	if from == nil || to == nil {
		missing := text(r["from"])
		if from != nil {
			missing = text(r["to"])
		}
		im.note(n, path, "left out: there is no dataset %q", missing)
		return
	}
	j := importedJoin{To: to.Name, FromColumns: texts(r["from_columns"]), ToColumns: texts(r["to_columns"])}
	if j.Name = word(declared, "name"); j.Name == "" {
		j.Name, _ = im.named(r["name"], join(path, "name"), "join")
	}
	if sqltree.Fold(j.Name) == sqltree.Fold(j.To) {
		j.Name = ""
	}
	if !slices.ContainsFunc(append([][]string{to.PrimaryKey}, to.UniqueKeys...), func(key []string) bool {
		return slices.Equal(key, j.ToColumns)
	}) {
		to.UniqueKeys = append(to.UniqueKeys, j.ToColumns)
		im.note(r["to_columns"], join(path, "to_columns"),
			"declared as one of unique_keys of %s, because the relationship needs it", to.Name)
	}
	if slices.Equal(j.ToColumns, to.PrimaryKey) {
		j.ToColumns = nil
	}
	from.Joins = append(from.Joins, j)
}

func (im *importer) metric(n *yaml.Node, path string) {
	x := im.keys(n, path, "name", "expression", "description", "datatype", "ai_context", "custom_extensions")
	name, ok := im.named(x["name"], join(path, "name"), "metric")
	expr := im.ansi(x["expression"], join(path, "expression"))
	if !ok || expr == "" {
		return
	}
	m := importedMetric{
		Name: name, Description: text(x["description"]), Synonyms: im.synonyms(x["ai_context"], join(path, "ai_context")),
	}
	declared := im.ours(x["custom_extensions"], join(path, "custom_extensions"))
	if declared != nil && word(declared, "expression") == expr {
		m.declare(declared)
		if declared["certified"] == true {
			im.note(x["name"], path, "metric %s was certified: certify it again, with tests", name)
		}
		im.out.Metrics = append(im.out.Metrics, m)
		return
	}
	if declared != nil {
		im.note(x["custom_extensions"], join(path, "custom_extensions"), "left out: the expression has changed since")
	}
	if err := im.split(m, expr); err != nil {
		im.note(x["expression"], path, "metric %s is left out: %s", name, err)
	}
}

// declare sets what our own extension says.
func (m *importedMetric) declare(declared map[string]any) {
	for key, to := range map[string]*string{
		"semantic_model": &m.SemanticModel, "measure": &m.Measure, "filter": &m.Filter, "time": &m.Time,
		"numerator": &m.Numerator, "denominator": &m.Denominator, "expr": &m.Expr,
	} {
		*to = word(declared, key)
	}
	if fill, ok := declared["fill_nulls_with"].(float64); ok {
		m.FillNullsWith = &fill
	}
}

// split adds a metric. One of several datasets becomes an expression over simple ones, one for
// each of its aggregates: each is aggregated over its own rows, as in Ossie.
func (im *importer) split(m importedMetric, expr string) error {
	p, err := parseExpression(expr, im.parse)
	if err != nil {
		return err
	}
	type part struct {
		span    sqltree.Span
		dataset string
	}
	var parts []part
	for _, c := range p.st.Calls {
		if !im.aggregates(c.Name) {
			continue
		}
		span, _, ok := p.call(c)
		if !ok {
			return fmt.Errorf("the form of %s is not supported", c.Name)
		}
		dataset, err := im.datasetOf(p, span)
		if err != nil {
			return err
		}
		parts = append(parts, part{span, dataset})
	}
	if len(parts) == 0 {
		return errors.New("it aggregates nothing")
	}
	all := map[string]bool{}
	for _, part := range parts {
		all[part.dataset] = true
	}
	if len(all) == 1 {
		if m.Measure, err = im.physical(p, parts[0].dataset); err != nil {
			return err
		}
		m.SemanticModel = parts[0].dataset
		im.out.Metrics = append(im.out.Metrics, m)
		return nil
	}
	var edits []sqltree.Edit
	for i, part := range parts {
		name := fmt.Sprintf("%s_%d", m.Name, i+1)
		inner, err := parseExpression(p.text[part.span.Start:part.span.End], im.parse)
		if err != nil {
			return err
		}
		measure, err := im.physical(inner, part.dataset)
		if err != nil {
			return err
		}
		im.out.Metrics = append(im.out.Metrics, importedMetric{
			Name: name, Description: "Part of " + m.Name + ".", SemanticModel: part.dataset, Measure: measure,
		})
		edits = append(edits, sqltree.Edit{Span: part.span, New: name})
	}
	out, _ := sqltree.Apply(p.text, edits)
	m.Expr = strings.TrimSpace(strings.TrimPrefix(out, start))
	im.out.Metrics = append(im.out.Metrics, m)
	return nil
}

// datasetOf returns the dataset whose fields a part of an expression names.
func (im *importer) datasetOf(p *parsed, part sqltree.Span) (string, error) {
	found := map[string]bool{}
	for _, c := range p.st.Columns {
		if c.Offset < part.Start || c.Offset >= part.End {
			continue
		}
		if len(c.Parts) > 1 {
			m := im.find(c.Parts[0])
			if m == nil {
				return "", fmt.Errorf("there is no dataset %q", c.Parts[0])
			}
			found[m.Name] = true
			continue
		}
		var with []string
		for _, m := range im.out.SemanticModels {
			if im.fields[sqltree.Fold(m.Name)][sqltree.Fold(c.Parts[0])] != "" {
				with = append(with, m.Name)
			}
		}
		if len(with) != 1 {
			return "", fmt.Errorf("field %q is in %d datasets; write dataset.field", c.Parts[0], len(with))
		}
		found[with[0]] = true
	}
	switch names := slices.Sorted(maps.Keys(found)); {
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", fmt.Errorf("one aggregate is over rows of %s: join them in a view", strings.Join(names, " and "))
	case len(im.out.SemanticModels) == 1:
		return im.out.SemanticModels[0].Name, nil
	}
	return "", fmt.Errorf("%s names no dataset", strings.TrimSpace(p.text[part.Start:part.End]))
}

// physical writes an expression over the columns of a dataset's table.
func (im *importer) physical(p *parsed, dataset string) (string, error) {
	text, ok := p.write(func(c sqltree.Column) string {
		column := c.Parts[len(c.Parts)-1]
		expr := im.fields[sqltree.Fold(dataset)][sqltree.Fold(column)]
		switch {
		case expr == "" || sqltree.Fold(expr) == sqltree.Fold(column):
			return column
		case name.MatchString(expr):
			return expr
		}
		return "(" + expr + ")"
	})
	if !ok {
		return "", errors.New("its form is not supported")
	}
	return text, nil
}
