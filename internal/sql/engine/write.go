package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// json_serialize_sql takes SELECT only, so a small grammar of tokens parses an
// INSERT, UPDATE or DELETE (see [parseChange]). Its parts, the query or the
// expressions, are judged as parts of a SELECT. The statement that DuckDB gets is
// composed of these judged parts and of quoted names. What the grammar does not
// know is refused.

// Writable reports whether statements with [Request.Write] may change the
// relation.
func (c *Catalog) Writable(r Relation) bool { return c.contents.Targets[r].Table != "" }

// writeTarget is what a statement changes.
type writeTarget struct {
	target   Relation
	database string   // with the table behind it
	outside  *outside // a table that is not DuckDB's; else nil

	source *source          // what a worker computes of the write; nil: nothing
	stays  []sqltree.Costly // what else of it is costly

	returning bool // its rows are those of RETURNING
}

const (
	hintReader   = "use a key that ends in :rw and a dataset with access: read_write"
	hintNotBase  = "only a dataset from duckdb:, mysql: or postgres:, or a table of such a catalog, with access: read_write can be written"
	hintPolicied = "write to the table outside the runtime: row filters and column masks do not apply to writes"
	hintChange   = "write INSERT INTO t (a, b) SELECT … or VALUES …, UPDATE t SET a = … WHERE …, or DELETE FROM t WHERE …, each with RETURNING … if wanted"
)

// changes reports whether the statement begins with INSERT, UPDATE or DELETE.
func changes(text string, tokens []sqltree.Token) bool {
	return sqltree.Are(text, tokens, 0, "insert") || sqltree.Are(text, tokens, 0, "update") || sqltree.Are(text, tokens, 0, "delete")
}

// judgeChange is judge for a text that changes rows. Offsets in the verdict and
// in errors are offsets in text.
func (db *DB) judgeChange(ctx context.Context, c *conn, cat *Catalog, req Request, names Names, text string, h *held) (*verdict, error) {
	tokens := sqltree.Scan(text)
	if !req.Write {
		return nil, NewError(errcode.Refused, hintReader, "%s statements are refused", strings.ToUpper(tokens[0].Text(text))).at(text, tokens[0].Start)
	}
	ch, err := db.builtins.parseChange(text, tokens)
	if err != nil {
		return nil, err
	}
	table, err := ch.base(text, cat, names)
	if err != nil {
		return nil, err
	}
	numbers := numberedParams(text, tokens)
	if len(numbers) > 0 && cat.contents.Targets[ch.relation].Writer != nil {
		return db.judgeNumbered(ctx, c, cat, req, names, text, numbers, h)
	}
	if err := ch.checkColumns(c, cat, text, table); err != nil {
		return nil, err
	}
	query, parts := ch.query(text)
	relocate := func(offset int) int { return offsetIn(parts, offset, ch.target.Offset) }
	st, edits, wrote, err := db.examine(ctx, c, names, query, inPart, nil, h)
	if err == nil {
		err = db.CheckCTEs(query, st, names)
	}
	if err != nil {
		return nil, moveError(err, text, relocate)
	}
	edits, ok := sqltree.Merge(edits, ch.unqualify(query, st, names, parts))
	if !ok {
		return nil, NewError(errcode.Refused, "name the columns without their table", "the statement is ambiguous").at(text, ch.target.Offset)
	}
	out := &assembler{text: text, parts: parts, edits: edits}
	if len(numbers) > 0 && ch.costly(st, parts) {
		return db.judgeNumbered(ctx, c, cat, req, names, text, numbers, h)
	}
	if !ch.compose(out, table) {
		return nil, NewError(errcode.Argument, "compute it first, in a query that the statement reads", "a subquery cannot be a table argument here").
			at(text, ch.target.Offset)
	}
	judged := &judgedParts{text: text, parts: parts, edits: edits, statement: st, names: names}
	st, hidden := withoutHidden(st, names)
	v := &verdict{
		hidden: hidden, over: st.Over.Moved(relocate),
		text: out.b.String(), origin: out.origin, traits: db.traits(query, st, cat),
		called: callsOf(st, cat, relocate), write: true, writeTarget: writeTarget{target: ch.relation, database: databaseOf(table), returning: ch.returning != (sqltree.Span{})}, parameters: parameters{types: wrote.types},
	}
	v.traits.Volatile = true
	if cat.contents.Open != nil {
		v.waits = cat.waits(st)
	}
	if w := cat.contents.Targets[ch.relation].Writer; w != nil {
		judged.statement = st
		v.outside, err = db.judgeOutside(ctx, c, ch, w, judged, h)
	}
	if err == nil {
		err = v.judgeSource(c, cat, ch, table, judged)
	}
	return v, err
}

// moved returns the verdict for a text that contains v's text, or a copy of it;
// relocate maps its offsets.
func (v *verdict) moved(relocate func(int) int) *verdict {
	out := *v
	out.called, out.over = v.called.moved(relocate), v.over.Moved(relocate)
	out.origin = func(offset int) int {
		if at := v.origin(offset); at >= 0 {
			return relocate(at)
		}
		return -1
	}
	if v.outside != nil {
		out.outside = v.outside.moved(relocate)
	}
	out.source = v.source.moved(relocate)
	out.stays = slices.Clone(v.stays)
	for i := range out.stays {
		if at := &out.stays[i].Offset; *at >= 0 {
			*at = relocate(*at)
		}
	}
	return &out
}

// changeInside returns the position at which a text that begins with WITH
// continues with a statement that changes rows, and the verb of that.
func changeInside(text string, tokens []sqltree.Token) (at int, verb string) {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.Is(text, "("):
			depth++
		case t.Is(text, ")"):
			depth--
		case depth == 0 && (changes(text, tokens[i:]) || sqltree.Are(text, tokens, i, "merge")):
			return t.Start, strings.ToUpper(t.Text(text))
		}
	}
	return -1, ""
}

// base returns the table that the statement changes.
func (ch *change) base(text string, cat *Catalog, names Names) (string, error) {
	if err := checkRelation(text, ch.target, names); err != nil {
		return "", err
	}
	r, _ := names.Relation(ch.target.Catalog, ch.target.Schema, ch.target.Name)
	if cat.contents.Open != nil { // only then is it known whether it can be written
		if open := cat.contents.Open(Reading{Relations: []Relation{r}}); open != nil {
			return "", &unopenedError{open}
		}
	}
	if ch.alias == "" {
		ch.alias = r.Name
	}
	ch.relation = r
	fail := func(hint, format string) (string, error) {
		return "", NewError(errcode.Refused, hint, format, r.Name).at(text, ch.target.Offset)
	}
	switch {
	case cat.contents.Targets[r].ReadOnly != "":
		return fail("", "table %q is read-only: "+strings.ReplaceAll(cat.contents.Targets[r].ReadOnly, "%", "%%"))
	case !cat.Writable(r):
		return fail(hintNotBase, "table %q is read-only")
	case cat.Traits(r).Protected:
		return fail(hintPolicied, "table %q has a row filter or a column mask, so statements cannot write to it")
	}
	return cat.contents.Targets[r].Table, nil
}

// checkColumns refuses columns that the table does not have. DuckDB's error
// would name a table that the caller does not know.
func (ch *change) checkColumns(c *conn, cat *Catalog, text, table string) error {
	named := slices.Concat(ch.columns, ch.keys, ch.set)
	if len(named) == 0 {
		return nil
	}
	s, err := c.prepare("SELECT * FROM "+table, cat.serial, noRevision)
	if err != nil {
		return publicError(err, "")
	}
	names := make([]string, len(s.columns))
	for i, column := range s.columns {
		names[i] = column.Name
	}
	for _, t := range named {
		name := t.Name(text)
		if slices.ContainsFunc(names, func(n string) bool { return sqltree.Fold(n) == sqltree.Fold(name) }) {
			continue
		}
		e := NewError(errcode.NotFound, nearest.Hint(name, names, ""), "table %q has no column %q", ch.relation.Name, name)
		e.Missing = ObjectColumn
		return e.at(text, t.Start)
	}
	return nil
}

// part is a judged part of a change: text[Span], at offset at of the SELECT that
// was judged.
type part struct {
	sqltree.Span
	at int
}

func (p part) len() int { return p.End - p.Start }

// offsetIn maps an offset of the judged SELECT to the text; an offset outside the
// parts becomes other.
func offsetIn(parts []part, offset, other int) int {
	for _, p := range parts {
		if offset >= p.at && offset <= p.at+p.len() {
			return p.Start + offset - p.at
		}
	}
	return other
}

// query returns a SELECT with the parts of the change: the query of an INSERT, or
// the values, the condition and what RETURNING lists, over the relation. The parts
// that may have parameters are in the order of the text.
func (ch *change) query(text string) (string, []part) {
	if ch.rows != (sqltree.Span{}) && ch.conflict != ConflictUpdate && ch.returning == (sqltree.Span{}) {
		return text[ch.rows.Start:ch.rows.End], []part{{ch.rows, 0}}
	}
	var b strings.Builder
	var parts []part
	add := func(before string, s sqltree.Span, after string) {
		if s != (sqltree.Span{}) {
			b.WriteString(before)
			parts = append(parts, part{s, b.Len()})
			b.WriteString(text[s.Start:s.End] + after)
		}
	}
	b.WriteString("SELECT 1")
	add(", ", ch.returning, "\n")
	relation := Qualified(ch.relation.Schema, ch.relation.Name) + " AS "
	b.WriteString(" FROM ")
	add("(", ch.rows, "\n) AS \"rows\", ")
	b.WriteString(relation + Identifier(ch.alias))
	if ch.conflict == ConflictUpdate {
		b.WriteString(", " + relation + excluded)
	}
	b.WriteString(" WHERE true")
	for _, s := range ch.values {
		add(" AND (", s, "\n) IS NULL")
	}
	add(" AND (", ch.where, "\n)")
	return b.String(), parts
}

// excluded is the name of the row that an INSERT could not add.
const excluded = "excluded"

// compose composes the statement that DuckDB gets. It reports false when an edit
// of the judged SELECT is in none of the parts.
func (ch *change) compose(out *assembler, table string) bool {
	switch ch.verb {
	case VerbInsert:
		ch.composeInsert(out, table)
	case VerbUpdate:
		out.own("UPDATE " + table + " AS " + Identifier(ch.alias) + " SET ")
		ch.composeSet(out)
	case VerbDelete:
		out.own("DELETE FROM " + table + " AS " + Identifier(ch.alias))
	}
	if out.rows != "" && ch.verb != VerbInsert {
		out.own(map[Verb]string{VerbUpdate: " FROM", VerbDelete: " USING"}[ch.verb] + " (" + out.rows + ") AS __spiced_rows WHERE " +
			Identifier(ch.alias) + ".rowid = __spiced_rows.__spiced_row")
	} else if ch.where != (sqltree.Span{}) {
		out.within(" WHERE (", ch.where, ")")
	}
	if ch.returning != (sqltree.Span{}) {
		out.within(" RETURNING ", ch.returning, "")
	}
	return out.used == len(out.edits)
}

func (ch *change) composeInsert(out *assembler, table string) {
	out.own("INSERT INTO " + table + " AS " + Identifier(ch.alias))
	if ch.byName {
		out.own(" BY NAME")
	}
	out.names(out.text, ch.columns)
	if ch.rows == (sqltree.Span{}) {
		out.own(" DEFAULT VALUES")
	} else if out.rows != "" {
		out.own(" (" + out.rows + ")")
	} else {
		out.within(" (", ch.rows, ")")
	}
	if ch.conflict == ConflictFails {
		return
	}
	out.own(" ON CONFLICT")
	out.names(out.text, ch.keys)
	out.own(" " + string(ch.conflict))
	if ch.conflict == ConflictUpdate {
		out.own(" SET ")
		ch.composeSet(out)
	}
}

func (ch *change) composeSet(out *assembler) {
	for i, c := range ch.set {
		if i > 0 {
			out.own(", ")
		}
		out.name(out.text, c)
		if ch.values[i] == (sqltree.Span{}) {
			out.own(" = DEFAULT")
			continue
		}
		if out.rows != "" && ch.verb == VerbUpdate {
			out.own(" = __spiced_rows." + valueName(i))
			continue
		}
		out.within(" = (", ch.values[i], ")")
	}
}

// begin begins a transaction, unless one is open.
func (p *producer) begin() error {
	if p.open || p.joined != nil {
		return nil
	}
	p.open = true
	return p.c.exec("BEGIN TRANSACTION")
}

// commit commits a write after everything else, unless its caller has given up or it is a
// part of a [Transaction], and sends what it returns. DuckDB does not stream such a result: the statement has
// run to the end. From here on the outcome that the caller learns does not depend on
// its context.
func (p *producer) commit() error {
	p.active = false
	if !p.rows.claim() {
		return stopped(p.rows.ctx, p.rows.limits)
	}
	chunks, err := p.returned()
	if err == nil && p.joined == nil {
		err = p.db.commits.run(func() error { return p.conclude("COMMIT") })
	}
	if err != nil {
		destroyAll(chunks)
		return p.explain(err)
	}
	if p.joined != nil {
		p.joined.changed()
	}
	p.open, p.rows.written = false, true
	for _, c := range chunks {
		p.rows.chunks <- c // does not block: the channel has room
	}
	return nil
}

// returned fetches what a write returns, the number of rows or those of RETURNING. What
// is over a limit is an error, so that nothing is written.
func (p *producer) returned() (chunks []*Chunk, err error) {
	var rows, size int64
	for raw := mapping.FetchChunk(p.result); raw.Ptr != nil; raw = mapping.FetchChunk(p.result) {
		if err := checkChunk(raw, p.rows.columns); err != nil {
			mapping.DestroyDataChunk(&raw)
			return chunks, err
		}
		c := loadChunk(raw, p.rows.columns)
		chunks = append(chunks, c)
		rows, size = rows+int64(c.Len()), size+p.size(c)
		if err := p.checkReturned(rows, len(chunks), size); err != nil {
			return chunks, err
		}
	}
	return chunks, nil
}

// mostReturned is how many rows a write may return.
func (p *producer) mostReturned() int64 {
	most := int64(cap(p.rows.chunks) * ChunkRows)
	if limit := p.rows.limits.MaxRows; limit > 0 {
		most = min(most, limit)
	}
	return most
}

// TooManyReturned is the error of a write that returns more rows than it may.
func TooManyReturned(most int64) *Error {
	return NewError(errcode.Limit, "change fewer rows at once, or leave RETURNING out", "RETURNING gives more than %s; nothing was written", plural.Of(int(most), "row"))
}

// checkReturned returns an error if what a write returns is over a limit.
func (p *producer) checkReturned(rows int64, chunks int, size int64) error {
	limits := p.rows.limits
	switch most := p.mostReturned(); {
	case rows > most || chunks > cap(p.rows.chunks):
		return TooManyReturned(most)
	case limits.MaxBytes > 0 && size > limits.MaxBytes:
		return NewError(errcode.Limit, "return fewer columns, change fewer rows at once, or raise runtime.query.max_bytes",
			"RETURNING gives more than %d bytes; nothing was written", limits.MaxBytes)
	}
	return nil
}

func destroyAll(chunks []*Chunk) {
	for _, c := range chunks {
		c.Destroy()
	}
}

// conclude ends the transaction of a write, without interrupts.
func (p *producer) conclude(sql string) error {
	p.c.interrupter.mu.Lock()
	defer p.c.interrupter.mu.Unlock()
	return p.c.exec(sql)
}
