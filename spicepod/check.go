package spicepod

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// The rules in this file cannot be expressed as struct tags: they concern a component
// as a whole.

// functionName matches the names that SQL, tools and MCP clients all accept.
var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// namePart is one part of a table name that needs no quotes.
var namePart = regexp.MustCompile(`^[\p{L}\p{N}_][\p{L}\p{N}_$-]*$`)

// maxSearchTop is the maximum number of tools that a search returns.
const maxSearchTop = 20

// secretStores are Spice's kinds of secret stores. Only env is served.
var secretStores = []string{"env", "kubernetes", "keyring", "aws_secrets_manager"}

// failPath records a problem at a path below the current value.
func (d *decoder) failPath(below, message, hint string) {
	path := pathString(d.path)
	if below != "" && below[0] != '[' && path != "" {
		path += "."
	}
	path += below
	d.failAt(d.index.find(parsePath(path)).value, path, message, hint)
}

// minWorkerMemory is what an empty worker, of about 150 MiB, can run statements in.
const minWorkerMemory = 256 << 20

// check applies the rules of a struct that has just been decoded: its fields have their values
// and defaults, those of the structs around it may not. So a rule about several components, such
// as a name that two have, is not here but in the check of the whole Spicepod.
func (d *decoder) check(v any, o *object) {
	switch v := v.(type) {
	case *Function:
		d.checkFunction(v, o)
	case *Signature:
		d.checkSignature(v)
	case *FunctionTest:
		d.checkTest(v, o)
	case *Dataset:
		d.checkTableName(v.Name)
		d.checkPolicy(v, o)
	case *Catalog:
		d.checkCatalog(v)
	case *View:
		d.checkTableName(v.Name)
		d.checkExactlyOne(o, "sql", "sql_ref", "a view needs one of sql or sql_ref")
	case *Acceleration:
		if o.value("refresh_check_interval") != nil && o.value("refresh_cron") != nil {
			d.failPath("refresh_cron", "refresh_check_interval and refresh_cron are mutually exclusive", "keep one of them")
		}
		d.checkSnapshots(v)
	case *Query:
		d.checkQuery(v, o)
	case *Postgres:
		d.checkAddress(v.Address)
	case *Flight:
		d.checkAddress(v.Address)
	case *CORS:
		for i, origin := range v.AllowedOrigins {
			if origin != "*" && !isOrigin(origin) {
				d.failPath(fmt.Sprintf("allowed_origins[%d]", i),
					fmt.Sprintf("%q is not a valid origin", truncate.Runes(origin, maxShown)),
					"write scheme://host or scheme://host:port, without a slash at the end, or *")
			}
		}
	case *SecretStore:
		d.checkStore(v)
	case *Tool:
		d.checkWireName("tool", v.Name)
		d.checkUse(v.Use(), o)
		d.checkDocuments(v, o)
		d.checkAvailable(o)
		d.checkApproval(o)
	case *ToolDocument:
		d.checkUse(v.Use(), o)
	case *Toolset:
		d.checkAvailable(o)
		d.checkWireName("toolset", v.Name)
		d.checkExactlyOne(o, "tools", "from", "a toolset needs one of tools or from")
		if o.value("params") != nil && o.value("from") == nil {
			d.failPath("params", "a toolset without from takes no params", "remove them, or write from: builtin:documents")
		}
	case *Sandbox:
		d.checkSandbox(v)
	case *Agent:
		d.checkAgent(v, o)
	case *SemanticModel:
		d.checkSemanticModel(v)
	case *Dimension:
		d.checkDimension(v, o)
	case *SemanticJoin:
		d.checkJoin(v)
	case *Metric:
		d.checkMetric(v, o)
	case *MetricTest:
		d.checkMetricTest(v, o)
	case *SearchTest:
		if v.Top > maxSearchTop {
			d.failPath("top", fmt.Sprintf("top is %d; a search returns at most %d tools", v.Top, maxSearchTop), "")
		}
	}
}

func (d *decoder) checkQuery(q *Query, o *object) {
	if o.value("isolate") != nil && q.Isolation != IsolationProcess {
		d.failPath("isolate", "isolate has no effect with isolation: none", "leave isolation out, or set it to process")
	}
	if q.WorkerMemory > 0 && q.WorkerMemory < minWorkerMemory {
		d.failPath("worker_memory", "a worker needs at least 256MiB of memory", "leave worker_memory out, or raise it")
	}
}

// isOrigin reports whether a text is a scheme and a host with its port, if any, and no more, as
// RFC 6454 serializes origins.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != "" && strings.EqualFold(text, u.Scheme+"://"+u.Host)
}

// checkWireName refuses names that models and MCP clients do not accept; what is a tool or a
// toolset.
func (d *decoder) checkWireName(what, name string) {
	if name != "" && !functionName.MatchString(name) {
		d.failPath("name", fmt.Sprintf("%s name %q is not allowed", what, truncate.Runes(name, maxShown)),
			"a name is 1 to 64 letters, digits, _ or -")
	}
}

// checkAddress refuses invalid addresses of listeners.
func (d *decoder) checkAddress(address string) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		d.failPath("address", fmt.Sprintf("%q is not a valid address", truncate.Runes(address, maxShown)),
			"write host:port, such as 127.0.0.1:5432; port 0 picks a free one")
	}
}

// checkAvailable refuses an empty expression: whether it means everyone or no one would
// be a guess.
func (d *decoder) checkAvailable(o *object) {
	if node := o.written("available"); node != nil && (isEmpty(target(node)) || isBlankText(node)) {
		d.failPath("available", "the expression is empty",
			"write a CEL expression, such as ctx.space_id != null, or leave available out")
	}
}

// checkApproval refuses an empty requires_approval, as checkAvailable does.
func (d *decoder) checkApproval(o *object) {
	if node := o.written("requires_approval"); node != nil && (isEmpty(target(node)) || isBlankText(node)) {
		d.failPath("requires_approval", "the expression is empty",
			"write true, or a CEL expression such as tool.risk != 'read', or leave requires_approval out")
	}
}

// reservedTools are the tools by which models find and call the others.
var reservedTools = []string{"tool_search", "tool_invoke", "tool_describe"}

// checkToolName refuses the name of a function or an agent that is that of such a tool.
func (d *decoder) checkToolName(what, name string) {
	if slices.Contains(reservedTools, strings.ToLower(name)) {
		d.failPath("name", fmt.Sprintf("%s name %q is reserved: the runtime has a tool of that name, by which models "+
			"reach the others", what, name), "use another name")
	}
}

func (d *decoder) checkFunction(f *Function, o *object) {
	d.checkToolName("function", f.Name)
	d.checkUse(f.Use(), o)
	d.checkAvailable(o)
	d.checkApproval(o)
	if f.Name != "" && !functionName.MatchString(f.Name) {
		d.failPath("name", fmt.Sprintf("function name %q is not allowed", truncate.Runes(f.Name, maxShown)),
			"a name is 1 to 64 letters, digits, _ or -, that is "+functionName.String())
	}
	body, ref := o.value("body"), o.value("body_ref")
	if f.BodyKind = d.bodyKind(f.Scheme()); f.BodyKind != nil && f.BodyKind.FileParam != "" {
		d.readFileParam(f, o)
	}
	switch {
	case body != nil && ref != nil:
		d.failPath("body_ref", "`body:` and `body_ref:` are mutually exclusive; provide exactly one.", "")
	case f.IsSQL() && IsModule(f.Body):
		d.failPath("body_ref", "the file is a WebAssembly module, not SQL", "write from: wasm")
	case !f.IsSQL() || body != nil && !isBlankText(body) || ref != nil && !isBlankText(ref):
	case slices.Contains(o.meant, "body") || slices.Contains(o.meant, "body_ref"):
	case body != nil || ref != nil:
		d.failPath("body", "the body is empty", "write one SQL expression, or a SELECT for kind: table")
	default:
		d.failPath("", "one of `body:` or `body_ref:` is required when `from: sql` but neither was provided.",
			"add body: with one SQL expression, or a SELECT for kind: table")
	}
}

// isBlankText reports whether node is a text without characters. Values of other types
// have their own problem.
func isBlankText(node *yaml.Node) bool {
	node = target(node)
	return node != nil && node.Kind == yaml.ScalarNode && strings.TrimSpace(node.Value) == ""
}

func (d *decoder) checkSignature(s *Signature) {
	d.unique(len(s.Args), "args", func(i int) (string, string) {
		return s.Args[i].Name, fmt.Sprintf("duplicate argument '%s' in function signature", s.Args[i].Name)
	})
	d.unique(len(s.Tables), "tables", func(i int) (string, string) {
		return s.Tables[i].Name, fmt.Sprintf("duplicate input table '%s' in SQL function signature", s.Tables[i].Name)
	})
	d.unique(len(s.Returns.Columns), "returns", func(i int) (string, string) {
		name := s.Returns.Columns[i].Name
		return name, fmt.Sprintf("duplicate output column '%s' in SQL table function return schema", name)
	})
	for i, table := range s.Tables {
		d.unique(len(table.Columns), fmt.Sprintf("tables[%d].columns", i), func(j int) (string, string) {
			return table.Columns[j].Name,
				fmt.Sprintf("duplicate column '%s' in input table '%s'", table.Columns[j].Name, table.Name)
		})
		if strings.EqualFold(table.Name, "args") {
			d.failPath(fmt.Sprintf("tables[%d].name", i),
				fmt.Sprintf("SQL function input table name '%s' conflicts with reserved scalar argument table name 'args'",
					table.Name),
				"rename the input table")
		}
	}
}

// unique reports the entries of a list whose name occurs earlier, ignoring case.
func (d *decoder) unique(n int, list string, entry func(i int) (name, message string)) {
	if n < 2 {
		return
	}
	first := make(map[string]int, n)
	for i := range n {
		name, message := entry(i)
		key := strings.ToLower(name)
		earlier, taken := first[key]
		if !taken || key == "" {
			first[key] = i
			continue
		}
		at := d.index.find(parsePath(fmt.Sprintf("%s.%s[%d].name", pathString(d.path), list, earlier))).value.position()
		d.failPath(fmt.Sprintf("%s[%d].name", list, i), message+": first at "+at.String(),
			"names are case-insensitive; rename one")
	}
}

func (d *decoder) checkTest(t *FunctionTest, o *object) {
	var given []string
	for _, key := range []string{"returns", "rows", "error"} {
		if o.written(key) != nil {
			given = append(given, key)
		}
	}
	switch {
	case len(given) == 0:
		d.failPath("", "a test needs one of returns, rows or error"+d.where(),
			"returns: null expects NULL, rows: [] expects no rows")
	case len(given) > 1:
		d.failPath(given[1], fmt.Sprintf("a test takes exactly one of returns, rows or error, not %s",
			strings.Join(given, " and ")), "keep one of them")
	case given[0] == "rows" && o.value("rows") == nil:
		d.failPath("rows", "rows takes a list, not nothing", "rows: [] expects no rows")
	case given[0] == "error" && t.Error == "" && (o.value("error") == nil || isBlankText(o.value("error"))):
		d.failPath("error", "error takes a part of the expected message", "")
	}
	for i, row := range t.Rows {
		switch row.(type) {
		case map[string]any, []any:
		default:
			d.failPath(fmt.Sprintf("rows[%d]", i),
				fmt.Sprintf("rows[%d] takes a mapping by column, or a list in column order", i), "")
		}
	}
}

func (d *decoder) checkExactlyOne(o *object, inline, ref, message string) {
	has, hasRef := o.value(inline) != nil, o.value(ref) != nil
	switch {
	case has && hasRef:
		d.failPath(ref, fmt.Sprintf("%s and %s are mutually exclusive; provide exactly one", inline, ref), "")
	case !has && !hasRef && !slices.Contains(o.meant, inline) && !slices.Contains(o.meant, ref):
		d.failPath("", message+d.where(), "")
	case has && isBlankText(o.value(inline)):
		d.failPath(inline, inline+" is empty", "")
	}
}

func (d *decoder) checkTableName(name string) {
	if name == "" {
		return
	}
	parts := nameParts(name)
	good := len(parts) <= 2 && len(name) <= 256
	for _, part := range parts {
		quoted := len(part) > 2 && part[0] == '"' && part[len(part)-1] == '"'
		good = good && (quoted || namePart.MatchString(part))
	}
	if !good {
		d.failPath("name", fmt.Sprintf("table name %q is not allowed", truncate.Runes(name, maxShown)),
			`write table or schema.table in letters, digits, _ and -; put any other part in double quotes: '"my table"'`)
	}
}

// checkPolicy refuses a filter or mask that is present but empty: it would hide
// nothing.
func (d *decoder) checkPolicy(v *Dataset, o *object) {
	const advice = "write an SQL expression, or remove the key"
	if filter := o.value("row_filter"); o.written("row_filter") != nil && (filter == nil || isBlankText(filter)) {
		d.failPath("row_filter", "row_filter is empty", advice)
	}
	if o.written("column_mask") != nil && o.value("column_mask") == nil {
		d.failPath("column_mask", "column_mask is empty", advice)
	}
	for _, column := range slices.Sorted(maps.Keys(v.ColumnMask)) {
		if strings.TrimSpace(v.ColumnMask[column]) == "" {
			d.failPath("column_mask."+column,
				fmt.Sprintf("the mask of column %q is empty", truncate.Runes(column, maxShown)), advice)
		}
	}
}

func (d *decoder) checkStore(s *SecretStore) {
	kind := s.Kind()
	switch {
	case s.From == "" || kind == "env":
	case slices.Contains(secretStores, kind):
		d.push("from")
		d.notServed(s.From, "the store 'env', with references such as '${env:NAME}'")
		d.pop()
	default:
		d.failPath("from", fmt.Sprintf("unknown secret store %q", truncate.Runes(s.From, maxShown))+
			nearest.Clause(kind, secretStores), "one of "+oneOf(secretStores))
	}
}

// named is a component with a name, for rules that concern several components.
type named struct {
	kind, list string
	index      int
	name       string // as declared
	key        string // as compared
}

func (n named) path() string { return fmt.Sprintf("%s[%d].name", n.list, n.index) }

// namedComponents lists every component that other components can refer to.
func namedComponents(p *Pod) []named {
	var all []named
	add := func(kind, list string, n int, name func(int) string) {
		for i := range n {
			declared := name(i)
			key := strings.ToLower(declared)
			if kind == "dataset" || kind == "view" {
				schema, table := qualified(declared)
				key = strings.ToLower(schema + "." + table)
			}
			if declared != "" {
				all = append(all, named{kind, list, i, declared, key})
			}
		}
	}
	add("dataset", "datasets", len(p.Datasets), func(i int) string { return p.Datasets[i].Name })
	add("view", "views", len(p.Views), func(i int) string { return p.Views[i].Name })
	add("function", "functions", len(p.Functions), func(i int) string { return p.Functions[i].Name })
	add("semantic model", "semantic_models", len(p.SemanticModels), func(i int) string { return p.SemanticModels[i].Name })
	add("metric", "metrics", len(p.Metrics), func(i int) string { return p.Metrics[i].Name })
	add("sandbox", "sandboxes", len(p.Sandboxes), func(i int) string { return p.Sandboxes[i].Name })
	add("catalog", "catalogs", len(p.Catalogs), func(i int) string { return p.Catalogs[i].Name })
	add("model", "models", len(p.Models), func(i int) string { return p.Models[i].Name })
	add("embedding", "embeddings", len(p.Embeddings), func(i int) string { return p.Embeddings[i].Name })
	add("reranker", "rerankers", len(p.Rerankers), func(i int) string { return p.Rerankers[i].Name })
	add("tool", "tools", len(p.Tools), func(i int) string { return p.Tools[i].Name })
	add("toolset", "toolsets", len(p.Toolsets), func(i int) string { return p.Toolsets[i].Name })
	add("agent", "agents", len(p.Agents), func(i int) string { return p.Agents[i].Name })
	add("worker", "workers", len(p.Workers), func(i int) string { return p.Workers[i].Name })
	add("eval", "evals", len(p.Evals), func(i int) string { return p.Evals[i].Name })
	add("secret store", "secrets", len(p.Secrets), func(i int) string { return p.Secrets[i].Name })
	return all
}

// namespaces are the first components by namespace and key.
type namespaces map[string]named

// any returns the component of a key in one of the namespaces.
func (s namespaces) any(key string, spaces ...string) (n named, found bool) {
	for _, space := range spaces {
		if n, found = s[space+" "+key]; found {
			return n, true
		}
	}
	return named{}, false
}

// checkNames refuses duplicate names. Datasets and views share one namespace; every
// other kind has its own. Agents are models and tools as well.
func (d *decoder) checkNames(p *Pod, all []named) {
	first := make(namespaces, len(all))
	for _, n := range all {
		space := n.kind
		if space == "view" {
			space = "dataset"
		}
		earlier, taken := first[space+" "+n.key]
		if !taken && n.kind == "agent" {
			earlier, taken = first.any(n.key, "model", "function", "tool")
		}
		if !taken {
			first[space+" "+n.key] = n
			continue
		}
		at := p.At(earlier.path())
		message := fmt.Sprintf("%s %q is declared twice: first at %s", n.kind, n.name, at)
		if earlier.kind != n.kind {
			message = fmt.Sprintf("%s %q has the name of a %s: first at %s", n.kind, n.name, earlier.kind, at)
		}
		d.add(p.Problem(n.path(), message, "names are case-insensitive; rename one"))
	}
}

// checkDependencies refuses dependsOn entries that are not in the file.
func (d *decoder) checkDependencies(p *Pod, all []named) {
	known := map[string]bool{}
	var names []string
	for _, n := range all {
		known[strings.ToLower(n.name)] = true
		known[strings.TrimPrefix(n.key, ".")] = true
		names = append(names, n.name)
	}
	check := func(list string, i int, dependsOn []string) {
		for j, name := range dependsOn {
			_, table := qualified(name)
			if known[strings.ToLower(name)] || known[table] {
				continue
			}
			d.add(p.Problem(fmt.Sprintf("%s[%d].dependsOn[%d]", list, i, j),
				fmt.Sprintf("dependsOn names %q, which is not declared", truncate.Runes(name, maxShown))+
					nearest.Clause(name, names), ""))
		}
	}
	for i := range p.Datasets {
		check("datasets", i, p.Datasets[i].DependsOn)
	}
	for i := range p.Catalogs {
		check("catalogs", i, p.Catalogs[i].DependsOn)
	}
	for i := range p.Views {
		check("views", i, p.Views[i].DependsOn)
	}
	for i := range p.Functions {
		check("functions", i, p.Functions[i].DependsOn)
	}
}
