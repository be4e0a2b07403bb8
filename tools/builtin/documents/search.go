package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// foundDocument is a document that search_documents has found.
type foundDocument struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Source  string  `json:"source"`
	Score   float64 `json:"score"`
	Passage string  `json:"passage"`
}

// search answers search_documents, with the search of the built-in tool search.
func (t *toolset) search(ctx context.Context, _ *definition, in tools.Input) (any, error) {
	var args struct {
		Query string
		Mode  builtin.SearchMode
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
	s := builtin.SearchArgs{
		Datasets: []string{dataset.Table()}, Text: args.Query, Mode: args.Mode, Where: where, Limit: limitOf(in, 10),
	}
	for _, role := range []Role{RoleID, RoleName, RoleFeed} {
		if c[role] != nil {
			s.Additional = append(s.Additional, c[role].Name)
		}
	}
	answer, err := builtin.SearchRows(ctx, t.env.Env, s, in.Scope)
	if err != nil {
		return nil, err
	}
	found := make([]foundDocument, len(answer.Rows))
	for i, row := range answer.Rows {
		if found[i], err = c.found(row); err != nil {
			return nil, err
		}
		if c[RoleFeed] == nil {
			found[i].Source = dataset.Relation.Name
		}
	}
	result := map[string]any{"documents": found, "mode": answer.Mode}
	if len(answer.Notes) > 0 {
		result["notes"] = answer.Notes
	}
	return result, nil
}

// found returns a row that a search has found as a document.
func (c columns) found(row builtin.FoundRow) (foundDocument, error) {
	var data map[string]json.RawMessage
	if err := json.Unmarshal(row.Data, &data); err != nil {
		return foundDocument{}, fmt.Errorf("read a row of a search: %w", err)
	}
	of := func(r Role) string {
		if c[r] == nil {
			return ""
		}
		return textOf(data[c[r].Name])
	}
	id := of(RoleID)
	return foundDocument{
		ID: id, Name: cmp.Or(of(RoleName), id), Source: of(RoleFeed), Score: row.Score,
		Passage: truncate.Runes(row.Text, MaxPassage),
	}, nil
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
