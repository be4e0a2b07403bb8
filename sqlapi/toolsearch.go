package sqlapi

import (
	"net/http"
	"strconv"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// toolSearch is the body of a search for tools.
type toolSearch struct {
	Query          string        `json:"query" min:"1" doc:"What the tool should do; * lists all by name."`
	Keywords       []string      `json:"keywords,omitempty" doc:"Phrases to favour."`
	Limit          *int          `json:"limit,omitempty" min:"1" doc:"5 if left out, at most 20."`
	Offset         int           `json:"offset,omitempty" min:"0" doc:"Tools to skip, to see those that follow."`
	MinScore       float64       `json:"min_score,omitempty" min:"0" max:"1" doc:"From 0 to 1."`
	EmbeddingModel string        `json:"embedding_model,omitempty" doc:"A name in the embeddings section."`
	Context        callerContext `json:"context,omitzero"`
	Explain        bool          `json:"explain,omitempty" doc:"Add weights and shares. A search that is explained is not recorded."`
	Tool           string        `json:"tool,omitempty" doc:"The tool whose rank, or absence, is explained; implies explain."`
}

// toolsFound is the answer to a search, with the judgement of one tool.
type toolsFound struct {
	registry.Found
	Why *registry.Why `json:"why,omitempty"`
}

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
	if s.Context.Caller, err = permitted(w, s.Context.Caller); err != nil {
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
	s.Explain = flag(r, "explain")
	s.Offset, _ = strconv.Atoi(q.Get("offset"))
	s.MinScore, _ = strconv.ParseFloat(q.Get("min_score"), 64)
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil {
		s.Limit = &limit
	}
	return t.search(w, r, s)
}

func (t *toolsHandler) search(w http.ResponseWriter, r *http.Request, s toolSearch) error {
	model, err := t.embeddingModel(s.EmbeddingModel)
	if err != nil {
		return err
	}
	request := registry.SearchRequest{
		Query: s.Query, Keywords: s.Keywords, Offset: s.Offset, MinScore: s.MinScore, EmbeddingModel: model,
		Explain: s.Explain || s.Tool != "",
		Scope:   tools.Scope{Caller: s.Context.Caller}, Catalog: t.registry.Current(),
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
