// Package infer finds the types of a statement's parameters, and of the columns
// that depend on them, where DuckDB does not.
//
//	d, err := service.Describe(ctx, request)
//	result, err := infer.Infer(ctx, infer.Query{SQL: sql, Text: text, Given: oids, Describe: describe}, d)
//	// result.Params are the types to report, result.Text is what to run.
//
// DuckDB gives no type to a parameter that has several, as $1 in $1::INTEGER = id
// where id is a BIGINT, and does not describe the columns of a statement with such
// a parameter. Clients want to know the columns before they send values. So
//
//   - a parameter that the text casts has the type of its first cast;
//   - in x = ANY ($1) it is a list of the type of x;
//   - in x + $1 it has the type of x, but for dates and intervals;
//   - else it has the type that the client gives, or is text, as in PostgreSQL;
//   - one that cannot be text, as in abs($1), is a DOUBLE, a BIGINT, or a list of
//     texts or of one of these, as in list_sum($1).
//
// Arguments of declared functions have types from the start: those of the signature.
package infer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Query is a statement with parameters $1, $2, …
type Query struct {
	SQL   string   // as the client wrote it
	Text  string   // what runs instead
	Given []uint32 // the types of parameters that the client gave; 0: unknown
	Found map[string]uint32
	// Describe describes a text that is derived from the statement.
	Describe func(ctx context.Context, sql string) (*engine.Description, error)
	// Rewrite translates the names of PostgreSQL's types.
	Rewrite func(sql string) (string, bool)

	casts    map[string]string // the types that SQL casts parameters to, by their names
	doubtful bool              // see doubts
}

// Result is the outcome of an inference.
type Result struct {
	Text     string            // what runs: parameters may be cast
	Params   []uint32          // the types of the parameters
	Columns  []engine.Column   // a nil type depends on the values of parameters
	Files    bool              // the columns are those of files, which may be replaced
	AnyScale bool              // parameters bring the scale of their numbers
	Found    map[string]uint32 // types that were found, for Query.Found when Text is described again
}

// Infer completes the engine's description of a query's text.
func Infer(ctx context.Context, q Query, d *engine.Description) (Result, error) {
	for i, param := range d.Params {
		if param.Name == "" { // the engine has no name for a number that is left out, as in $1 + $3
			return Result{}, sqlstate.Errorf(sqlstate.UnknownType, "number the parameters from $1 on",
				"could not determine data type of parameter $%d", i+1)
		}
	}
	if len(d.Params) > 0 {
		q.casts = casts(q.SQL)
	}
	text, d := q.complete(ctx, d)
	types := slices.AppendSeq(slices.Clone(q.Given), maps.Values(q.Found))
	return Result{
		Text: text, Params: q.oids(d.Params), Columns: d.Columns, Files: d.Files, Found: q.Found,
		AnyScale: slices.Contains(types, pgtype.NumericOID) || slices.Contains(types, pgtype.NumericArrayOID),
	}, nil
}

// complete adds types to a description. text is what runs.
func (q *Query) complete(ctx context.Context, d *engine.Description) (text string, completed *engine.Description) {
	untyped := map[string]bool{}
	for _, param := range d.Params {
		if param.Type == nil {
			untyped[param.Name] = true
		}
	}
	if len(untyped) == 0 && !isOpen(d) {
		return q.Text, d
	}
	types := q.typesOf(ctx, untyped)
	q.operandsOf(ctx, untyped)
	lists := q.listsOf(ctx, untyped)
	maps.Copy(types, lists)
	out := &engine.Description{Columns: d.Columns, Params: slices.Clone(d.Params), Write: d.Write, Files: d.Files}
	for i, param := range d.Params {
		if t := types[param.Name]; t != nil {
			out.Params[i].Type = t
		}
	}
	if q.doubtful = q.doubts(ctx, d, lists); q.doubtful {
		d = opened(d)
	}
	if !isOpen(d) {
		return q.Text, out
	}
	cast, described := q.castSome(ctx, d, lists)
	if isOpen(described) {
		// DuckDB does not describe json_object($1::VARCHAR, x) before $1 has a value.
		// NULLs come last: it takes NULL::VARCHAR || 'y' for a NULL without a type.
		// It cannot plan some joins whose condition is NULL, but those with a value.
		known := typed(described, cast)
		probed, err := q.probe(ctx, q.replaced(lists, known, scanner.null))
		if err != nil {
			probed, err = q.probe(ctx, q.replaced(lists, known, scanner.value))
		}
		if err == nil && !isOpen(probed) {
			described.Columns = probed.Columns
		} else if cast, described = q.guess(ctx, d, lists, cast); described == nil {
			return q.Text, out
		}
	}
	maps.Copy(q.Found, cast)
	out.Columns = described.Columns
	found := map[string]*engine.Type{}
	for _, param := range described.Params {
		found[param.Name] = param.Type
	}
	for i, param := range out.Params {
		if param.Type == nil {
			out.Params[i].Type = found[param.Name]
		}
	}
	maps.DeleteFunc(cast, func(_ string, oid uint32) bool {
		return strings.HasPrefix(wire.SQLType(oid), "DECIMAL") // without a scale it would cut the digits of a number
	})
	return replaceParams(q.Text, func(r scanner, i int) string { return r.castTo(i, cast) }), out
}

// typed adds the types of described parameters to those of casts.
func typed(d *engine.Description, cast map[string]uint32) map[string]uint32 {
	types := maps.Clone(cast)
	for _, param := range d.Params {
		if param.Type != nil && types[param.Name] == 0 {
			types[param.Name] = wire.TypeOf(param.Type).OID
		}
	}
	return types
}

// maxCasts is how many parameters are cast one by one, each with a few
// descriptions. If there are more, all are cast together.
const maxCasts = 32

// castSome finds out which parameters must be cast for the columns to be known:
// one parameter without a type leaves all without. Parameters that DuckDB can
// type are not cast: x < CAST($1 AS VARCHAR) is an error where x is a number.
// described is with these casts.
func (q *Query) castSome(ctx context.Context, d *engine.Description,
	lists map[string]*engine.Type,
) (cast map[string]uint32, described *engine.Description) {
	cast, described = map[string]uint32{}, &engine.Description{Columns: d.Columns, Params: d.Params}
	try := func(names []string) {
		more := maps.Clone(cast)
		for _, name := range names {
			more[name] = cmp.Or(q.known(name), pgtype.TextOID)
		}
		if found, err := q.probe(ctx, q.replaced(lists, more, scanner.castTo)); err == nil {
			cast, described = more, found
		}
	}
	var names []string // known types come first: the others must suit them
	for _, known := range []bool{true, false} {
		for _, param := range d.Params {
			if param.Type == nil && lists[param.Name] == nil && (q.known(param.Name) != 0) == known {
				names = append(names, param.Name)
			}
		}
	}
	if len(names) > maxCasts {
		try(names)
		return cast, described
	}
	for i := range names {
		if isOpen(described) {
			try(names[i : i+1])
		}
	}
	return cast, described
}

// guesses are the types that are tried for parameters that cannot be text, as
// in abs($1) and list_sum($1).
var guesses = []uint32{
	pgtype.Float8OID, pgtype.Int8OID, pgtype.TextArrayOID, pgtype.Float8ArrayOID,
	pgtype.Int8ArrayOID,
}

// guess tries types for the parameters that castSome could not cast: first for
// each alone, then for all whose type is unknown. described is nil if the columns
// stay unknown.
func (q *Query) guess(ctx context.Context, d *engine.Description, lists map[string]*engine.Type,
	done map[string]uint32,
) (cast map[string]uint32, described *engine.Description) {
	var sets [][]string
	var all []string
	for _, param := range d.Params {
		name := param.Name
		switch {
		case param.Type != nil || lists[name] != nil || q.given(name) != 0:
		case done[name] == 0:
			all, sets = append(all, name), append(sets, []string{name})
		case q.known(name) == 0:
			all = append(all, name)
		}
	}
	if len(all) > maxCasts {
		return done, nil
	}
	if len(sets) > 0 && len(all) > 1 {
		sets = append(sets, all)
	}
	for _, names := range sets {
		for _, oid := range guesses {
			cast := maps.Clone(done)
			for _, name := range names {
				cast[name] = oid
			}
			if found, err := q.probe(ctx, q.replaced(lists, cast, scanner.castTo)); err == nil && !isOpen(found) {
				return cast, found
			}
		}
	}
	return done, nil
}

// replaced is the text with [] for the parameters that are lists, and with what
// with writes for others that have one of these types.
func (q *Query) replaced(lists map[string]*engine.Type, types map[string]uint32,
	with func(scanner, int, map[string]uint32) string,
) string {
	return replaceParams(q.Text, func(r scanner, i int) string {
		if lists[r.param(i)] != nil {
			return "[]"
		}
		return with(r, i, types)
	})
}

// given is the type that the client gave to a parameter; 0: unknown.
func (q *Query) given(name string) uint32 {
	if n, err := strconv.Atoi(name); err == nil && 0 < n && n <= len(q.Given) {
		return q.Given[n-1]
	}
	return 0
}

// known is the type that the client gave to a parameter, or else the one that its
// operator implies; 0: unknown.
func (q *Query) known(name string) uint32 { return cmp.Or(q.given(name), q.Found[name]) }

// isOpen reports whether a column depends on parameters without a type.
func isOpen(d *engine.Description) bool {
	return slices.ContainsFunc(d.Columns, func(c engine.Column) bool { return c.Type == nil })
}

// doubts reports whether a column that DuckDB describes as INTEGER may be of another
// type: it plans a NULL as INTEGER, and list_sum($1) as if $1 were NULL. With a text in
// place of each parameter that has no type, such a statement is an error or has other
// columns.
func (q *Query) doubts(ctx context.Context, d *engine.Description, lists map[string]*engine.Type) bool {
	texts := map[string]uint32{}
	for _, param := range d.Params {
		if param.Type == nil && lists[param.Name] == nil {
			texts[param.Name] = cmp.Or(q.known(param.Name), pgtype.TextOID)
		}
	}
	if len(texts) == 0 || isOpen(d) || !slices.ContainsFunc(d.Columns, isInteger) {
		return false
	}
	probed, err := q.probe(ctx, q.replaced(lists, texts, scanner.null))
	return err != nil || !slices.EqualFunc(probed.Columns, d.Columns, func(a, b engine.Column) bool {
		return a.Type != nil && a.Type.ID == b.Type.ID
	})
}

func isInteger(c engine.Column) bool { return c.Type != nil && c.Type.ID == engine.Integer }

// opened is a description in which INTEGER columns depend on the parameters, if one of
// these has no type: see doubts.
func opened(d *engine.Description) *engine.Description {
	if !slices.ContainsFunc(d.Params, func(p engine.Param) bool { return p.Type == nil }) {
		return d
	}
	out := *d
	out.Columns = slices.Clone(d.Columns)
	for i, c := range out.Columns {
		if isInteger(c) {
			out.Columns[i].Type = nil
		}
	}
	return &out
}

// typesOf are the types to which the text casts the parameters.
func (q *Query) typesOf(ctx context.Context, which map[string]bool) map[string]*engine.Type {
	var names, values []string
	for name, typ := range q.casts {
		if which[name] {
			names = append(names, name)
			values = append(values, "CAST(NULL AS "+typ+")")
		}
	}
	types := map[string]*engine.Type{}
	if len(names) == 0 {
		return types
	}
	text, _ := q.Rewrite("SELECT " + strings.Join(values, ", "))
	d, err := q.probe(ctx, text)
	if err != nil || len(d.Columns) != len(names) {
		return types
	}
	for i, name := range names {
		types[name] = d.Columns[i].Type
	}
	return types
}

// listsOf are the types of the parameters that are in x = ANY ($1).
func (q *Query) listsOf(ctx context.Context, which map[string]bool) map[string]*engine.Type {
	found, nulls := false, map[string]uint32{}
	for name := range which {
		nulls[name] = cmp.Or(q.known(name), pgtype.TextOID)
	}
	null := func(r scanner, i int) string { return r.null(i, nulls) }
	text := replaceParams(q.Text, func(r scanner, i int) string {
		if list := r.listOf(i); which[r.param(i)] && list != "" {
			found = true
			return "CASE WHEN true THEN $" + r.param(i) + " ELSE " + replaceParams(list, null) + " END"
		}
		return null(r, i)
	})
	if !found {
		return nil
	}
	d, err := q.probe(ctx, text)
	if err != nil {
		return nil
	}
	types := map[string]*engine.Type{}
	for _, param := range d.Params {
		if which[param.Name] && param.Type != nil && param.Type.ID == engine.List {
			types[param.Name] = param.Type
		}
	}
	return types
}

// probe describes a derived text. It may lack some of the parameters, which
// DuckDB would take for the last ones: they are renumbered meanwhile.
func (q *Query) probe(ctx context.Context, text string) (*engine.Description, error) {
	numbers, names := map[string]string{}, map[string]string{}
	d, err := q.Describe(ctx, replaceParams(text, func(r scanner, i int) string {
		name := r.param(i)
		if numbers[name] == "" {
			numbers[name] = strconv.Itoa(len(numbers) + 1)
			names[numbers[name]] = name
		}
		return "$" + numbers[name]
	}))
	if err != nil {
		return nil, err
	}
	for i, param := range d.Params {
		d.Params[i].Name = names[param.Name]
	}
	if q.doubtful {
		d = opened(d)
	}
	return d, nil
}

// oidTypes are types that the engine knows as BIGINT. asyncpg asks by an oid[]
// for types that it does not know, and would then ask for that one, too.
var oidTypes = map[string]uint32{"oid": pgtype.OIDOID, "oid[]": pgtype.OIDArrayOID}

// oids are the types of the parameters for the client.
func (q *Query) oids(params []engine.Param) []uint32 {
	oids := make([]uint32, len(params))
	for i, param := range params {
		name := strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(q.casts[param.Name], " ", "")), "pg_catalog.")
		switch oid, is := oidTypes[name]; {
		case is:
			oids[i] = oid
		case param.Type != nil:
			oids[i] = wire.TypeOf(param.Type).OID
		default:
			oids[i] = cmp.Or(q.Found[param.Name], pgtype.TextOID)
		}
	}
	return oids
}
