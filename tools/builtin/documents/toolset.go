package documents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// Env is what the tools use of the runtime. The functions are called for calls of tools and use the
// published state.
type Env struct {
	builtin.Env
	// Sees reports whether the caller of a scope may call a tool or agent of the catalog.
	Sees func(name string, scope tools.Scope) bool
	// Tool returns the definition of a tool of the catalog, or nil.
	Tool func(name string) *tools.Definition
	// Call calls a tool of the catalog for the caller of a scope.
	Call func(ctx context.Context, name string, args map[string]any, scope tools.Scope) tools.Result
	// Work gives a task to an agent that has these tools and no other ones; it returns the answer, of
	// JSON. The steps of the agent go to who observes the call that ctx is for.
	Work func(ctx context.Context, agent, task string, own []tools.Tool, scope tools.Scope) (json.RawMessage, error)
	// WriteSQL has a model write a statement that answers a question.
	WriteSQL func(ctx context.Context, model string, q Question, scope tools.Scope) (sql string, err error)
}

// Config are the settings of the toolset.
type Config struct {
	Dataset   string
	Analyst   string            `json:",omitempty"` // agent
	Model     string            `json:",omitempty"` // that writes SQL
	WebSearch string            `json:",omitempty"` // tool
	Columns   map[string]string `json:",omitempty"` // by role
	// Hosts are host:port that fetch_web_page may reach though they are not public.
	Hosts []string `json:",omitempty"`

	Declared string        `json:"-"` // file:line
	Analysis time.Duration `json:"-"` // time limit of the analyst
}

var params = []spicepod.Param{
	{Name: "dataset", Type: spicepod.ParamText, Doc: "Name of the dataset or view whose rows are the documents."},
	{Name: "columns", Type: spicepod.ParamTextMap, Doc: "Columns of the dataset by what they are for the tools."},
	{Name: "analyst", Type: spicepod.ParamText, Doc: "Agent that analyze_document asks."},
	{Name: "model", Type: spicepod.ParamText, Doc: "Model that writes the SQL of query_documents."},
	{Name: "web_search", Type: spicepod.ParamText, Doc: "Tool that web_search calls."},
	{Name: "fetch_hosts", Type: spicepod.ParamTexts, Doc: "Hosts that fetch_web_page may reach though they are not public."},
}

// Params are the settings of the toolset.
func Params() []spicepod.Param { return slices.Clone(params) }

// Read reads the settings of an entry of toolsets. Faults are added to the entry, as are the remarks
// about tools that are left out.
func Read(e *spicepod.Entry) Config {
	e.Known("the toolset "+Toolset, params)
	c := Config{
		Dataset: e.Text("dataset"), Analyst: e.Text("analyst"), Model: e.Text("model"),
		WebSearch: strings.ReplaceAll(e.Text("web_search"), "/", "__"),
	}
	at := e.Pod.At(e.Path)
	c.Declared = fmt.Sprintf("%s:%d", at.File, at.Line)
	if columns, err := e.Params.Value("columns", spicepod.ParamTextMap); err == nil {
		c.Columns = columns.(map[string]string)
	}
	if hosts, err := e.Params.Value("fetch_hosts", spicepod.ParamTexts); err == nil {
		c.Hosts = hosts.([]string)
	}
	for role := range c.Columns {
		if !slices.Contains(roleNames(), role) {
			hint := nearest.Hint(role, roleNames(), "known here: "+strings.Join(roleNames(), ", "))
			p := e.Pod.KeyProblem(e.Path+spicepod.ParamPath("columns")+"."+role,
				fmt.Sprintf("the tools have no column for %q", role), hint)
			p.Component = e.Component
			e.Problems = append(e.Problems, p)
		}
	}
	c.checkNames(e)
	return c
}

// checkNames checks the names of other components in the settings.
func (c *Config) checkNames(e *spicepod.Entry) {
	if c.Dataset == "" {
		e.Fail(".from", "write the name of the dataset with the documents: params: { dataset: docs }",
			"the toolset %s needs a dataset", Toolset)
	} else if known, found := datasetNames(e.Pod, c.Dataset); !found {
		e.FailParam("dataset", nearest.Hint(c.Dataset, known, "declare it under datasets:"), "there is no dataset %q",
			c.Dataset)
	}
	var agents, models []string
	for _, a := range e.Pod.Agents {
		agents = append(agents, a.Name)
		if a.Name == c.Analyst {
			c.Analysis = a.Limits.Timeout + analysisMargin
			if c.Model == "" {
				c.Model = a.Model
			}
		}
	}
	for _, m := range e.Pod.Models {
		models = append(models, m.Name)
	}
	if c.Analyst != "" && !slices.Contains(agents, c.Analyst) {
		e.FailParam("analyst", nearest.Hint(c.Analyst, agents, "declare it under agents:"), "there is no agent %q", c.Analyst)
	}
	if c.Model == "" && len(models) == 1 {
		c.Model = models[0]
	}
	if c.Model != "" && e.Params.Has("model") && !slices.Contains(models, c.Model) {
		e.FailParam("model", nearest.Hint(c.Model, models, "declare it under models:"), "there is no model %q", c.Model)
	}
	for _, host := range c.Hosts {
		if err := checkHost(host); err != nil {
			e.FailParam("fetch_hosts", "write host:port, such as wiki.corp.example:8443", "%s", err)
		}
	}
}

// datasetNames returns the names of the datasets and views of a Spicepod, and whether one of them may be
// that name: tables of catalogs are not known yet.
func datasetNames(pod *spicepod.Pod, name string) (known []string, found bool) {
	want := builtin.RelationOf(name)
	found = len(pod.Catalogs) > 0
	for _, d := range pod.Datasets {
		known = append(known, d.Name)
	}
	for _, v := range pod.Views {
		known = append(known, v.Name)
	}
	return known, found || slices.ContainsFunc(known, func(n string) bool { return builtin.RelationOf(n) == want })
}

// WebSearch is the tool that searches the web, and the setting with which it is available.
const WebSearch = "web_search"

// Without returns the tools that the settings leave out, with the reason.
func (c Config) Without() (list []Missing) {
	for _, m := range []struct{ value, tool, param, message, hint string }{
		{
			c.Analyst, "analyze_document", "analyst", "it has no analyst",
			"name an agent: params: { analyst: AGENT }",
		},
		{
			c.Model, "query_documents", "model", "it has no model to write SQL",
			"name a model: params: { model: MODEL }",
		},
		{
			c.WebSearch, WebSearch, "web_search", "it has no tool to call",
			"name a tool, such as that of an MCP server: params: { web_search: brave__search }",
		},
	} {
		if m.value == "" {
			list = append(list, Missing{m.tool, m.param, m.message, m.hint})
		}
	}
	return list
}

// toolset makes the tools of a configuration.
type toolset struct {
	env    Env
	config Config
	fetch  *fetcher
}

// handler answers a call of a tool; it returns the result.
type handler func(context.Context, *definition, tools.Input) (any, error)

// handler returns that of a tool.
func (t *toolset) handler(name string) handler {
	switch name {
	case "list_folder_contents":
		return t.listFolder
	case "folder_tree":
		return t.folderTree
	case "search_documents":
		return t.search
	case "grep_documents":
		return t.grep
	case "find_by_name":
		return t.findByName
	case "document_info":
		return t.info
	case "read_document":
		return t.read
	case "analyze_document":
		return t.analyze
	case "query_documents":
		return t.query
	case "web_search":
		return t.searchWeb
	case "fetch_web_page":
		return t.fetchPage
	}
	return t.listed // list_sources, which is a statement alone
}

// New returns the tools, but those that the settings leave out.
func New(env Env, c Config) ([]tools.Tool, error) {
	t := &toolset{env: env, config: c, fetch: newFetcher(c.Hosts)}
	without := c.Without()
	var list []tools.Tool
	for _, d := range definitions {
		if slices.ContainsFunc(without, func(m Missing) bool { return m.Tool == d.Name }) {
			continue
		}
		def := d.tool(c)
		if d.Name == "analyze_document" {
			def.Limits = &tools.Limits{Timeout: c.Analysis}
		}
		tool, err := t.make(d, def, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, &dependent{tool, t, d})
	}
	return list, nil
}

// make returns the tool of a definition. fixed are arguments that callers do not choose.
func (t *toolset) make(d *definition, def tools.Definition, fixed map[string]any) (tools.Tool, error) {
	call := t.handler(d.Name)
	return tools.New(def, func(ctx context.Context, in tools.Input) (tools.Output, error) {
		in, err := withFixed(in, fixed)
		if err == nil && d.Category != categoryWeb {
			err = t.check(d, in)
		}
		if err != nil {
			return tools.Output{}, err
		}
		result, err := call(ctx, d, in)
		if err != nil {
			return tools.Output{}, err
		}
		return tools.JSON(result)
	})
}

// check returns an error if the dataset lacks what a tool needs: the columns of a view are not known
// before it is published.
func (t *toolset) check(d *definition, in tools.Input) error {
	dataset, err := t.env.Lookup(in.Scope, t.config.Dataset)
	if err != nil {
		return err
	}
	for _, m := range t.config.Missing(dataset) {
		if m.Tool == d.Name || m.Tool == "" {
			return tools.NewError(errcode.Execution, m.Message, m.Hint)
		}
	}
	return nil
}

// withFixed returns the input with further arguments.
func withFixed(in tools.Input, fixed map[string]any) (tools.Input, error) {
	if len(fixed) == 0 {
		return in, nil
	}
	args := map[string]any{}
	for name, value := range in.Arguments {
		args[name] = value
	}
	for name, value := range fixed {
		args[name] = value
	}
	raw, err := tools.Encode(args)
	in.Arguments, in.Raw = args, raw
	return in, err
}

// dependent is a tool that is available to callers who may use what it is made of.
type dependent struct {
	tools.Tool
	toolset *toolset
	def     *definition
}

var _ tools.Conditional = (*dependent)(nil)

// Unavailable returns why the tool is unavailable. It does not name what is missing, which the caller may
// not know of.
func (d *dependent) Unavailable(scope tools.Scope) string {
	c, sees := d.toolset.config, d.toolset.env.Sees
	switch {
	case d.def.Category != categoryWeb && !builtin.Permits(scope, c.Dataset),
		d.def.Name == "analyze_document" && !sees(c.Analyst, scope),
		d.def.Name == "web_search" && !sees(c.WebSearch, scope):
		return "what it needs is not available"
	}
	return ""
}

// documents finds the dataset for a call, and returns the statement that begins with its documents.
func (t *toolset) documents(in tools.Input, sql string) (builtin.Dataset, string, error) {
	d, err := t.env.Lookup(in.Scope, t.config.Dataset)
	if err != nil {
		return d, "", err
	}
	first := "WITH RECURSIVE documents AS NOT MATERIALIZED (\n" + t.config.columnsOf(d).query(d) + "\n)"
	rest := "\n" + sql
	for _, with := range []string{"WITH RECURSIVE ", "WITH "} {
		if more, ok := strings.CutPrefix(sql, with); ok {
			rest = ",\n" + more
			break
		}
	}
	return d, first + rest, nil
}

// request is the statement of a tool with the values of its parameters: the arguments of the call, and
// further ones.
func (t *toolset) request(d *definition, in tools.Input, further map[string]any) (engine.Request, error) {
	_, sql, err := t.documents(in, d.SQL)
	if err != nil {
		return engine.Request{}, err
	}
	values := map[string]any{}
	for _, name := range d.params {
		value, ok := further[name]
		if !ok {
			if value, err = plain(in.Arguments[name]); err != nil {
				return engine.Request{}, err
			}
		}
		values[name] = value
	}
	return t.env.Request(in, sql, values), nil
}

// plain converts a number of JSON, which the schema bounds.
func plain(value any) (any, error) {
	if n, ok := value.(json.Number); ok {
		return n.Int64()
	}
	return value, nil
}

// selected runs the statement of a tool and returns at most so many rows.
func (t *toolset) selected(ctx context.Context, d *definition, in tools.Input, further map[string]any, most int) (
	[]json.RawMessage, bool, error,
) {
	req, err := t.request(d, in, further)
	if err != nil {
		return nil, false, err
	}
	return t.env.Select(ctx, in, req, most)
}

// one returns the row of the document that the argument id names.
func one[T any](ctx context.Context, t *toolset, d *definition, in tools.Input) (row T, err error) {
	list, _, err := t.selected(ctx, d, in, nil, 2)
	if err != nil {
		return row, err
	}
	id, _ := in.Arguments["id"].(string)
	switch len(list) {
	case 0:
		return row, notFound(id)
	case 1:
		return row, json.Unmarshal(list[0], &row)
	}
	return row, tools.NewError(errcode.Execution, fmt.Sprintf("several documents have the id %s", quoted(id)),
		"the toolset needs a column that is different for each row: params.columns.id")
}

// notFound is the error of an id that no document has which the caller may read.
func notFound(id string) error {
	return tools.NewError(errcode.NotFound, "there is no document with the id "+quoted(id),
		"find_by_name, grep_documents and search_documents show ids")
}
