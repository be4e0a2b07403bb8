package rowsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// Querier runs statements as the caller that ctx has. *[engine.DB] is one.
type Querier interface {
	Query(ctx context.Context, req engine.Request) (*engine.Rows, error)
}

// MaxHits is the limit of a request.
const MaxHits = 1000

// Request is what to look for.
type Request struct {
	Tables   []Target
	Text     string
	Keywords []string
	Mode     rowindex.Mode
	Limit    int
	// Allow limits the relations that conditions may name.
	Allow func(engine.Relation) bool
	// Timeout is that of each statement, and of waiting for an index; EmbeddingTimeout is how long
	// the search waits for a model before it uses only words.
	Timeout, EmbeddingTimeout time.Duration
}

// Target is a table to search.
type Target struct {
	Relation engine.Relation
	Where    string   // an SQL condition; "": all rows
	Columns  []string // to look in; nil: all that are searched
	Data     []string // columns to return with each row
}

// Answer is the result of a search.
type Answer struct {
	Hits []Hit // best first
	Mode rowindex.Mode
	// Notes tell what was not searched as asked: a model that could not be asked, a table that is
	// searched in part.
	Notes []string
}

// Hit is a row.
type Hit struct {
	Relation engine.Relation
	Score    float64
	// Key and Data are JSON objects of the columns that identify the row and of those that were asked
	// for; nil if there are none.
	Key, Data json.RawMessage
	// Column and Text are the part of a text that the row was found by, as its caller sees it.
	Column, Text string
	Sources      []search.Source
}

// Search returns the rows that fit best.
func (m *Manager) Search(ctx context.Context, db Searcher, r Request) (*Answer, error) {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, time.Minute))
	defer cancel()
	r.Text = truncate.Bytes(r.Text, search.MaxQueryBytes)
	out := &Answer{Mode: r.Mode}
	q := &embedded{timeout: cmp.Or(r.EmbeddingTimeout, time.Second), text: r.Text}
	for _, t := range r.Tables {
		if err := CheckWhere(limited, db, t.Where); err != nil {
			return nil, err
		}
		hits, err := m.table(limited, db, r, t, q, out)
		if err != nil {
			return nil, err
		}
		out.Hits = append(out.Hits, hits...)
	}
	slices.SortStableFunc(out.Hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	out.Hits = out.Hits[:min(len(out.Hits), r.Limit)]
	out.Notes = append(out.Notes, q.notes...)
	if !q.found && r.Mode == rowindex.Hybrid {
		out.Mode = rowindex.Keyword
	}
	return out, nil
}

// table searches one table.
func (m *Manager) table(ctx context.Context, db Querier, r Request, t Target, q *embedded, out *Answer) ([]Hit, error) {
	ix := m.of(t.Relation)
	if ix == nil {
		return nil, refuse("", "table %s has no column that can be searched", t.Relation.Name)
	}
	current, note, err := ix.index(ctx, db, r)
	if err != nil {
		return nil, err
	}
	defer current.Release()
	query, err := ix.query(ctx, current, note, r, t, q)
	if err != nil {
		return nil, err
	}
	if err := ix.visible(ctx, db, current, r, t.Where, "", &query); err != nil {
		return nil, err
	}
	if note != "" {
		out.Notes = append(out.Notes, "table "+t.Relation.Name+": "+note)
	}
	return ix.fetch(ctx, db, r, t, current.Search(query))
}

// query returns the query of an index. note says what is not searched as declared.
func (ix *Index) query(ctx context.Context, current *rowindex.Index, note string, r Request, t Target,
	q *embedded,
) (rowindex.Query, error) {
	query := rowindex.Query{Text: r.Text, Keywords: r.Keywords, Mode: r.Mode, Limit: r.Limit}
	for i := range ix.spec.Columns {
		query.Columns = append(query.Columns, i)
	}
	if t.Columns != nil {
		query.Columns = nil
		for _, name := range t.Columns {
			i := ix.spec.column(name)
			if i < 0 {
				return query, refuse("searched columns: "+strings.Join(ix.spec.Names(), ", "),
					"column %q of table %s is not searched", name, t.Relation.Name)
			}
			query.Columns = append(query.Columns, i)
		}
	}
	if err := ix.spec.serves(r.Mode, t.Columns); err != nil {
		return query, err
	}
	for _, i := range query.Columns {
		if r.Mode == rowindex.Keyword || current.Columns()[i].Dimensions == 0 {
			continue
		}
		model := ix.models[ix.spec.Columns[i].Model]
		if vector := q.by(ctx, model); vector != nil {
			query.Vectors = append(query.Vectors, rowindex.Near{Column: i, Vector: vector, Weight: weight(model)})
		}
	}
	if r.Mode == rowindex.Vector && len(query.Vectors) == 0 && strings.TrimSpace(r.Text) != "" {
		const hint = "search by words: mode keyword, or text_search"
		if q.err == nil {
			return query, engine.NewError(errcode.ProviderError, hint, "table %s has no vectors yet: %s", t.Relation.Name,
				note)
		}
		return query, engine.NewError(errcode.ProviderError, hint, "%s", q.err)
	}
	return query, nil
}

// Weights of vectors in a hybrid search, relative to words.
const (
	modelWeight   = .4
	builtinWeight = .05 // of models that are part of the program
)

func weight(m embeddings.Model) float64 {
	if _, builtin := m.(embeddings.Builtin); builtin {
		return builtinWeight
	}
	return modelWeight
}

// embedded embeds the text of a search, once by each model.
type embedded struct {
	timeout time.Duration
	text    string
	vectors map[embeddings.Model][]float32
	found   bool // a vector
	err     error
	notes   []string
}

// by returns the vector of a model, nil if it could not be asked.
func (q *embedded) by(ctx context.Context, model embeddings.Model) []float32 {
	if v, known := q.vectors[model]; known || strings.TrimSpace(q.text) == "" {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	vectors, err := model.Embed(ctx, []string{q.text})
	if q.vectors == nil {
		q.vectors = map[embeddings.Model][]float32{}
	}
	if err != nil {
		q.vectors[model], q.err = nil, err
		q.notes = append(q.notes, fmt.Sprintf("the embedding model %s could not be asked, so that rows were found by words "+
			"only: %s", model.Name(), err))
		return nil
	}
	q.vectors[model], q.found = vectors[0], true
	return vectors[0]
}

// visible sets the rows that the caller may find. Those are the rows that the caller reads from the
// table, in which the condition holds. alias is the name of the table in the condition.
func (ix *Index) visible(ctx context.Context, db Querier, current *rowindex.Index, r Request, where, alias string,
	q *rowindex.Query,
) error {
	var masked []int
	for _, i := range ix.spec.Masked {
		if slices.Contains(q.Columns, i) {
			masked = append(masked, i)
		}
	}
	if (!ix.spec.Filtered || ix.spec.Personal) && where == "" && len(masked) == 0 {
		return nil
	}
	list := []string{ix.spec.keyHash("")}
	for _, i := range masked {
		list = append(list, "hash("+textOf("", ix.spec.Columns[i].Name)+")")
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + ix.relation()
	if alias != "" {
		sql += " AS " + engine.Identifier(alias)
	}
	if where != "" {
		sql += " WHERE (\n" + where + "\n)"
	}
	rows := current.NewRowset()
	q.Visible, q.Within = rows, map[int]*rowindex.Rowset{}
	for _, i := range masked {
		q.Within[i] = current.NewRowset()
	}
	err := ix.each(ctx, db, r, sql, where != "", func(c *engine.Chunk, i int) {
		key := engine.Value[uint64](c.Column(0), i)
		rows.Add(key)
		for k, column := range masked {
			q.Within[column].AddText(key, column, engine.Value[uint64](c.Column(1+k), i))
		}
	})
	switch {
	case err == nil:
		return nil
	case where != "":
		return whereError("where, over "+ix.spec.Table.Name, err)
	}
	e := *engine.AsError(err)
	e.Message = "table " + ix.spec.Table.Name + ": " + e.Message
	return &e
}

func (ix *Index) relation() string {
	r := ix.spec.Table.Relation
	return engine.Qualified(r.Schema, r.Name)
}

// each runs a statement as the caller, and calls f with each row.
func (ix *Index) each(ctx context.Context, db Querier, r Request, sql string, isolate bool,
	f func(*engine.Chunk, int),
) error {
	return ix.chunks(ctx, db, r, sql, isolate, func(c *engine.Chunk) {
		for i := range c.Len() {
			f(c, i)
		}
	})
}

func (ix *Index) chunks(ctx context.Context, db Querier, r Request, sql string, isolate bool,
	f func(*engine.Chunk),
) error {
	rows, err := db.Query(ctx, engine.Request{
		SQL: sql, Allow: r.Allow, Isolate: isolate,
		Limits: engine.Limits{Timeout: r.Timeout, MaxRows: math.MaxInt64, MaxBytes: math.MaxInt64},
	})
	if err != nil {
		return err
	}
	defer rows.Close()
	for c, err := range rows.Chunks() {
		if err != nil {
			return err
		}
		f(c)
	}
	return nil
}

// fetch reads what the hits show, as the caller sees it. Rows that are gone by now are left out.
func (ix *Index) fetch(ctx context.Context, db Querier, r Request, t Target, found []rowindex.Hit) ([]Hit, error) {
	if len(found) == 0 {
		return nil, nil
	}
	s := ix.spec
	list := []string{s.keyHash("")}
	for _, c := range s.Columns {
		list = append(list, textOf("", c.Name), "hash("+textOf("", c.Name)+")")
	}
	keyAt, dataAt := len(list), len(list)
	if len(s.Key) > 0 {
		names := make([]string, len(s.Key))
		for i, c := range s.Key {
			names[i] = c.Name
		}
		list, dataAt = append(list, object(names)), dataAt+1
	}
	if len(t.Data) > 0 {
		list = append(list, object(t.Data))
	}
	where, err := s.rows(found)
	if err != nil {
		return nil, err
	}
	rows := map[uint64]Hit{}
	best := make(map[uint64]rowindex.Hit, len(found))
	for _, h := range found {
		best[h.Key] = h
	}
	err = ix.each(ctx, db, r, "SELECT "+strings.Join(list, ", ")+" FROM "+ix.relation()+" WHERE "+where,
		false, func(c *engine.Chunk, i int) {
			key := engine.Value[uint64](c.Column(0), i)
			h, wanted := best[key]
			if !wanted {
				return
			}
			// A row that has changed since, or another one with its key, is not the row that was found.
			at := 1 + 2*h.Best.Column
			text := c.Column(at)
			if !text.Valid(i) || engine.Value[uint64](c.Column(at+1), i) != h.Best.Hash || h.Best.End > len(text.Bytes(i)) {
				return
			}
			hit := Hit{
				Relation: t.Relation, Score: h.Score, Sources: h.Sources, Column: s.Columns[h.Best.Column].Name,
				Text: string(text.Bytes(i)[h.Best.Start:h.Best.End]),
			}
			if len(s.Key) > 0 {
				hit.Key = format.JSON(nil, c.Column(keyAt), i)
			}
			if len(t.Data) > 0 {
				hit.Data = format.JSON(nil, c.Column(dataAt), i)
			}
			rows[key] = hit
		})
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, 0, len(found))
	for _, h := range found {
		if hit, ok := rows[h.Key]; ok {
			hits = append(hits, hit)
		}
	}
	return hits, nil
}

// rows is the condition of the rows of hits. DuckDB looks up a list of values of the first column of
// the key in an index or in the statistics of row groups; of conditions with OR, it reads all rows.
func (s *Spec) rows(found []rowindex.Hit) (string, error) {
	var keys, firsts []string
	for _, h := range found {
		if len(s.Key) == 0 {
			keys = append(keys, fmt.Sprint(h.Key))
			continue
		}
		var values []string
		if err := json.Unmarshal([]byte(h.Name), &values); err != nil || len(values) != len(s.Key) {
			return "", errors.Join(fmt.Errorf("the key of a row of table %s cannot be read", s.Table.Name), err)
		}
		parts := make([]string, len(values))
		for i, v := range values {
			value := "CAST(" + engine.Literal(v) + " AS " + s.Key[i].Type + ")"
			parts[i] = engine.Identifier(s.Key[i].Name) + " = " + value
			if i == 0 {
				firsts = append(firsts, value)
			}
		}
		keys = append(keys, "("+strings.Join(parts, " AND ")+")")
	}
	if len(s.Key) == 0 {
		return s.keyHash("") + " IN (" + strings.Join(keys, ", ") + ")", nil
	}
	where := engine.Identifier(s.Key[0].Name) + " IN (" + strings.Join(firsts, ", ") + ")"
	if len(s.Key) > 1 {
		where += " AND (" + strings.Join(keys, " OR ") + ")"
	}
	return where, nil
}

// object is the SQL of a STRUCT with the columns as members.
func object(columns []string) string {
	members := make([]string, len(columns))
	for i, c := range columns {
		members[i] = engine.Literal(c) + ": " + engine.Identifier(c)
	}
	return "{" + strings.Join(members, ", ") + "}"
}
