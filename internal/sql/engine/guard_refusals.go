package engine

import (
	"cmp"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// refusedFunctions are scalar functions that have side effects, show settings, other
// definitions or plans, or sleep, with the reason.
var refusedFunctions = reasons(map[string]string{
	"currval nextval":           "it reads or changes a sequence",
	"setseed write_log":         "it changes what other statements see",
	"sleep_ms pg_sleep":         "it only waits",
	"json_serialize_plan":       "it shows a plan, which may reveal hidden rows",
	"stats vector_type":         "it shows statistics of DuckDB, which may reveal hidden rows",
	"combine finalize":          "it takes states of aggregates, whose form is not checked",
	"make_type":                 "it makes a type at run time, which cannot be judged",
	"get_block_size getenv":     "it shows settings of the runtime",
	"current_setting":           "it shows settings of the runtime; of these, statements may read TimeZone",
	"getvariable":               "there are no variables: a session is shared",
	"current_query":             "it shows the statement as the runtime writes it",
	"duckdb_profiling_settings": "it shows settings of the runtime",
	"pg_get_viewdef pg_get_constraintdef pg_get_expr": "it shows definitions",
	"json_execute_serialized_sql":                     "it runs SQL that is built at run time",
	"duckdb_logs_parsed parse_duckdb_log_message":     "it shows statements of others",
	"pg_conf_load_time pg_postmaster_start_time inet_client_addr inet_client_port inet_server_addr " +
		"inet_server_port": "it shows settings of the runtime",
})

// allowedTableFunctions are the built-in functions a statement may have in
// FROM: they generate values, or read only what their arguments give.
var allowedTableFunctions = set(`
	range generate_series unnest repeat repeat_row json_each json_tree
	regexp_split_to_table generate_subscripts pg_timezone_names icu_calendar_names
	summary test_all_types`)

// tableReaders are the built-in functions in FROM whose first argument names a table:
// a declared one, which the rewriting writes out. Only statements may call them.
var tableReaders = set("query_table histogram histogram_values")

// readsTable reports whether the call is one of tableReaders.
func readsTable(c sqltree.Call) bool {
	return c.Table && tableReaders[sqltree.Fold(c.Name)] && c.Catalog == "" &&
		(c.Schema == "" || sqltree.Fold(c.Schema) == "main")
}

// readTable is the argument of tableReaders that names the table.
var readTable = FunctionArg{Name: "table", Table: true}

// reasons maps each word of the keys to its value.
func reasons(of map[string]string) map[string]string {
	m := map[string]string{}
	for words, reason := range of {
		for _, word := range strings.Fields(words) {
			m[word] = reason
		}
	}
	return m
}

// refusal is the error for a call of a built-in function that statements may not call.
func refusal(c sqltree.Call) *Error {
	name := sqltree.Fold(c.Name)
	hint, ok := refusedFunctions[name]
	switch {
	case ok:
	case strings.HasPrefix(name, "__"):
		hint = "it is internal"
	case strings.HasPrefix(name, "pragma_table_info"):
		hint = "write DESCRIBE and the name of the table"
	case strings.HasPrefix(name, "duckdb_"), strings.HasPrefix(name, "pragma_"), strings.HasPrefix(name, "pg_"):
		hint = "it shows the catalog or settings of the runtime; read spiced.datasets and spiced.functions, or " +
			"write DESCRIBE " +
			"and the name of a table"
	case name == "query":
		hint = "it runs SQL that is built at run time"
	case tableReaders[name]:
		hint = "write its name without a schema, in FROM"
	case strings.HasPrefix(name, "read_"), strings.HasPrefix(name, "parquet_"), strings.HasSuffix(name, "_scan"),
		name == "glob", name == "sniff_csv":
		hint = "it reads files; declare them under datasets:"
	default:
		hint = "in FROM, statements may call functions that generate values or read their arguments only"
	}
	return NewError(errcode.Refused, hint, "function %q is refused", c.Name)
}

// refuses reports whether statements may not call the built-in function.
func (b *Builtins) refuses(name string, inFrom bool) bool {
	k, known := b.kinds[name]
	switch {
	case refusedFunctions[name] != "" || strings.HasPrefix(name, "__") || b.foreign[name]:
		return true
	case !known:
		return false // DuckDB reports it
	case inFrom:
		return !allowedTableFunctions[name]
	}
	return !k.scalar && !allowedTableFunctions[name]
}

// showsTimeZone reports current_setting('TimeZone').
func showsTimeZone(c sqltree.Call) bool {
	return sqltree.Fold(c.Name) == "current_setting" && len(c.Args) == 1 && c.Args[0].Kind == sqltree.StringLiteral &&
		sqltree.Fold(c.Args[0].Text) == "timezone"
}

// checkShows refuses SHOW but for a whole statement SHOW TABLES, which DuckDB answers from the
// catalog of the process that runs it. It runs in this one, so nothing else may be in it.
func checkShows(text string, st *sqltree.Statement, in usage) error {
	for _, show := range st.Shows {
		show = cmp.Or(map[string]string{"__show_tables_expanded": "all tables"}[sqltree.Fold(show)], show, "tables from")
		if show != "tables" {
			return NewError(errcode.Refused,
				"write SHOW TABLES, DESCRIBE and the name of a table, or read spiced.datasets or spiced.functions",
				"SHOW %s is refused", strings.ToUpper(show))
		}
		tokens := sqltree.Scan(text)
		for len(tokens) > 2 && tokens[len(tokens)-1].Is(text, ";") {
			tokens = tokens[:len(tokens)-1]
		}
		if in == inBody || len(tokens) != 2 {
			return NewError(errcode.Refused, "read spiced.datasets", "SHOW TABLES is refused within another statement")
		}
	}
	return nil
}

// checkJudged checks what the verdict, which callers share, does not say: whether the data of
// the statement is open, and what its caller may see.
func (p *producer) checkJudged() error {
	open, err := p.catalog.open(p.verdict, &p.req)
	if err != nil {
		return err
	}
	if open != nil {
		return &unopenedError{open}
	}
	return p.checkExplained()
}

// checkHere refuses a statement that may not run in this process.
func (p *producer) checkHere() error {
	if err := p.db.crashes.check(p.rows.ctx, p.catalog.Generation, p.req.SQL, endedDuckDB); err != nil {
		return err
	}
	if p.supplied() {
		if err := p.db.crashes.check(p.rows.ctx, p.catalog.Generation, p.req.SQL, endedWorker); err != nil {
			return err
		}
	}
	if over := p.verdict.over; over != nil && !(p.supplied() && p.verdict.source.has(over.Offset)) {
		return refuseLimit(p.req.SQL, p.verdict.over)
	}
	switch {
	case p.req.Isolate && p.verdict.write:
		return p.verdict.checkStays(&p.req)
	case p.req.Isolate:
		return p.verdict.checkUnsafe()
	}
	return nil
}
