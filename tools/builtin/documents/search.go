package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// Mode is how search_documents searches.
type Mode string

// The modes.
const (
	Hybrid  Mode = "hybrid"
	Vector  Mode = "vector"
	Keyword Mode = "keyword"
)

// Search is a search over the texts of one dataset.
type Search struct {
	Dataset string
	Text    string
	Mode    Mode
	Where   string   // SQL condition; "" means all rows
	Columns []string // to return with each row
	Limit   int
}

// Hit is a row that a search has found.
type Hit struct {
	Score   float64                    `json:"score"`
	Matches map[string]json.RawMessage `json:"matches"` // by column: a text, or a list of passages
	Data    map[string]json.RawMessage `json:"data"`    // by column
}

// SearchWith returns the function for [Env.Search] that calls the built-in tool search.
func SearchWith(env builtin.Env) (func(context.Context, Search, tools.Input) ([]Hit, error), error) {
	all, err := builtin.NewCaller(env)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s Search, in tools.Input) (hits []Hit, err error) {
		if s.Mode == Vector {
			return nil, tools.NewError(errcode.InvalidArguments, "mode vector is not served: the dataset has no vectors",
				"use hybrid or keyword")
		}
		args := map[string]any{
			"text": s.Text, "datasets": []string{s.Dataset}, "limit": s.Limit, "additional_columns": s.Columns,
		}
		if s.Where != "" {
			args["where"] = s.Where
		}
		return hits, all.Call(ctx, in.Scope, "search", args, &hits)
	}, nil
}

// foundDocument is a document that search_documents has found.
type foundDocument struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Source  string  `json:"source"`
	Score   float64 `json:"score"`
	Passage string  `json:"passage"`
}

// search answers search_documents.
func (t *toolset) search(ctx context.Context, d *definition, in tools.Input) (any, error) {
	var args struct {
		Query string
		Mode  Mode
		Feeds []string
		ID    string `json:"document_id"` // of an analyst
	}
	if err := json.Unmarshal(in.Raw, &args); err != nil {
		return nil, err
	}
	dataset, err := t.env.Lookup(in.Scope, t.config.Dataset)
	if err != nil {
		return nil, err
	}
	c := t.config.columnsOf(dataset)
	where, err := c.where(args.Feeds, args.ID)
	if err != nil {
		return nil, err
	}
	s := Search{
		Dataset: dataset.Table(), Text: args.Query, Mode: cmp.Or(args.Mode, Hybrid), Where: where, Limit: limitOf(in, 10),
	}
	for _, role := range []Role{RoleID, RoleName, RoleFeed} {
		if c[role] != nil {
			s.Columns = append(s.Columns, c[role].Name)
		}
	}
	hits, err := t.env.Search(ctx, s, in)
	if err != nil {
		return nil, err
	}
	found := make([]foundDocument, len(hits))
	for i, hit := range hits {
		of := func(r Role) string {
			if c[r] == nil {
				return ""
			}
			return textOf(hit.Data[c[r].Name])
		}
		id := of(RoleID)
		found[i] = foundDocument{
			ID: id, Name: cmp.Or(of(RoleName), id), Source: of(RoleFeed), Score: hit.Score,
			Passage: passage(hit.Matches, c, args.Query),
		}
		if c[RoleFeed] == nil {
			found[i].Source = dataset.Relation.Name
		}
	}
	return map[string]any{"documents": found}, nil
}

// where returns the condition of a search in some feeds, of one document, and of the caller's space.
func (c columns) where(feeds []string, id string) (string, error) {
	conditions := []string{engine.Identifier(c[RoleID].Name) + " IS NOT NULL"}
	if c[RoleSpace] != nil {
		conditions = append(conditions, c.space())
	}
	if id != "" {
		conditions = append(conditions, "CAST("+engine.Identifier(c[RoleID].Name)+" AS VARCHAR) = "+engine.Literal(id))
	}
	if len(feeds) > 0 {
		if c[RoleFeed] == nil {
			return "", tools.NewError(errcode.InvalidArguments,
				"the documents have no feeds: their dataset has no column for them", "leave feeds out")
		}
		list := make([]string, len(feeds))
		for i, feed := range feeds {
			list[i] = engine.Literal(feed)
		}
		conditions = append(conditions,
			"coalesce(CAST("+engine.Identifier(c[RoleFeed].Name)+" AS VARCHAR), '') IN ("+strings.Join(list, ", ")+")")
	}
	return strings.Join(conditions, " AND "), nil
}

// textOf returns a scalar of JSON as text.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// passage returns the part of the text of a hit that has words of the query.
func passage(matches map[string]json.RawMessage, c columns, query string) string {
	content := matches[c[RoleContent].Name]
	var passages []string
	if json.Unmarshal(content, &passages) == nil && len(passages) > 0 {
		return truncate.Runes(strings.Join(passages, "\n…\n"), MaxPassage)
	}
	return around(textOf(content), strings.Fields(strings.ToLower(query)))
}

// around returns the part of a text that has most of the words: of the first parts that have equally many,
// the first.
func around(text string, words []string) string {
	if utf8.RuneCountInString(text) <= MaxPassage {
		return text
	}
	best, most := 0, 0
	const step = MaxPassage / 2
	for start := 0; start < len(text); start += step {
		part, n := strings.ToLower(text[start:min(len(text), start+MaxPassage)]), 0
		for _, word := range words {
			if strings.Contains(part, word) {
				n++
			}
		}
		if n > most {
			best, most = start, n
		}
	}
	for best > 0 && !utf8.RuneStart(text[best]) {
		best--
	}
	shown := truncate.Runes(text[best:], MaxPassage)
	if best > 0 {
		shown = "…" + shown
	}
	return shown
}
