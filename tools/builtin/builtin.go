package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// builtin constructs one of the tools.
type builtin struct {
	name  string
	reads bool // reads datasets, so an entry may restrict which
	make  func(Env, custom) (tools.Tool, error)
}

var builtins = []builtin{
	{"search", true, newSearch},
	{"table_schema", true, newTableSchema},
	{"sql", true, newSQL},
	{"list_datasets", true, newListDatasets},
	{"get_readiness", false, newGetReadiness},
	{"get_current_datetime", false, newGetCurrentDatetime},
	{"random_sample", true, newRandomSample},
	{"sample_distinct_columns", true, newSampleDistinctColumns},
	{"top_n_sample", true, newTopNSample},
	{"time_now", false, newTimeNow},
	{"list_udfs", false, newListUDFs},
	{"describe_function", false, newDescribeFunction},
}

// ofMetrics are the tools that are there where metrics are declared, in domains core and data.
var ofMetrics = []builtin{
	{listMetrics, true, newListMetrics},
	{queryMetrics, true, newQueryMetrics},
}

// Metrics are the names of the tools of metrics. They are in each of the sets Auto, All and NSQL
// where metrics are declared.
var Metrics = []string{listMetrics, queryMetrics}

// The sets of built-in tools for params.tools of a model, in the order in which
// the model sees them.
var (
	// Auto is the set of `tools: auto`.
	Auto = []string{"search", "table_schema", "sql", "list_datasets", "get_readiness", "get_current_datetime"}
	// All is the set of `tools: all`.
	All = append(slices.Clone(Auto), "random_sample", "sample_distinct_columns", "top_n_sample")
	// NSQL is the set of `tools: nsql`, for writing SQL.
	NSQL = []string{
		"table_schema", "sql", "list_datasets", "get_current_datetime",
		"random_sample", "sample_distinct_columns", "top_n_sample",
	}
)

// DomainsVariable is the environment variable that overrides
// runtime.tools.domains.
const DomainsVariable = "TOOL_REGISTRY_DOMAINS"

// DefaultDomain is the domain of all built-in tools.
const DefaultDomain = "core"

// domains are the groups in which built-in tools are enabled.
var domains = map[string][]string{
	DefaultDomain: Names(),
	"data": {
		"sql", "list_datasets", "table_schema", "search", "random_sample", "sample_distinct_columns",
		"top_n_sample",
	},
	"functions": {"list_udfs", "describe_function"},
	"status":    {"get_readiness"},
	"time":      {"get_current_datetime", "time_now"},
}

// Names lists the built-in tools that are always there, sorted.
func Names() []string {
	names := make([]string, len(builtins))
	for i, b := range builtins {
		names[i] = b.name
	}
	slices.Sort(names)
	return names
}

// Domains returns the enabled domains: those of environ, the comma-separated
// value of [DomainsVariable], else those of setting, else [DefaultDomain]. An
// unknown domain is an error.
func Domains(setting []string, environ string) ([]string, error) {
	from, list := "runtime.tools.domains", setting
	if strings.TrimSpace(environ) != "" {
		from, list = DomainsVariable, strings.Split(environ, ",")
	}
	var enabled []string
	for _, name := range list {
		name = strings.TrimSpace(name)
		if name == "" || slices.Contains(enabled, name) {
			continue
		}
		if err := checkDomain(name); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		enabled = append(enabled, name)
	}
	if len(enabled) == 0 {
		return []string{DefaultDomain}, nil
	}
	return enabled, nil
}

func checkDomain(name string) error {
	if domains[name] != nil {
		return nil
	}
	return unknown("domain of built-in tools", name, slices.Sorted(maps.Keys(domains)))
}

func unknown(what, name string, known []string) error {
	return fmt.Errorf("there is no %s %q%s; known here: %s", what, name, nearest.Clause(name, known),
		strings.Join(known, ", "))
}

// Load returns the built-in tools of some domains, sorted by name.
func Load(env Env, enabled []string) ([]tools.Tool, error) {
	wanted := map[string]bool{}
	for _, domain := range enabled {
		if err := checkDomain(domain); err != nil {
			return nil, err
		}
		for _, name := range domains[domain] {
			wanted[name] = true
		}
	}
	if env.Metrics != nil && (wanted["sql"] || wanted["list_datasets"]) {
		for _, b := range ofMetrics {
			wanted[b.name] = true
		}
	}
	var loaded []tools.Tool
	for _, b := range slices.Concat(builtins, ofMetrics) {
		if !wanted[b.name] {
			continue
		}
		tool, err := b.make(env, custom{})
		if err != nil {
			return nil, fmt.Errorf("built-in tool %q: %w", b.name, err)
		}
		loaded = append(loaded, tool)
	}
	slices.SortFunc(loaded, func(a, b tools.Tool) int { return strings.Compare(a.Definition().Name, b.Definition().Name) })
	return loaded, nil
}

// Caller calls built-in tools for the runtime itself, not for a client: the calls are
// not counted.
type Caller map[string]tools.Tool

// NewCaller returns a caller of all built-in tools.
func NewCaller(env Env) (Caller, error) {
	all, err := Load(env, []string{DefaultDomain})
	c := Caller{}
	for _, t := range all {
		c[t.Definition().Name] = t
	}
	return c, err
}

// Call calls the named tool and decodes its result.
func (c Caller) Call(ctx context.Context, scope tools.Scope, name string, args map[string]any, result any) error {
	raw, err := tools.Encode(args)
	if err != nil {
		return err
	}
	out, err := c[name].Call(ctx, tools.Input{Raw: raw, Arguments: args, Scope: scope})
	if err != nil {
		return err
	}
	return json.Unmarshal(out.Value, result)
}

// custom are the changes of an entry of `tools:` to a built-in tool; the zero
// value changes nothing.
type custom struct {
	entry     spicepod.Tool
	documents spicepod.ToolDocuments
	declared  string   // file:line
	allow     []string // patterns of tables; nil means all
}

// paramAllowlist lists the tables that a customised tool may read.
const paramAllowlist = "table_allowlist"

// Customise returns the tool of an entry of `tools:` with `from:
// builtin:<name>`: the built-in tool with another name, description, owner or
// limits, restricted to the tables in params.table_allowlist. documents are the settings of the
// runtime, declared is the
// position of the entry, as file:line.
func Customise(env Env, entry spicepod.Tool, documents spicepod.ToolDocuments, declared string) (tools.Tool, error) {
	name := entry.Builtin()
	all := slices.Concat(builtins, ofMetrics)
	at := slices.IndexFunc(all, func(b builtin) bool { return b.name == name })
	if at < 0 {
		return nil, unknown("built-in tool", name, append(Names(), Metrics...))
	}
	if env.Metrics == nil && slices.Contains(Metrics, name) {
		return nil, fmt.Errorf("built-in tool %q needs metrics, and the Spicepod declares none under metrics", name)
	}
	b := all[at]
	c := custom{entry: entry, documents: documents, declared: declared}
	for key := range entry.Params {
		switch {
		case !b.reads:
			return nil, fmt.Errorf("params.%s: builtin:%s takes no params", key, name)
		case key != paramAllowlist:
			return nil, fmt.Errorf("params: %w", unknown("param", key, []string{paramAllowlist}))
		}
	}
	if entry.Params.Has(paramAllowlist) {
		text, err := entry.Params.String(paramAllowlist)
		if err == nil {
			c.allow, err = readPatterns(text)
		}
		if err != nil {
			return nil, fmt.Errorf("params.%s: %w", paramAllowlist, err)
		}
	}
	return b.make(env, c)
}

// define completes the definition of the built-in tool def.Name with the
// changes of the entry.
func (c custom) define(def tools.Definition) tools.Definition {
	def.Source, def.Declared = tools.SourceBuiltin, "built in"
	def.Annotations = tools.Annotations{ReadOnly: true, Idempotent: true}
	def.Datasets = c.allow
	def.Implementation = fmt.Sprintf("builtin:%s %q", def.Name, c.allow)
	if c.entry.Name == "" {
		return def
	}
	def.Declared = c.declared
	def.Name, def.Owner = c.entry.Name, c.entry.Owner
	if c.entry.Description != "" {
		def.Description = c.entry.Description
	}
	def.Document = tools.DocumentOf(c.entry.Use(), c.documents)
	if l := tools.DeclaredLimits(c.entry.Limits); l != nil {
		def.Limits = l
	}
	def.Annotations = def.Annotations.Of(c.entry.Risk)
	def.Dispatch, def.Parallel = tools.Dispatch(c.entry.Dispatch), c.entry.Parallel
	return def
}

// access is the set of datasets that a call of the tool may read.
func (c custom) access(s tools.Scope) access {
	all := slices.Concat([][]string{s.Datasets, c.allow}, s.Through)
	return slices.DeleteFunc(all, func(patterns []string) bool { return patterns == nil })
}
