package builtin

import (
	"bytes"
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
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/tools"
)

// SearchMode says by what a search finds rows.
type SearchMode string

// Modes of a search.
const (
	SearchHybrid  SearchMode = "hybrid"
	SearchVector  SearchMode = "vector"
	SearchKeyword SearchMode = "keyword"
)

// SearchArgs are the arguments of the tool search, and the body of POST /v1/search.
type SearchArgs struct {
	Text       string     `json:"text" min:"1" doc:"What to look for, in words."`
	Datasets   []string   `json:"datasets,omitempty" doc:"Tables to look into; without it all that can be searched."`
	Limit      int        `json:"limit,omitempty" default:"10" min:"1" max:"1000" doc:"How many rows at most."`
	Where      string     `json:"where,omitempty" doc:"SQL condition that rows must meet, such as year > 2020 AND status = 'open'."`
	Additional []string   `json:"additional_columns,omitempty" doc:"Other columns to return with each row."`
	Keywords   []string   `json:"keywords,omitempty" max:"64" doc:"Exact words or phrases that count in addition."`
	Mode       SearchMode `json:"mode,omitempty" enum:"hybrid,vector,keyword" default:"hybrid" doc:"Find rows by words and meaning (hybrid), only by meaning (vector), or only by words (keyword)."`
	Feeds      []string   `json:"feeds,omitempty" doc:"Only rows whose column feed, or else source, has one of these values."`
	Explain    bool       `json:"explain,omitempty" doc:"Return the rank and the score of each row by words and by meaning."`
}

// RowQuery is a search for rows as [Env.Search] takes it.
type RowQuery struct {
	Text     string
	Keywords []string
	Mode     SearchMode
	Limit    int
	Tables   []RowTable
	Allow    func(engine.Relation) bool // of what the conditions may read
	Timeout  time.Duration              // 0: the default
}

// RowTable is a table that a search looks into.
type RowTable struct {
	Relation engine.Relation
	Data     []string // columns to return
	Where    string   // an SQL condition; "": all rows
}

// RowAnswer is the rows that a search found, best first.
type RowAnswer struct {
	Rows  []FoundRow
	Mode  SearchMode // that was used: keyword if no model could be asked
	Notes []string   // what was not searched as asked
}

// FoundRow is a row that a search found.
type FoundRow struct {
	Relation engine.Relation
	Score    float64
	// Key and Data are JSON objects; nil if there are no such columns.
	Key, Data json.RawMessage
	// Column and Text are the part of a text that the row was found by.
	Column, Text string
	Sources      []search.Source
}

// newSearch returns the tool that searches rows by text.
func newSearch(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "search",
		Description: "Finds the rows whose text fits a question best, in the tables that list_datasets " +
			"marks can_search_documents. " +
			"Use it to find which documents, notes, reviews or descriptions mention something, by meaning and words; use sql " +
			"for exact filters, counts and sums.",
		Returns: json.RawMessage(`{"type":"object","required":["results","mode"],"properties":{
			"mode":{"type":"string","description":"How rows were found: keyword if no embedding model could be asked."},
			"notes":{"type":"array","items":{"type":"string"},"description":"What was not searched as asked."},
			"results":{"type":"array","description":"The rows, best first.","items":{"type":"object","properties":{
			"dataset":{"type":"string"},
			"score":{"type":"number"},
			"matches":{"type":"object","description":"The part of a column's text that the row was found by."},
			"primary_key":{"type":"object","description":"The columns that identify the row."},
			"data":{"type":"object","description":"The additional columns."},
			"sources":{"type":"array","description":"With explain: how each channel ranks the row."}},
			"required":["dataset","score","matches"]}}}}`),
		Tags: []string{"data", "search", "documents"},
	})
	return tools.Typed(def, func(ctx context.Context, a SearchArgs, in tools.Input) (output, error) {
		found, err := env.searchRows(ctx, a, c.access(in.Scope), in.Limits.Timeout)
		if err != nil {
			return output{}, err
		}
		lines := make([][]byte, len(found.Rows))
		for i, r := range found.Rows {
			lines[i] = r.JSON(a.Explain)
		}
		shown, err := fit(lines, extentOf(in.Limits, a.Limit))
		if err != nil {
			return output{}, err
		}
		return found.output(shown), nil
	})
}

// output is the result of the tool with the rows that are shown.
func (a RowAnswer) output(shown rows) output {
	value := append([]byte(`{"results":[`), bytes.Join(shown.lines, []byte{','})...)
	value = format.AppendString(append(value, `],"mode":`...), string(a.Mode))
	if len(a.Notes) > 0 {
		notes, _ := json.Marshal(a.Notes) // of texts
		value = append(append(value, `,"notes":`...), notes...)
	}
	return output{Value: append(value, '}'), Rows: &tools.Rows{Returned: len(shown.lines), Truncated: shown.truncated}}
}

// SearchRows searches as the caller of a scope.
func SearchRows(ctx context.Context, env Env, a SearchArgs, scope tools.Scope) (RowAnswer, error) {
	return env.searchRows(ctx, a, custom{}.access(scope), 0)
}

func (e Env) searchRows(ctx context.Context, a SearchArgs, may access, timeout time.Duration) (RowAnswer, error) {
	if strings.TrimSpace(a.Text) == "" {
		return RowAnswer{}, tools.NewError(errcode.InvalidArguments, "text is empty", "say what to look for")
	}
	datasets, err := e.searched(may, a.Datasets)
	if err != nil {
		return RowAnswer{}, err
	}
	data, err := additional(datasets, a.Additional)
	if err != nil {
		return RowAnswer{}, err
	}
	q := RowQuery{
		Text: a.Text, Keywords: a.Keywords, Mode: a.Mode, Limit: clamp(a.Limit, 1, MaxHits), Allow: may.filter(),
		Timeout: timeout,
	}
	if q.Mode == "" {
		q.Mode = SearchHybrid
	}
	for i, d := range datasets {
		t := RowTable{Relation: d.Relation, Data: columnNames(data[i]), Where: strings.TrimSpace(a.Where)}
		if len(a.Feeds) > 0 {
			condition, ok := d.feeds(a.Feeds)
			switch {
			case !ok && len(a.Datasets) > 0:
				return RowAnswer{}, tools.NewError(errcode.InvalidArguments, "table "+d.short()+" has no column feed or source",
					"leave feeds out, or use where")
			case !ok:
				continue
			case t.Where != "":
				condition += " AND (\n" + t.Where + "\n)"
			}
			t.Where = condition
		}
		q.Tables = append(q.Tables, t)
	}
	if len(q.Tables) == 0 {
		return RowAnswer{}, tools.NewError(errcode.InvalidArguments, "no searched table has a column feed or source",
			"leave feeds out, or use where")
	}
	found, err := e.Search(ctx, q)
	if err != nil {
		return RowAnswer{}, asToolError(err, datasets)
	}
	return found, nil
}

// feeds is the condition that a row is of one of some feeds; false if the table has none.
func (d Dataset) feeds(names []string) (string, bool) {
	for _, name := range []string{"feed", "source"} {
		if c := column(d.Columns, name); c != nil {
			list := make([]string, len(names))
			for i, n := range names {
				list[i] = engine.Literal(n)
			}
			return engine.Identifier(c.Name) + " IN (" + strings.Join(list, ", ") + ")", true
		}
	}
	return "", false
}

// JSON is the row as the tool returns it.
func (r FoundRow) JSON(explain bool) []byte {
	line := format.AppendString([]byte(`{"dataset":`), Dataset{Relation: r.Relation}.Table())
	line = strconv.AppendFloat(append(line, `,"score":`...), r.Score, 'f', -1, 64)
	line = format.AppendString(append(line, `,"matches":{`...), r.Column)
	line = append(format.AppendString(append(line, ":["...), r.Text), "]}"...)
	if r.Key != nil {
		line = append(append(line, `,"primary_key":`...), r.Key...)
	}
	if r.Data != nil {
		line = append(append(line, `,"data":`...), r.Data...)
	}
	if explain {
		line = append(line, `,"sources":[`...)
		for i, s := range r.Sources {
			if i > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendInt(append(format.AppendString(append(line, `{"source":`...), s.Source), `,"rank":`...), int64(s.Rank), 10)
			line = append(strconv.AppendFloat(append(line, `,"score":`...), s.Score, 'f', -1, 64), '}')
		}
		line = append(line, ']')
	}
	return append(line, '}')
}

// asToolError converts err to a failed call; a tool's error is unchanged.
func asToolError(err error, datasets []Dataset) error {
	var e *tools.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return tools.NewError(errcode.Timeout, "the search took longer than its caller waits",
			"narrow it with where or datasets")
	}
	failed := tools.AsError(SQLError(err))
	if len(datasets) > 1 && strings.HasPrefix(failed.Message, "where, over ") {
		narrow := *failed
		narrow.Hint = strings.TrimPrefix(failed.Hint+"; name the tables that it fits in datasets", "; ")
		return &narrow
	}
	return failed
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
