package sqlapi

import (
	"math"
	"net/http"
	"strconv"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// toolSearch is the body of a search for tools.
type toolSearch struct {
	Query          string        `json:"query" doc:"What the tool should do; * lists all by name."`
	Keywords       []string      `json:"keywords,omitempty" doc:"Phrases to favour."`
	Limit          *int          `json:"limit,omitempty" min:"1" doc:"5 if left out, at most 20."`
	Offset         int           `json:"offset,omitempty" min:"0" doc:"Tools to skip, to see those that follow."`
	MinScore       float64       `json:"min_score,omitempty" doc:"From 0 to 1."`
	EmbeddingModel string        `json:"embedding_model,omitempty" doc:"A name in the embeddings section."`
	Context        callerContext `json:"context,omitzero"`
	Explain        bool          `json:"explain,omitempty" doc:"Add weights and shares. A search that is explained is not recorded."`
	Tool           string        `json:"tool,omitempty" doc:"With explain: the tool whose rank, or absence, is explained."`
}

// toolsFound is the answer to a search, with the judgement of one tool.
type toolsFound struct {
	registry.Found
	Why *registry.Why `json:"why,omitempty"`
}

// searchBody searches by a body.
func (t *toolsHandler) searchBody(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	body, err := t.bodies.read(w, r, maxSmallBody)
	if err != nil {
		return err
	}
	s := toolSearch{Context: callerContext{Caller: who}}
	if err := decodeObject(body, &s); err != nil {
		return err
	}
	if err := checkCaller(&s.Context.Caller); err != nil {
		return err
	}
	return t.search(w, r, s)
}

// searchQuery searches by the parameters of the query.
func (t *toolsHandler) searchQuery(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	q := r.URL.Query()
	s := toolSearch{
		Query: q.Get("q"), Keywords: q["keyword"], EmbeddingModel: q.Get("embedding_model"),
		Tool: q.Get("tool"), Context: callerContext{Caller: who},
	}
	var err error
	if s.Explain, err = flagParam(r, "explain"); err != nil {
		return err
	}
	if text := q.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil {
			return newError(errcode.InvalidRequest, "use a whole number from 1", "limit=%q is no number", text)
		}
		s.Limit = &limit
	}
	if text := q.Get("offset"); text != "" {
		if s.Offset, err = strconv.Atoi(text); err != nil {
			return newError(errcode.InvalidRequest, "use a whole number from 0", "offset=%q is no number", text)
		}
	}
	if text := q.Get("min_score"); text != "" {
		if s.MinScore, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(s.MinScore) {
			return newError(errcode.InvalidRequest, "use a number from 0 to 1", "min_score=%q is no number", text)
		}
	}
	return t.search(w, r, s)
}

func (t *toolsHandler) search(w http.ResponseWriter, r *http.Request, s toolSearch) error {
	if s.Tool != "" && !s.Explain {
		return newError(errcode.InvalidRequest, "add explain", "tool names the tool to be explained")
	}
	model, err := t.embeddingModel(s.EmbeddingModel)
	if err != nil {
		return err
	}
	request := registry.SearchRequest{
		Query: s.Query, Keywords: s.Keywords, Offset: s.Offset, MinScore: s.MinScore, EmbeddingModel: model, Explain: s.Explain,
		Scope: tools.Scope{Caller: s.Context.Caller}, Catalog: t.registry.Current(),
	}
	if s.Limit != nil { // in the request, 0 means the default
		if request.Limit = *s.Limit; request.Limit < 1 {
			return newError(errcode.InvalidRequest, "", "limit is %d; it is at least 1", request.Limit)
		}
	}
	found, err := t.registry.Search(r.Context(), request)
	if err != nil {
		return callError(tools.AsError(err))
	}
	answer := toolsFound{Found: *found}
	if s.Tool != "" {
		if answer.Why, err = t.registry.Why(r.Context(), request, s.Tool); err != nil {
			return callError(tools.AsError(err))
		}
	}
	return writeJSON(w, http.StatusOK, answer)
}
