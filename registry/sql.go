package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/udf"
)

// sqlTable is a table of schema spiced whose rows are computed when it is read.
type sqlTable struct {
	name    string
	columns string // see rowsOf
	rows    func(reader) []row
}

// Setup creates the registry's tables and functions. Call it once, in the first publication.
func Setup(tx *engine.Tx) error {
	statements := Macros()
	for _, t := range sqlTables {
		statements = append(statements, "CREATE VIEW "+engine.Qualified(engine.System, t.name)+" AS "+t.query())
	}
	for _, sql := range statements {
		if err := tx.Exec(sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// Macros are the statements that create the functions of this package.
func Macros() []string { return []string{searchMacro(), explainMacro(), invokeMacro(), deadMacro()} }

// Relations are the tables of this package that statements may read.
func Relations() []engine.Relation {
	list := make([]engine.Relation, len(sqlTables))
	for i, t := range sqlTables {
		list[i] = engine.Relation{Schema: engine.System, Name: t.name}
	}
	return list
}

// Personal are the Relations whose rows depend on the caller, if there are
// keys.
func Personal() []engine.Relation {
	return []engine.Relation{
		{Schema: engine.System, Name: "tool_calls"},
		{Schema: engine.System, Name: "searches"},
		{Schema: engine.System, Name: "events"},
		{Schema: engine.System, Name: "approvals"},
	}
}

// Functions are the functions of this package, for the guard. A declared
// function of the same name replaces one.
func Functions() []*engine.Function {
	return []*engine.Function{
		{
			Name: ToolSearch, Table: true, Random: true,
			Signature: "tool_search(query utf8, keywords list<utf8> := [], limit int64 := 5, min_score float64 := 0, offset " +
				"int64 := 0) → table(rank, tool_id, …)",
			Args: []engine.FunctionArg{
				{Name: "query", Type: "VARCHAR"},
				{Name: "keywords", Type: "VARCHAR[]", Optional: true},
				{Name: "limit", Type: "BIGINT", Numeric: true, Optional: true},
				{Name: "min_score", Type: "DOUBLE", Numeric: true, Optional: true},
				{Name: "offset", Type: "BIGINT", Numeric: true, Optional: true},
			},
		},
		{
			Name: ToolInvoke, Random: true,
			Signature: "tool_invoke(tool_id utf8, arguments struct := {}) → json",
			Args: []engine.FunctionArg{
				{Name: "tool_id", Type: "VARCHAR"},
				{Name: "arguments", Type: "JSON", Optional: true},
			},
		},
		explainFunction,
		deadFunction,
	}
}

// Serve implements the tables and functions with r.
func (r *Registry) Serve(db *engine.DB) {
	for _, t := range sqlTables {
		db.Handle("spiced."+t.name, func(ctx context.Context, _ string) (string, error) {
			rows := t.rows(r.reader(ctx))
			text, err := json.Marshal(append([]row{}, rows...))
			return string(text), err
		})
	}
	db.Handle(hiddenAgentsHandler, func(ctx context.Context, _ string) (string, error) {
		text, err := json.Marshal(r.hiddenAgents(ctx))
		return string(text), err
	})
	db.Handle(ToolSearch, r.searchSQL)
	db.Handle(ToolSearchExplain, r.explainSQL)
	db.Handle(ToolInvoke, r.invokeSQL)
	db.Handle(DeadTools, func(ctx context.Context, input string) (string, error) {
		return r.reader(ctx).deadToolsSQL(input)
	})
	udf.Serve(db, r.HiddenFunctions)
}

// hiddenAgentsHandler is the engine's handler of [ShowsAgent].
const hiddenAgentsHandler = "spiced.hidden_agents"

// ShowsAgent is a condition on a row of a table of agents or models: the caller may see the
// agent of that column, if it is one.
func ShowsAgent(column string) string {
	return engine.Identifier(column) + " NOT IN (SELECT unnest(" + hiddenAgentsList() + "))"
}

// AgentsShown is a column of lists of agents without those that the caller may not see.
func AgentsShown(column string) string {
	return "list_filter(" + engine.Identifier(column) + ", lambda a: NOT list_contains(" + hiddenAgentsList() + ", a))"
}

func hiddenAgentsList() string {
	return "from_json(" + native(hiddenAgentsHandler, "''") + `, '["VARCHAR"]')`
}

// native is an expression that calls a handler of the runtime.
func native(handler, input string) string {
	return engine.Native + "(" + engine.Literal(handler) + ", " + input + ")"
}

// betweenColumns separates columns; the type of a nested one has no white space.
var betweenColumns = regexp.MustCompile(`,\s+`)

// rowsOf is a query over the JSON list of an expression, with columns as in a CREATE
// TABLE. The type of a nested column is written as from_json takes it.
func rowsOf(expression, columns string) string {
	var types, list []string
	for _, column := range betweenColumns.Split(columns, -1) {
		name, shape, _ := strings.Cut(column, " ")
		if of, ok := strings.CutSuffix(shape, "[]"); ok {
			shape = fmt.Sprintf("[%q]", of)
		} else if shape[0] != '[' {
			shape = strconv.Quote(shape)
		}
		types = append(types, fmt.Sprintf("%q:%s", name, shape))
		list = append(list, "r."+engine.Identifier(name))
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT unnest(from_json(%s, %s)) AS r)",
		strings.Join(list, ", "), expression, engine.Literal("[{"+strings.Join(types, ",")+"}]"))
}

func (t sqlTable) query() string { return rowsOf(native("spiced."+t.name, "''"), t.columns) }

// searchMacro is tool_search as a table function.
func searchMacro() string {
	const columns = `rank BIGINT, tool_id VARCHAR, description VARCHAR, parameters JSON, score DOUBLE, matched_terms VARCHAR[],
		match_sources [{"source":"VARCHAR","rank":"BIGINT","score":"DOUBLE"}], owner VARCHAR, source VARCHAR, no_good_match BOOLEAN`
	input := `json_object('query', "query", 'keywords', "keywords", 'limit', "limit", 'min_score', "min_score", 'offset', "offset")::VARCHAR`
	return "CREATE MACRO " + engine.Qualified(engine.Prelude, ToolSearch) +
		`("query", "keywords" := [], "limit" := 5, "min_score" := 0.0, "offset" := 0) AS TABLE ` +
		rowsOf(native(ToolSearch, input), columns)
}

// invokeMacro is tool_invoke as a scalar function.
func invokeMacro() string {
	input := `json_object('tool_id', "tool_id", 'arguments', to_json("arguments"))::VARCHAR`
	return "CREATE FUNCTION " + engine.Qualified(engine.Prelude, ToolInvoke) +
		`("tool_id", "arguments" := '{}'::JSON) AS CAST(` + native(ToolInvoke, input) + ` AS JSON)`
}

// reachKey is the context key of a [tools.Scope] without a caller.
type reachKey struct{}

// WithScope returns a context for a tool's statements: they run as the scope's
// caller, and tools that they call have at most the scope's access.
func WithScope(ctx context.Context, s tools.Scope) context.Context {
	ctx = caller.With(ctx, s.Caller)
	s.Caller = caller.Caller{}
	return context.WithValue(ctx, reachKey{}, s)
}

// statementScope is the scope of calls in a statement.
func statementScope(ctx context.Context) tools.Scope {
	s, _ := ctx.Value(reachKey{}).(tools.Scope)
	s.Caller = caller.From(ctx)
	s.Protocol = caller.SQL
	return s
}

// foundRow is a row of tool_search in SQL.
type foundRow struct {
	Rank int `json:"rank"`
	FoundTool
	Owner       string `json:"owner"`
	Source      string `json:"source"`
	NoGoodMatch bool   `json:"no_good_match"`
}

func (r *Registry) searchSQL(ctx context.Context, input string) (string, error) {
	var args searchSQLArguments
	if err := json.Unmarshal([]byte(input), &args); err != nil {
		return "", fmt.Errorf("tool_search: the arguments are query text, keywords list of text, limit number, min_score "+
			"number, offset number: %w", err)
	}
	if args.Query == nil {
		return "[]", nil
	}
	q, err := args.request(ctx, ToolSearch)
	if err != nil {
		return "", err
	}
	found, err := r.Search(ctx, q)
	if err != nil {
		return "", fmt.Errorf("tool_search: %w", err)
	}
	rows := make([]foundRow, len(found.Tools))
	for i, t := range found.Tools {
		rows[i] = foundRow{args.Offset + i + 1, t, t.Definition.Owner, t.Definition.Source, found.NoGoodMatch}
	}
	text, err := json.Marshal(rows)
	return string(text), err
}

// CallInStatement calls a tool for the SQL function of that name, as the caller of the
// statement. The guard has decided whether the caller may use the function; of a tool with
// another name, the registry decides as well.
func (r *Registry) CallInStatement(ctx context.Context, function, tool string, arguments json.RawMessage) tools.Result {
	return r.Invoke(ctx, Call{
		Name: tool, Arguments: arguments, Scope: statementScope(ctx), inner: true,
		judged: function == tool,
	})
}

func (r *Registry) invokeSQL(ctx context.Context, input string) (string, error) {
	var args struct {
		ToolID    string          `json:"tool_id"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal([]byte(input), &args); err != nil {
		return "", fmt.Errorf("tool_invoke: %w", err)
	}
	result := r.Invoke(ctx, Call{Name: args.ToolID, Arguments: args.Arguments, Scope: statementScope(ctx), inner: true})
	if !result.OK {
		return "", result.Error.Of(args.ToolID)
	}
	return string(result.Result), nil
}
