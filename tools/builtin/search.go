package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/tools"
)

type searchArgs struct {
	Text       string   `json:"text" min:"1" doc:"What to look for, in words."`
	Datasets   []string `json:"datasets,omitempty" doc:"Tables to look into; without it all that can be searched."`
	Limit      int      `json:"limit,omitempty" default:"10" min:"1" max:"100" doc:"How many rows at most."`
	Where      string   `json:"where,omitempty" doc:"SQL condition that rows must meet, such as year > 2020 AND status = 'open'."`
	Additional []string `json:"additional_columns,omitempty" doc:"Other columns to return with each row."`
	Keywords   []string `json:"keywords,omitempty" doc:"Exact words or phrases that count in addition."`
}

// newSearch returns the tool that searches rows by text.
func newSearch(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "search",
		Description: "Finds the rows whose text fits a question best, in the tables that list_datasets " +
			"marks can_search_documents. " +
			"Use it to find which documents, notes, reviews or descriptions mention something, by meaning and words; use sql " +
			"for exact filters, counts and sums. " +
			"A row with searched_rows is from a table too large to be searched whole: narrow it with where.",
		Returns: json.RawMessage(`{"type":"array","description":"The rows, best first.","items":{"type":"object","properties":{
			"dataset":{"type":"string"},
			"score":{"type":"number","minimum":0,"maximum":1},
			"matches":{"type":"object","description":"The columns that were searched."},
			"primary_key":{"type":"object","description":"The columns that name the row."},
			"data":{"type":"object","description":"The additional columns."},
			"searched_rows":{"type":"integer","description":"How many rows of the table were searched, when not all were."}},
			"required":["dataset","score","matches"]}}`),
		Tags: []string{"data", "search", "documents"},
	})
	s := &searcher{env: env, indexes: env.indexes(), now: env.now()}
	return tools.Typed(def, func(ctx context.Context, a searchArgs, in tools.Input) (rows, error) {
		return s.search(ctx, a, in, c.access(in.Scope))
	})
}

// searcher ranks rows of datasets.
type searcher struct {
	env     Env
	indexes *Indexes
	now     func() time.Time
}

func (s *searcher) search(ctx context.Context, a searchArgs, in tools.Input, may access) (rows, error) {
	if strings.TrimSpace(a.Text) == "" {
		return rows{}, tools.NewError(errcode.InvalidArguments, "text is empty", "say what to look for")
	}
	datasets, err := s.env.searched(may, a.Datasets)
	if err != nil {
		return rows{}, err
	}
	r := reader{
		db: s.env.SQL, datasets: datasets, where: strings.TrimSpace(a.Where), allow: may.filter(),
		timeout: in.Limits.Timeout,
	}
	if r.additional, err = additional(datasets, a.Additional); err != nil {
		return rows{}, err
	}
	if err := r.checkWhere(ctx); err != nil {
		return rows{}, err
	}
	key := fmt.Sprintf("%d %s %s", s.env.generation(), may.key(), r.key())
	index, err := s.indexes.get(ctx, key, s.now(), r.life(), func() (*rowIndex, error) { return r.read(ctx) })
	if err != nil {
		return rows{}, asToolError(err)
	}
	limit := 10
	if a.Limit != 0 {
		limit = clamp(a.Limit, 1, MaxHits)
	}
	return index.answer(a, extentOf(in.Limits, limit))
}

// asToolError converts err to a failed call; a tool's error is unchanged.
func asToolError(err error) error {
	var e *tools.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return tools.NewError(errcode.Timeout, "the search took longer than its caller waits",
			"narrow it with where or datasets")
	}
	return SQLError(err)
}

// searched are the datasets to search: the named ones, or all searchable ones.
func (e Env) searched(a access, names []string) ([]Dataset, error) {
	var can []Dataset
	for _, d := range visible(e.Datasets(), a) {
		if len(d.searchable()) > 0 {
			can = append(can, d)
		}
	}
	if len(names) == 0 && len(can) > 0 {
		return can, nil
	}
	var chosen []Dataset
	for _, name := range names {
		d, err := e.find(a, name)
		if err != nil {
			return nil, err
		}
		if len(d.searchable()) == 0 {
			return nil, notSearchable("table "+d.short()+" has no column that can be searched", can)
		}
		if !slices.ContainsFunc(chosen, func(c Dataset) bool { return c.Relation == d.Relation }) {
			chosen = append(chosen, d)
		}
	}
	if len(chosen) == 0 {
		if err := e.loading(); err != nil {
			return nil, err
		}
		return nil, notSearchable("no table has a column that can be searched", nil)
	}
	return chosen, nil
}

func notSearchable(message string, can []Dataset) error {
	hint := "declare one in the Spicepod: datasets[].columns: [{name: …, full_text_search: {enabled: true}}]"
	if len(can) > 0 {
		names := make([]string, len(can))
		for i, d := range can {
			names[i] = d.short()
		}
		hint = "these have one: " + listed(names) + "; or " + hint
	}
	return tools.NewError(errcode.InvalidArguments, message, hint)
}

// additional returns the additional columns of each dataset. A column in no
// dataset is an error.
func additional(datasets []Dataset, names []string) ([][]Column, error) {
	out := make([][]Column, len(datasets))
	for _, name := range names {
		found := false
		var known []string
		for i, d := range datasets {
			c := column(d.Columns, unquoted(name))
			known = append(known, columnNames(d.Columns)...)
			if c == nil {
				continue
			}
			found = true
			if column(out[i], c.Name) == nil {
				out[i] = append(out[i], *c)
			}
		}
		if found {
			continue
		}
		return nil, unknownColumn(fmt.Sprintf("no searched table has a column %q", name), name, known)
	}
	return out, nil
}

// rowIndex is a search index of rows.
type rowIndex struct {
	index *search.Index
	rows  []indexedRow
	bytes int64 // size of the rows
	// partial means that a dataset was too large to read completely.
	partial bool
	// personal means that other callers may get other rows, because of a row
	// filter, a column mask or a condition with ctx.
	personal bool
}

// indexedRow is a row as returned, without the fields that a search adds.
type indexedRow struct {
	dataset  *indexedDataset
	rendered []byte // a JSON object
}

// indexedDataset is the dataset of a row.
type indexedDataset struct {
	table   string
	rows    int
	partial bool // there are more rows than were read
}

// answer ranks the rows.
func (x *rowIndex) answer(a searchArgs, e extent) (rows, error) {
	found := x.index.Search(search.Query{
		Text: a.Text, Keywords: a.Keywords, Limit: e.rows,
		Vector: x.index.NGrams(a.Text),
	})
	lines := make([][]byte, len(found.Hits))
	for i, hit := range found.Hits {
		row := x.rows[hit.Doc]
		line := format.AppendString([]byte(`{"dataset":`), row.dataset.table)
		line = strconv.AppendFloat(append(line, `,"score":`...), hit.Score, 'f', -1, 64)
		if row.dataset.partial {
			line = strconv.AppendInt(append(line, `,"searched_rows":`...), int64(row.dataset.rows), 10)
		}
		lines[i] = append(append(line, ','), row.rendered[1:]...)
	}
	out, err := fit(lines, e)
	out.truncated = out.truncated || x.partial
	return out, err
}

// checkWhere rejects a condition that is not a single expression, before it is
// put in parentheses in a generated statement.
func (r *reader) checkWhere(ctx context.Context) error {
	if r.where == "" {
		return nil
	}
	const advice = "give one SQL condition, such as year > 2020 AND status = 'open'"
	if len(r.where) > MaxWhere {
		return tools.NewError(errcode.Limit, fmt.Sprintf("where has %d bytes; the limit is %d", len(r.where), MaxWhere),
			"make it shorter")
	}
	if leaves(r.where) {
		return tools.NewError(errcode.InvalidArguments, "where is more than one condition", advice)
	}
	st, err := r.db.Parse(ctx, whereStart+r.where+whereEnd)
	if err != nil {
		return whereError("where", err)
	}
	shape := st.Shape
	if !shape.Plain || shape.From || shape.Columns != 1 || shape.Alias || shape.Star || len(st.Params) > 0 {
		return tools.NewError(errcode.InvalidArguments, "where is not a condition", advice)
	}
	return nil
}

// The text around a condition when it is parsed separately: a line before it,
// so that positions are easy to convert, and a line after it, which ends a
// comment.
const (
	whereStart = "SELECT (\n"
	whereEnd   = "\n)"
)

// leaves reports whether text has unbalanced brackets, or a comma or semicolon
// outside brackets.
func leaves(text string) bool {
	var open []string
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}
	for _, t := range sqltree.Scan(text) {
		if t.Kind != sqltree.Symbol {
			continue
		}
		switch s := t.Text(text); s {
		case "(", "[", "{":
			open = append(open, closing[s])
		case ")", "]", "}":
			if len(open) == 0 || open[len(open)-1] != s {
				return true
			}
			open = open[:len(open)-1]
		case ",", ";":
			if len(open) == 0 || s == ";" {
				return true
			}
		}
	}
	return len(open) > 0
}
