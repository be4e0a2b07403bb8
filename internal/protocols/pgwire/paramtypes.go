package pgwire

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// casts are the parameters $1, $2, … that a text casts, by their names: for each
// the type that is written at its first cast.
func casts(sql string) map[string]string {
	found := map[string]string{}
	r := scanner{sql, sqltree.Scan(sql)}
	for i := range r.tokens {
		name, at := r.cast(i)
		if at == 0 || found[name] != "" {
			continue
		}
		if end := r.typeEnd(at); end <= len(r.tokens) && end > at {
			found[name] = sql[r.tokens[at].Start:r.tokens[end-1].End]
		}
	}
	return found
}

// checkNumbers refuses parameters with a number left out, as in $1 + $3: the
// engine has no name for what stands in its place.
func checkNumbers(params []engine.Param) error {
	for i, param := range params {
		if param.Name == "" {
			return failure(stateUnknownType, "number the parameters from $1 on", "could not determine data type of parameter $%d", i+1)
		}
	}
	return nil
}

// maxPart is how many tokens a type or a value that is compared may have: they
// are looked for at each parameter.
const maxPart = 64

// scanner looks at the tokens of a text.
type scanner struct {
	sql    string
	tokens []sqltree.Token
}

func (r scanner) is(i int, words ...string) bool {
	for j, word := range words {
		if i+j < 0 || i+j >= len(r.tokens) || !strings.EqualFold(r.tokens[i+j].Text(r.sql), word) {
			return false
		}
	}
	return true
}

// param is the name of a numbered parameter; "" if token i is none.
func (r scanner) param(i int) string {
	name, numbered := strings.CutPrefix(r.tokens[i].Text(r.sql), "$")
	if r.tokens[i].Kind != sqltree.Param || !numbered {
		return ""
	}
	return name
}

// cast returns the name of a parameter that is cast, and the token with which
// its type begins; 0 if token i is none.
func (r scanner) cast(i int) (name string, at int) {
	name = r.param(i)
	switch {
	case name == "":
	case r.is(i+1, "::"):
		return name, i + 2
	case r.is(i-2, "cast", "(") && r.is(i+1, "as"):
		return name, i + 2
	}
	return name, 0
}

// typeEnd is the token behind a type that begins with token i, as in
// pg_catalog.int4[] or TIMESTAMP (3) WITH TIME ZONE, or i for one that is too
// long.
func (r scanner) typeEnd(i int) int {
	first := i
	for r.is(i+1, ".") && i < first+maxPart {
		i += 2
	}
	end := i + 1
	if r.is(i, "double", "precision") || r.is(end, "varying") {
		end++
	}
	if r.is(end, "(") {
		for depth := 0; end < len(r.tokens); end++ {
			if end > first+maxPart {
				return first
			}
			if r.is(end, "(") {
				depth++
			}
			if r.is(end, ")") {
				if depth--; depth == 0 {
					end++
					break
				}
			}
		}
	}
	if (r.is(i, "time") || r.is(i, "timestamp")) && (r.is(end, "with", "time", "zone") || r.is(end, "without", "time", "zone")) {
		end += 3
	}
	for r.is(end, "[") {
		for end < len(r.tokens) && !r.is(end, "]") {
			if end++; end > first+maxPart {
				return first
			}
		}
		end++
	}
	return end
}

// settle completes a description. DuckDB gives no type to a parameter that
// takes several, as $1 does in $1::INTEGER = id where id is a BIGINT, and does
// not describe the columns of a statement that has one. What is cast in the
// text has the type of the cast. What is not, as in SELECT $1, is taken for
// text, as by PostgreSQL, unless the client tells its type: clients want to know
// the columns before they send values. In x = ANY ($1) it is a list of what x
// is, in x + $1 it is what x is. text is what is to run.
func (c *conn) settle(ctx context.Context, p *plan, d *engine.Description) (text string, settled *engine.Description) {
	untyped := map[string]bool{}
	for _, param := range d.Params {
		if param.Type == nil {
			untyped[param.Name] = true
		}
	}
	if len(untyped) == 0 && !isOpen(d) {
		return p.text, d
	}
	types := c.typesOf(ctx, p, untyped)
	c.operandsOf(ctx, p, untyped)
	lists := c.listsOf(ctx, p, untyped)
	maps.Copy(types, lists)
	out := &engine.Description{Columns: d.Columns, Params: slices.Clone(d.Params), Write: d.Write}
	for i, param := range d.Params {
		if t := types[param.Name]; t != nil {
			out.Params[i].Type = t
		}
	}
	if !isOpen(d) {
		return p.text, out
	}
	cast, described := c.castSome(ctx, p, d, lists)
	if isOpen(described) {
		// DuckDB does not describe json_object($1::VARCHAR, x) before $1 has a value.
		// NULLs come last: it takes NULL::VARCHAR || 'y' for a NULL of no type.
		nulls, err := c.probe(ctx, p, p.nulls(lists, cast))
		if err == nil && !isOpen(nulls) {
			described.Columns = nulls.Columns
		} else if cast, described = c.guess(ctx, p, d, lists, cast); described == nil {
			return p.text, out
		}
	}
	maps.Copy(p.found, cast)
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
		return strings.HasPrefix(sqlType(oid), "DECIMAL") // by itself it would cut the digits of a number
	})
	return replaceParams(p.text, func(r scanner, i int) string { return r.castTo(i, cast) }), out
}

// maxCasts is how many parameters are tried to be cast one by one, each with a
// few descriptions. Of more all are cast.
const maxCasts = 32

// castSome finds out which parameters have to be cast for the columns to be
// known: as long as there is one that DuckDB cannot give a type, it gives none
// to any. One that it can is not cast: x < CAST($1 AS VARCHAR) is an error where
// x is a number. described is with these casts.
func (c *conn) castSome(ctx context.Context, p *plan, d *engine.Description, lists map[string]*engine.Type) (cast map[string]uint32, described *engine.Description) {
	cast, described = map[string]uint32{}, &engine.Description{Columns: d.Columns, Params: d.Params}
	try := func(names []string) {
		more := maps.Clone(cast)
		for _, name := range names {
			more[name] = cmp.Or(p.told(name), pgtype.TextOID)
		}
		if found, err := c.probe(ctx, p, p.replaced(lists, more)); err == nil {
			cast, described = more, found
		}
	}
	var names []string // what is told comes first: the others have to suit it
	for _, told := range []bool{true, false} {
		for _, param := range d.Params {
			if param.Type == nil && lists[param.Name] == nil && (p.told(param.Name) != 0) == told {
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
// in abs($1).
var guesses = []uint32{pgtype.Float8OID, pgtype.Int8OID}

// guess is castSome for what that left over: it tries to give one more parameter
// a type, and then one to all that are not known to be anything. described is
// nil if the columns stay unknown.
func (c *conn) guess(ctx context.Context, p *plan, d *engine.Description, lists map[string]*engine.Type, known map[string]uint32) (cast map[string]uint32, described *engine.Description) {
	var sets [][]string
	var all []string
	for _, param := range d.Params {
		name := param.Name
		switch {
		case param.Type != nil || lists[name] != nil || p.givenType(name) != 0:
		case known[name] == 0:
			all, sets = append(all, name), append(sets, []string{name})
		case p.told(name) == 0:
			all = append(all, name)
		}
	}
	if len(all) > maxCasts {
		return known, nil
	}
	if len(sets) > 0 && len(all) > 1 {
		sets = append(sets, all)
	}
	for _, names := range sets {
		for _, oid := range guesses {
			cast := maps.Clone(known)
			for _, name := range names {
				cast[name] = oid
			}
			if found, err := c.probe(ctx, p, p.replaced(lists, cast)); err == nil && !isOpen(found) {
				return cast, found
			}
		}
	}
	return known, nil
}

// replaced is the text with [] in place of the parameters that are lists, and
// with the others cast to these types.
func (p *plan) replaced(lists map[string]*engine.Type, cast map[string]uint32) string {
	return replaceParams(p.text, func(r scanner, i int) string {
		if lists[r.param(i)] != nil {
			return "[]"
		}
		return r.castTo(i, cast)
	})
}

// nulls is replaced with NULL in place of the parameters.
func (p *plan) nulls(lists map[string]*engine.Type, cast map[string]uint32) string {
	return replaceParams(p.text, func(r scanner, i int) string {
		if lists[r.param(i)] != nil {
			return "[]"
		}
		return r.null(i, cast)
	})
}

// givenType is the type that the client tells of a parameter; 0: none.
func (p *plan) givenType(name string) uint32 {
	if n, err := strconv.Atoi(name); err == nil && 0 < n && n <= len(p.given) {
		return p.given[n-1]
	}
	return 0
}

// told is the type that the client tells of a parameter, or else what is beside
// it does; 0: none.
func (p *plan) told(name string) uint32 { return cmp.Or(p.givenType(name), p.found[name]) }

// castTo is parameter i, cast to its one of these types; "" if it has none, or
// is cast already.
func (r scanner) castTo(i int, types map[string]uint32) string {
	if name, at := r.cast(i); at == 0 && types[name] != 0 {
		return "CAST($" + name + " AS " + sqlType(types[name]) + ")"
	}
	return ""
}

// null is what stands for parameter i where only types count: a NULL of the
// type of its cast, or of its one of these types; "" if it has neither.
func (r scanner) null(i int, types map[string]uint32) string {
	name, at := r.cast(i)
	switch {
	case at > 0:
		return "NULL"
	case types[name] != 0:
		return "CAST(NULL AS " + sqlType(types[name]) + ")"
	}
	return ""
}

// isOpen reports whether a column is settled by parameters that have no type.
func isOpen(d *engine.Description) bool {
	return slices.ContainsFunc(d.Columns, func(c engine.Column) bool { return c.Type == nil })
}

// typesOf are the types to which the text casts the parameters.
func (c *conn) typesOf(ctx context.Context, p *plan, which map[string]bool) map[string]*engine.Type {
	var names, values []string
	for name, typ := range casts(p.sql) {
		if which[name] {
			names = append(names, name)
			values = append(values, "CAST(NULL AS "+typ+")")
		}
	}
	types := map[string]*engine.Type{}
	if len(names) == 0 {
		return types
	}
	text := "SELECT " + strings.Join(values, ", ")
	if rewritten, is := c.server.opts.Rewrite(text); is {
		text = rewritten
	}
	d, err := c.probe(ctx, p, text)
	if err != nil || len(d.Columns) != len(names) {
		return types
	}
	for i, name := range names {
		types[name] = d.Columns[i].Type
	}
	return types
}

// listsOf are the types of the parameters that are in x = ANY ($1).
func (c *conn) listsOf(ctx context.Context, p *plan, which map[string]bool) map[string]*engine.Type {
	found, nulls := false, map[string]uint32{}
	for name := range which {
		nulls[name] = cmp.Or(p.told(name), pgtype.TextOID)
	}
	known := func(r scanner, i int) string { return r.null(i, nulls) }
	text := replaceParams(p.text, func(r scanner, i int) string {
		if list := r.listOf(i); which[r.param(i)] && list != "" {
			found = true
			return "CASE WHEN true THEN $" + r.param(i) + " ELSE " + replaceParams(list, known) + " END"
		}
		return known(r, i)
	})
	if !found {
		return nil
	}
	d, err := c.probe(ctx, p, text)
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

// listOf is a list of the value to which the elements of parameter i are
// compared; "" if it is none: [x] for $1 in x = ANY ($1).
func (r scanner) listOf(i int) string {
	if !r.is(i-1, "(") || !r.is(i+1, ")") || !(r.is(i-2, "any") || r.is(i-2, "all")) {
		return ""
	}
	near := r.tokens[max(0, i-maxPart):i]
	last := len(near) - 3
	for last >= 0 && near[last].Kind == sqltree.Symbol && !near[last].Is(r.sql, ")") { // the operator
		last--
	}
	from := sqltree.TermStart(r.sql, near, last)
	if from < 0 {
		return ""
	}
	return "[" + r.sql[near[from].Start:near[last].End] + "]"
}

// probe describes a text that is ours. Of its parameters some may be missing,
// which DuckDB takes for the last ones: they are numbered anew meanwhile.
func (c *conn) probe(ctx context.Context, p *plan, text string) (*engine.Description, error) {
	numbers, names := map[string]string{}, map[string]string{}
	text = replaceParams(text, func(r scanner, i int) string {
		name := r.param(i)
		if numbers[name] == "" {
			numbers[name] = strconv.Itoa(len(numbers) + 1)
			names[numbers[name]] = name
		}
		return "$" + numbers[name]
	})
	req := c.request(p, nil)
	req.SQL, req.Probe = text, true
	d, err := c.server.opts.Query.Describe(ctx, req)
	if err != nil {
		return nil, err
	}
	for i, param := range d.Params {
		d.Params[i].Name = names[param.Name]
	}
	return d, nil
}

// replaceParams writes what with returns in place of the numbered parameters;
// "" leaves one as it is.
func replaceParams(sql string, with func(r scanner, i int) string) string {
	var edits []sqltree.Edit
	r := scanner{sql, sqltree.Scan(sql)}
	for i, t := range r.tokens {
		if r.param(i) == "" {
			continue
		}
		if text := with(r, i); text != "" {
			edits = append(edits, sqltree.Edit{Span: sqltree.Span{Start: t.Start, End: t.End}, New: text})
		}
	}
	text, _ := sqltree.Apply(sql, edits)
	return text
}

// oidTypes are types that the engine knows as BIGINT. asyncpg, which asks by an
// oid[] for the types that it does not know, would ask for that one, too.
var oidTypes = map[string]uint32{"oid": pgtype.OIDOID, "oid[]": pgtype.OIDArrayOID}

// paramOIDs are the types of the parameters for the client.
func (p *plan) paramOIDs(params []engine.Param) []uint32 {
	written := casts(p.sql)
	oids := make([]uint32, len(params))
	for i, param := range params {
		name := strings.TrimPrefix(strings.ToLower(strings.ReplaceAll(written[param.Name], " ", "")), "pg_catalog.")
		switch oid, is := oidTypes[name]; {
		case is:
			oids[i] = oid
		case param.Type != nil:
			oids[i] = typeOf(param.Type).oid
		default:
			oids[i] = cmp.Or(p.found[param.Name], pgtype.TextOID)
		}
	}
	return oids
}
