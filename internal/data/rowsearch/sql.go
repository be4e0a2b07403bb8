package rowsearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// The table functions of searches. Calls of the first three are written as a join of the table with
// the rows that RowSearch finds, see [engine.Written].
const (
	vectorSearch = "vector_search"
	textSearch   = "text_search"
	rrf          = "rrf"
	// RowSearch finds the rows of the other functions.
	RowSearch = "row_search"
)

// Functions are the table functions that the guard knows.
func Functions() []*engine.Function {
	request := []engine.FunctionArg{{Name: "request", Type: "VARCHAR"}}
	return []*engine.Function{
		{
			Name: RowSearch, Table: true, Random: true, Args: request,
			Signature: "row_search(request json) → table(rank, key, hash, column, text, score)",
		},
		{
			Name: RerankRows, Table: true, Random: true, Args: request,
			Signature: "rerank_rows(request json) → table(n, score)",
		},
	}
}

// Macros are the statements that create RowSearch and RerankRows.
func Macros() []string { return []string{searchMacro(), rerankMacro()} }

func searchMacro() string {
	return "CREATE MACRO " + engine.Qualified(engine.Prelude, RowSearch) + `("request") AS TABLE
		SELECT r.rank, r.key, r.hash, r."column", r.text, r.score FROM (SELECT unnest(from_json(` + engine.Native + "(" +
		engine.Literal(RowSearch) + `, "request"),
		'[{"rank":"BIGINT","key":["VARCHAR"],"hash":"UBIGINT","column":"BIGINT","text":"UBIGINT","score":"DOUBLE"}]')) AS r)`
}

// Written are the functions whose calls are written as queries.
func (m *Manager) Written() map[string]engine.Written {
	all := map[string]engine.Written{
		vectorSearch: func(c engine.WrittenCall) (string, error) { return m.writeSearch(vectorSearch, c) },
		textSearch:   func(c engine.WrittenCall) (string, error) { return m.writeSearch(textSearch, c) },
		rrf:          m.writeRRF,
		rerank:       m.writeRerank,
	}
	for name, write := range all {
		all[name] = func(c engine.WrittenCall) (string, error) {
			query, err := write(c)
			var unknown *unknownTable
			if errors.As(err, &unknown) {
				return "SELECT * FROM " + unknown.name, nil
			}
			return query, err
		}
	}
	return all
}

// unknownTable is the error of a table that the caller does not have. The guard says why, in place of
// a search: the table does not exist, is loading, or has a fault.
type unknownTable struct{ name string }

func (e *unknownTable) Error() string { return "there is no table " + e.name }

// call is a call of vector_search or text_search.
type call struct {
	index    *Index
	relation engine.Relation
	mode     rowindex.Mode
	// The SQL of arguments; "" if they are not given.
	text, limit, weight string
	columns             []string
	noScore             bool
}

// one is the JSON object of the search, as SQL.
func (c *call) one() string {
	parts := []string{"'mode', " + engine.Literal(string(c.mode)), "'text', CAST(" + c.text + " AS VARCHAR)"}
	if c.columns != nil {
		list, _ := json.Marshal(c.columns) // of texts
		parts = append(parts, "'columns', CAST("+engine.Literal(string(list))+" AS JSON)")
	}
	if c.limit != "" {
		parts = append(parts, "'limit', CAST("+c.limit+" AS BIGINT)")
	}
	if c.weight != "" {
		parts = append(parts, "'weight', CAST("+c.weight+" AS DOUBLE)")
	}
	return "json_object(" + strings.Join(parts, ", ") + ")"
}

func refuse(hint, format string, args ...any) error {
	return engine.NewError(errcode.Argument, hint, format, args...)
}

// positional are the arguments of both functions by position, named those by name.
var (
	positional = []string{"table", "query", "column", "limit"}
	searchArgs = []string{"table", "query", "column", "limit", "include_score", "rank_weight", "distance_metric"}
)

// readCall reads the arguments of a search.
func (m *Manager) readCall(function string, c engine.WrittenCall, fused bool) (*call, error) {
	out := &call{mode: rowindex.Vector}
	if function == textSearch {
		out.mode = rowindex.Keyword
	}
	usage := fmt.Sprintf("write %s(table, 'what to look for', column, limit := 10)", function)
	given := map[string]bool{}
	for i, a := range c.Args {
		name := sqltree.Fold(a.Name)
		if name == "" {
			if i >= len(positional) {
				return nil, refuse(usage, "%s has %d arguments; it takes at most %d without names", function, len(c.Args),
					len(positional))
			}
			name = positional[i]
			if name == "column" && a.Kind == sqltree.IntegerLiteral { // Spice takes the limit in its place
				name = "limit"
			}
		}
		switch name { // names of Spice's arguments
		case "tbl":
			name = "table"
		case "col":
			name = "column"
		}
		if given[name] {
			return nil, refuse(usage, "argument %q of %s is given twice", name, function)
		}
		given[name] = true
		if err := m.argument(out, function, name, a, c, i, fused); err != nil {
			return nil, err
		}
	}
	for _, name := range positional[:2] {
		if !given[name] {
			return nil, refuse(usage, "%s needs the argument %q", function, name)
		}
	}
	for _, name := range out.columns {
		if out.index.spec.column(name) < 0 {
			return nil, refuse("searched columns: "+strings.Join(out.index.spec.Names(), ", "),
				"column %q of table %s is not searched", name, out.relation.Name)
		}
	}
	return out, out.index.spec.serves(out.mode, out.columns)
}

func (m *Manager) argument(out *call, function, name string, a sqltree.Arg, c engine.WrittenCall, i int,
	fused bool,
) error {
	text := strings.TrimSpace(c.Texts[i])
	switch name {
	case "table":
		return m.tableOf(out, function, a, c)
	case "query":
		if len(a.List) > 0 || strings.HasPrefix(text, "[") {
			return refuse("search once for each text, and fuse them with rrf", "the query of %s is one text", function)
		}
		out.text = text
	case "column":
		column := a.Text
		if a.Kind == sqltree.ColumnRef {
			column = a.Parts[len(a.Parts)-1]
		} else if a.Kind != sqltree.StringLiteral {
			return refuse("write its name: content, or 'content'", "the column of %s must be a name", function)
		}
		out.columns = []string{column}
	case "limit":
		out.limit = text
		return checkNumber(function, name, text, 0, MaxHits)
	case "include_score":
		switch strings.ToLower(text) {
		case "true":
		case "false":
			out.noScore = true
		default:
			return refuse("write include_score := false", "include_score of %s must be true or false", function)
		}
	case "rank_weight":
		if !fused {
			return refuse("leave it out, or search inside of rrf", "rank_weight has no effect outside of rrf")
		}
		out.weight = text
		return checkNumber(function, name, text, 0, math.MaxFloat64)
	case "distance_metric":
		if a.Text != "cosine" || function != vectorSearch {
			return refuse("leave it out: vectors are compared by their cosine", "distance_metric of %s must be 'cosine'",
				function)
		}
	default:
		return refuse(nearest.Hint(name, searchArgs, "the arguments are "+strings.Join(searchArgs, ", ")),
			"%s has no argument %q", function, name)
	}
	return nil
}

// checkNumber checks an argument that is written as a literal, before a statement runs: the error of a
// statement over a table with a row filter would hide it.
func checkNumber(function, name, text string, least, most float64) error {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	switch {
	case err == nil && (n < least || n > most) && most == math.MaxFloat64:
		return refuse("", "%s of %s is %s; it must be at least %v", name, function, text, least)
	case err == nil && (n < least || n > most):
		return refuse("", "%s of %s is %s; it must be from %v to %v", name, function, text, least, most)
	case strings.HasPrefix(text, "'"):
		return refuse("", "%s of %s is %s; it must be a number", name, function, text)
	}
	return nil
}

// tableOf finds the index of the table that an argument names.
func (m *Manager) tableOf(out *call, function string, a sqltree.Arg, c engine.WrittenCall) error {
	parts := a.Parts
	if a.Kind == sqltree.StringLiteral {
		var ok bool
		if parts, ok = splitName(a.Text); !ok {
			return refuse("write docs, or 'schema.docs'", "%q is not the name of a table", a.Text)
		}
	} else if a.Kind != sqltree.ColumnRef {
		return refuse("write its name: docs, or 'docs'", "the table of %s must be a name", function)
	}
	if a.CTE {
		return refuse("search the table that it reads, and join", "%s of %s is the name of a CTE, which has no index",
			strings.Join(parts, "."), function)
	}
	name := parts[len(parts)-1]
	var catalog, schema string
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		catalog = parts[len(parts)-3]
	}
	r, ok := c.Names.Relation(catalog, schema, name)
	if !ok {
		quoted := make([]string, len(parts))
		for i, p := range parts {
			quoted[i] = engine.Identifier(p)
		}
		return &unknownTable{strings.Join(quoted, ".")}
	}
	out.relation, out.index = r, m.of(r)
	if out.index == nil {
		hint := "declare one: datasets[].columns: [{name: …, full_text_search: {enabled: true}, embeddings: [{from: MODEL}]}]"
		if list := m.searched(c.Names); len(list) > 0 {
			hint = "these tables have one: " + strings.Join(list, ", ") + "; or " + hint
		}
		return refuse(hint, "table %s has no column that is searched", name)
	}
	return nil
}

// searched are the tables that a caller can search.
func (m *Manager) searched(names engine.Names) (list []string) {
	for _, s := range m.Status() {
		if _, ok := names.Relation("", s.Relation.Schema, s.Relation.Name); !ok {
			continue
		}
		name := s.Relation.Name
		if s.Relation.Schema != engine.Public {
			name = s.Relation.Schema + "." + name
		}
		list = append(list, name)
	}
	return list
}

// splitName splits a dotted name; parts may be quoted. It is false if the text is no name.
func splitName(text string) (parts []string, ok bool) {
	tokens := sqltree.Scan(text)
	for i, t := range tokens {
		if i%2 == 1 && !t.Is(text, ".") || i%2 == 0 && !t.IsName() {
			return nil, false
		}
		if i%2 == 0 {
			parts = append(parts, t.Name(text))
		}
	}
	return parts, len(tokens)%2 == 1
}

// writeSearch writes the query of vector_search and text_search.
func (m *Manager) writeSearch(function string, c engine.WrittenCall) (string, error) {
	one, err := m.readCall(function, c, false)
	if err != nil {
		return "", err
	}
	score := `, s.score AS _score`
	if one.noScore {
		score = ""
	} else {
		err := one.index.spec.hasNo("_score", "write include_score := false, or search a view that renames it")
		if err != nil {
			return "", err
		}
	}
	return m.join(c, []*call{one}, nil, score, "s.rank"), nil
}

// hasNo returns an error if the table has the column that a search adds.
func (s *Spec) hasNo(column, hint string) error {
	for _, c := range s.Table.Columns() {
		if sqltree.Fold(c.Name) == column {
			return refuse(hint, "table %s has a column %s, which a search adds", s.Table.Name, c.Name)
		}
	}
	return nil
}

// join writes a query of the table's rows that a search finds, best first.
func (m *Manager) join(c engine.WrittenCall, calls []*call, settings []string, score, order string) string {
	spec, relation := calls[0].index.spec, calls[0].relation
	list := make([]string, len(calls))
	for i, one := range calls {
		list[i] = one.one()
	}
	request := append([]string{
		"'schema', " + engine.Literal(relation.Schema), "'table', " + engine.Literal(relation.Name),
		"'searches', json_array(" + strings.Join(list, ", ") + ")",
	}, settings...)
	if where, params := conditions(c, spec); where != "" {
		request = append(request, "'where', "+engine.Literal(where), "'alias', "+engine.Literal(c.Alias))
		if len(params) > 0 {
			values := make([]string, len(params))
			for i, p := range params {
				values[i] = fmt.Sprintf("json_object('name', %s, 'value', CAST(%s AS VARCHAR), 'type', typeof(%s))",
					engine.Literal(p), p, p)
			}
			request = append(request, "'params', json_array("+strings.Join(values, ", ")+")")
		}
	}
	on := spec.keyHash("t.") + " = s.hash"
	if len(spec.Key) > 0 {
		parts := make([]string, len(spec.Key))
		for i, k := range spec.Key {
			parts[i] = fmt.Sprintf("t.%s = CAST(s.key[%d] AS %s)", engine.Identifier(k.Name), i+1, k.Type)
		}
		on = strings.Join(parts, " AND ")
	}
	// A row that has changed since, or another one with its key, is not the row that was found.
	on += ` AND CASE s."column"`
	for i, c := range spec.Columns {
		on += fmt.Sprintf(" WHEN %d THEN hash(%s)", i, textOf("t.", c.Name))
	}
	on += " END = s.text"
	return fmt.Sprintf("SELECT t.*%s FROM %s(CAST(json_object(%s) AS VARCHAR)) AS s JOIN %s AS t ON %s ORDER BY %s",
		score, RowSearch, strings.Join(request, ", "), engine.Qualified(relation.Schema, relation.Name), on, order)
}

// conditions returns the conditions of a statement that hold for rows of the table by itself, so
// that the search looks only for rows that meet them, and the parameters in them.
func conditions(c engine.WrittenCall, s *Spec) (where string, params []string) {
	var list []string
	for _, text := range c.Conditions {
		tokens := sqltree.Scan(text)
		names, ok := sqltree.Names(text, tokens)
		if !ok || len(names) == 0 {
			continue
		}
		own := true
		for _, parts := range names {
			column := parts[0]
			if len(parts) > 1 && sqltree.Fold(parts[0]) == sqltree.Fold(c.Alias) {
				column = parts[1]
			}
			own = own && slices.ContainsFunc(s.Table.Columns(), func(have tables.Column) bool {
				return sqltree.Fold(have.Name) == sqltree.Fold(column)
			})
		}
		if !own {
			continue
		}
		list = append(list, "("+text+")")
		for _, t := range tokens {
			if p := t.Text(text); t.Kind == sqltree.Param && !slices.Contains(params, p) {
				params = append(params, p)
			}
		}
	}
	return strings.Join(list, " AND "), params
}

// rrfArgs are the named arguments of rrf, as Spice has them.
var rrfArgs = []string{
	"join_key", "k", "limit", "time_column", "recency_decay", "decay_constant", "decay_scale_secs", "decay_window_secs",
}

// writeRRF writes the query of rrf.
func (m *Manager) writeRRF(c engine.WrittenCall) (string, error) {
	var calls []*call
	named := map[string]int{}
	for i, a := range c.Args {
		if a.Name != "" {
			name := sqltree.Fold(a.Name)
			if !slices.Contains(rrfArgs, name) {
				hint := nearest.Hint(name, rrfArgs, "the arguments are searches, then "+strings.Join(rrfArgs, ", "))
				return "", refuse(hint, "rrf has no argument %q", a.Name)
			}
			if _, twice := named[name]; twice {
				return "", refuse("", "argument %q of rrf is given twice", name)
			}
			named[name] = i
			continue
		}
		function, inner, err := c.Inner(c.Texts[i])
		if err != nil {
			return "", err
		}
		if function = sqltree.Fold(function); function != vectorSearch && function != textSearch {
			return "", refuse("write rrf(vector_search(…), text_search(…))", "argument %d of rrf is not a search", i+1)
		}
		one, err := m.readCall(function, inner, true)
		if err != nil {
			return "", err
		}
		calls = append(calls, one)
	}
	if len(calls) < 2 {
		return "", refuse("write rrf(vector_search(…), text_search(…))", "rrf fuses two searches or more; it has %d",
			len(calls))
	}
	for _, one := range calls[1:] {
		if one.relation != calls[0].relation {
			return "", refuse("search one table in each rrf", "rrf fuses searches of one table; these are of %s and %s",
				calls[0].relation.Name, one.relation.Name)
		}
	}
	for name, i := range named {
		least, most, number := 0.0, math.MaxFloat64, true
		switch name {
		case "limit":
			most = MaxHits
		case "join_key", "time_column", "recency_decay":
			number = false
		}
		if number {
			if err := checkNumber(rrf, name, c.Texts[i], least, most); err != nil {
				return "", err
			}
		}
	}
	settings := []string{"'k', CAST(60 AS DOUBLE)"}
	if i, ok := named["k"]; ok {
		settings[0] = "'k', CAST(" + c.Texts[i] + " AS DOUBLE)"
	}
	if i, ok := named["limit"]; ok {
		settings = append(settings, "'limit', CAST("+c.Texts[i]+" AS BIGINT)")
	}
	if err := calls[0].index.spec.hasNo("fused_score", "search a view that renames it"); err != nil {
		return "", err
	}
	if err := joinKey(c, named, calls[0].index.spec); err != nil {
		return "", err
	}
	decay, err := recency(c, named, calls[0].index.spec)
	if err != nil {
		return "", err
	}
	return m.join(c, calls, settings, ", s.score"+decay+" AS fused_score", "s.score"+decay+" DESC, s.rank"), nil
}

// joinKey checks the column that rrf joins the searches by: they are joined by the key of the rows.
func joinKey(c engine.WrittenCall, named map[string]int, s *Spec) error {
	i, ok := named["join_key"]
	if !ok {
		return nil
	}
	if len(s.Key) != 1 || sqltree.Fold(c.Args[i].Text) != sqltree.Fold(s.Key[0].Name) {
		return refuse("leave it out", "rrf joins the rows of table %s by row_id, not by %s", s.Table.Name, c.Texts[i])
	}
	return nil
}

// recency is the factor by which rrf multiplies the score of a row for its age; "" without one.
func recency(c engine.WrittenCall, named map[string]int, s *Spec) (string, error) {
	at, ok := named["time_column"]
	if !ok {
		for _, name := range rrfArgs[4:] {
			if _, given := named[name]; given {
				return "", refuse("write time_column := 'created_at'", "%s of rrf has no effect without time_column", name)
			}
		}
		return "", nil
	}
	column := slices.IndexFunc(s.Table.Columns(), func(have tables.Column) bool {
		return sqltree.Fold(have.Name) == sqltree.Fold(c.Args[at].Text)
	})
	if column < 0 {
		return "", refuse("", "table %s has no column %s, which time_column of rrf names", s.Table.Name, c.Texts[at])
	}
	have := s.Table.Columns()[column]
	seconds := "epoch(t." + engine.Identifier(have.Name) + ")"
	switch {
	case strings.HasPrefix(have.Type, "TIMESTAMP"), have.Type == "DATE":
	case strings.HasSuffix(have.Type, "INT"), strings.HasSuffix(have.Type, "INTEGER"):
		seconds = "CAST(t." + engine.Identifier(have.Name) + " AS DOUBLE)"
	default:
		return "", refuse("name a column of times, or of seconds since 1970", "time_column of rrf is %s, which is %s",
			have.Name, have.Type)
	}
	value := func(name, otherwise string) string {
		if i, ok := named[name]; ok {
			return "CAST(" + c.Texts[i] + " AS DOUBLE)"
		}
		return otherwise
	}
	age := "greatest(0, epoch(now()) - " + seconds + ")"
	kind := "exponential"
	if i, ok := named["recency_decay"]; ok {
		kind = c.Args[i].Text
	}
	var factor string
	switch kind {
	case "exponential":
		factor = "exp(-" + value("decay_constant", "0.01") + " * " + age + " / " + value("decay_scale_secs", "86400") + ")"
	case "linear":
		factor = "greatest(0, 1 - " + age + " / " + value("decay_window_secs", "86400") + ")"
	default:
		return "", refuse("write 'exponential' or 'linear'", "recency_decay of rrf must be 'exponential' or 'linear'")
	}
	return " * coalesce(" + factor + ", 0)", nil
}

// sqlRequest is the argument of RowSearch.
type sqlRequest struct {
	Schema   string      `json:"schema"`
	Table    string      `json:"table"`
	Searches []sqlSearch `json:"searches"`
	K        *float64    `json:"k"` // of a fusion
	Limit    *int        `json:"limit"`
	Where    string      `json:"where"`
	Alias    string      `json:"alias"` // of the table in Where
	Params   []sqlParam  `json:"params"`
}

type sqlSearch struct {
	Mode    rowindex.Mode `json:"mode"`
	Text    *string       `json:"text"`
	Columns []string      `json:"columns"`
	Limit   *int          `json:"limit"`
	Weight  *float64      `json:"weight"`
}

// sqlParam is the value of a parameter in Where.
type sqlParam struct {
	Name  string  `json:"name"`
	Value *string `json:"value"`
	Type  string  `json:"type"`
}

// foundRow is a row of RowSearch.
type foundRow struct {
	Rank   int             `json:"rank"`
	Key    json.RawMessage `json:"key"`
	Hash   uint64          `json:"hash"`
	Column int             `json:"column"` // by which it was found, and the hash of its text
	Text   uint64          `json:"text"`
	Score  float64         `json:"score"`
}

// Handler implements RowSearch. db runs the statements of the statement's caller; timeout is how
// long they may take, and embedding how long a model may.
func (m *Manager) Handler(db Searcher, timeout, embedding func() time.Duration) engine.Handler {
	return func(ctx context.Context, input string) (string, error) {
		var r sqlRequest
		if err := json.Unmarshal([]byte(input), &r); err != nil {
			return "", fmt.Errorf("row_search: the request is not what vector_search, text_search and rrf write: %w", err)
		}
		rows, err := m.sql(ctx, db, r, Request{Timeout: timeout(), EmbeddingTimeout: embedding()})
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(append([]foundRow{}, rows...))
		return string(text), err
	}
}

// limitOf returns the limit of a search, which is given or not.
func limitOf(limit *int) (int, error) {
	switch {
	case limit == nil:
		return MaxHits, nil
	case *limit < 0 || *limit > MaxHits:
		return 0, fmt.Errorf("limit is %d; it must be from 0 to %d", *limit, MaxHits)
	}
	return *limit, nil
}

// sql finds the rows of a request.
func (m *Manager) sql(ctx context.Context, db Searcher, r sqlRequest, base Request) ([]foundRow, error) {
	relation := engine.Relation{Schema: r.Schema, Name: r.Table}
	ix := m.of(relation)
	if ix == nil {
		return nil, fmt.Errorf("table %s has no column that is searched", r.Table)
	}
	current, note, err := ix.index(ctx, db, base)
	if err != nil {
		return nil, err
	}
	defer current.Release()
	limit, err := limitOf(r.Limit)
	if err != nil {
		return nil, err
	}
	where := withValues(r.Where, r.Params)
	if err := CheckWhere(ctx, db, where); err != nil {
		return nil, err
	}
	var lists []search.Channel
	found := map[int]rowindex.Hit{}
	var visible *rowindex.Query
	for _, one := range r.Searches {
		if one.Text == nil {
			continue
		}
		request := base
		request.Text, request.Mode = *one.Text, one.Mode
		if request.Limit, err = limitOf(one.Limit); err != nil {
			return nil, err
		}
		q := &embedded{timeout: base.EmbeddingTimeout, text: *one.Text}
		query, err := ix.query(ctx, current, note, request, Target{Relation: relation, Columns: one.Columns}, q)
		if err != nil {
			return nil, err
		}
		if visible == nil || len(ix.spec.Masked) > 0 {
			if err := ix.visible(ctx, db, current, request, where, r.Alias, &query); err != nil {
				return nil, err
			}
			visible = &query
		}
		query.Visible, query.Within = visible.Visible, visible.Within
		list := search.Channel{Weight: 1}
		if one.Weight != nil {
			if list.Weight = *one.Weight; list.Weight < 0 {
				return nil, fmt.Errorf("rank_weight is %v; it must be at least 0", list.Weight)
			}
		}
		for _, h := range current.Search(query) {
			found[h.Row] = h
			list.Ranked = append(list.Ranked, search.Scored{Doc: h.Row, Score: h.Score})
		}
		lists = append(lists, list)
	}
	k := 0.0
	if r.K != nil {
		if k = *r.K; k < 0 {
			return nil, fmt.Errorf("k is %v; it must be at least 0", k)
		}
	}
	var rows []foundRow
	for i, f := range search.Fuse(k, lists...) {
		h, score := found[f.Doc], f.Score
		if r.K == nil {
			score = h.Score
		}
		if len(rows) < limit {
			rows = append(rows, foundRow{i + 1, json.RawMessage(h.Name), h.Key, h.Best.Column, h.Best.Hash, score})
		}
	}
	return rows, nil
}

// withValues writes the values of parameters into a condition.
func withValues(where string, params []sqlParam) string {
	if len(params) == 0 {
		return where
	}
	values := map[string]string{}
	for _, p := range params {
		value := "NULL"
		if p.Value != nil {
			value = engine.Literal(*p.Value)
		}
		if p.Type != "" && p.Type != `"NULL"` && typeName(p.Type) {
			value = "CAST(" + value + " AS " + p.Type + ")"
		}
		values[p.Name] = value
	}
	var edits []sqltree.Edit
	for _, t := range sqltree.Scan(where) {
		if value, ok := values[t.Text(where)]; ok && t.Kind == sqltree.Param {
			edits = append(edits, sqltree.Edit{Span: sqltree.Span{Start: t.Start, End: t.End}, New: value})
		}
	}
	out, _ := sqltree.Apply(where, edits)
	return out
}

// typeName reports whether a text is the name of a type, as typeof writes it.
func typeName(text string) bool {
	for _, t := range sqltree.Scan(text) {
		if !t.IsName() && t.Kind != sqltree.Number && !slices.Contains([]string{"(", ")", ",", "[", "]"}, t.Text(text)) {
			return false
		}
	}
	return strconv.Quote(text) != `""`
}
