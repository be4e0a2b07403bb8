package sqlapi

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// toolSearch is a search with the tool to be explained.
type toolSearch struct {
	registry.SearchRequest
	tool string
}

// toolsFound is the answer to a search, with the judgement of one tool.
type toolsFound struct {
	*registry.Found
	Why *registry.Why `json:"why,omitempty"`
}

// searchBody searches by a body.
func (t *toolsHandler) searchBody(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	body, err := t.bodies.read(w, r, maxSmallBody)
	if err != nil {
		return err
	}
	s := toolSearch{SearchRequest: registry.SearchRequest{Scope: tools.Scope{Caller: who}}}
	if err := s.decode(body); err != nil {
		return err
	}
	return t.search(w, r, s)
}

func (s *toolSearch) decode(body []byte) error {
	err := decodeObject(body, field{"query", &s.Query}, field{"keywords", &s.Keywords}, field{"limit", func(d *json.Decoder) error {
		var limit *int
		if err := d.Decode(&limit); err != nil {
			return err
		}
		return s.setLimit(limit)
	}}, field{"min_score", &s.MinScore}, field{"embedding_model", &s.EmbeddingModel},
		field{"context", func(d *json.Decoder) error { return decodeContext(d, &s.Scope.Caller) }},
		field{"explain", &s.Explain}, field{"tool", &s.tool})
	if err != nil {
		return err
	}
	return checkCaller(&s.Scope.Caller)
}

// setLimit takes over a limit that is given; in a SearchRequest 0 means no limit.
func (s *toolSearch) setLimit(limit *int) error {
	if limit == nil {
		return nil
	}
	if s.Limit = *limit; s.Limit < 1 {
		return newError(errcode.InvalidRequest, "", "limit is %d; it is at least 1", s.Limit)
	}
	return nil
}

// searchQuery searches by the parameters of the query.
func (t *toolsHandler) searchQuery(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	q := r.URL.Query()
	s := toolSearch{tool: q.Get("tool"), SearchRequest: registry.SearchRequest{
		Query: q.Get("q"), Keywords: q["keyword"], EmbeddingModel: q.Get("embedding_model"), Scope: tools.Scope{Caller: who},
	}}
	var err error
	if s.Explain, err = flagParam(r, "explain"); err != nil {
		return err
	}
	if text := q.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil {
			return newError(errcode.InvalidRequest, "use a whole number from 1", "limit=%q is no number", text)
		}
		if err := s.setLimit(&limit); err != nil {
			return err
		}
	}
	if text := q.Get("min_score"); text != "" {
		if s.MinScore, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(s.MinScore) {
			return newError(errcode.InvalidRequest, "use a number from 0 to 1", "min_score=%q is no number", text)
		}
	}
	return t.search(w, r, s)
}

func (t *toolsHandler) search(w http.ResponseWriter, r *http.Request, s toolSearch) (err error) {
	if s.tool != "" && !s.Explain {
		return newError(errcode.InvalidRequest, "add explain", "tool names the tool to be explained")
	}
	if s.EmbeddingModel, err = t.embeddingModel(s.EmbeddingModel); err != nil {
		return err
	}
	s.Catalog = t.registry.Current()
	var answer toolsFound
	if answer.Found, err = t.registry.Search(r.Context(), s.SearchRequest); err != nil {
		return callError(tools.AsError(err))
	}
	if s.tool != "" {
		if answer.Why, err = t.registry.Why(r.Context(), s.SearchRequest, s.tool); err != nil {
			return callError(tools.AsError(err))
		}
	}
	return writeJSON(w, http.StatusOK, answer)
}
