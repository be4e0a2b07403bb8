package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

// Limits of a search.
const (
	DefaultLimit = 5
	MaxLimit     = 20
	MaxOffset    = 1 << 20
	MaxQuery     = 16 << 10 // bytes
	MaxKeywords  = 64
)

// Search modes.
const (
	ModeHybrid  = "hybrid_rrf"  // all channels
	ModeLexical = "lexical_rrf" // without vectors, which were unavailable
)

// ListAll is the query that lists all tools by name.
const ListAll = "*"

// SearchRequest is a search for tools.
type SearchRequest struct {
	Query    string
	Keywords []string // phrases to search for in addition to the query
	Limit    int      // 0: [DefaultLimit]; at most [MaxLimit]
	Offset   int      // tools to skip
	MinScore float64  // 0 to 1
	// EmbeddingModel names the model of the vector channel; "" means the
	// catalog's default.
	EmbeddingModel string
	// Wait is how long to wait for the embedding model; 0: the catalog's
	// EmbeddingTimeout.
	Wait    time.Duration
	Scope   tools.Scope
	Explain bool
	// Unlearned: past queries do not count.
	Unlearned bool
	// Catalog is the catalog to search; nil means the current one.
	Catalog *Catalog
}

// Found is the result of a search. Its JSON is the response of tool_search.
type Found struct {
	Query      string      `json:"query"`
	Keywords   []string    `json:"keywords"`
	SearchMode string      `json:"search_mode" enum:"hybrid_rrf,lexical_rrf"`
	Tools      []FoundTool `json:"tools"`

	Total       int      `json:"total,omitempty" doc:"In a listing, the number of tools."`
	NoGoodMatch bool     `json:"no_good_match,omitempty" doc:"The tools found probably do not match the query."`
	Fallback    bool     `json:"fallback,omitempty" doc:"No tool reached min_score."`
	Notices     []string `json:"notices,omitempty"`

	Confidence float64 `json:"confidence,omitempty" doc:"With explain."`

	// Degraded means that vectors were not used although there is a model.
	Degraded bool `json:"-"`
}

// FoundTool is a tool in a search result.
type FoundTool struct {
	ToolID       string          `json:"tool_id"`
	Description  string          `json:"description"`
	Parameters   json.RawMessage `json:"parameters" type:"object"`
	Score        float64         `json:"score" doc:"From 0 to 1, the best is 1."`
	MatchedTerms []string        `json:"matched_terms"`
	MatchSources []MatchSource   `json:"match_sources"`

	Definition *tools.Definition `json:"-"`
}

// MatchSource is the score of a tool in one channel.
type MatchSource struct {
	Source string  `json:"source" doc:"The channel: full_text, vector, agreement, learned, ngrams, keyword or schema."`
	Rank   int     `json:"rank"`
	Score  float64 `json:"score" doc:"In the channel's own unit."`
	Weight float64 `json:"weight,omitempty" doc:"With explain."`
	Share  float64 `json:"share,omitempty" doc:"With explain: of the tool's score."`
}

// Search finds tools by what they do. If the embedding model fails, it searches
// without vectors; an error is due to the request or to ctx, as an
// [*tools.Error].
func (r *Registry) Search(ctx context.Context, q SearchRequest) (*Found, error) {
	began := r.opts.Now()
	c := q.Catalog
	if c == nil {
		c = r.Current()
	}
	notices, err := q.check()
	if err != nil {
		return nil, err
	}
	found, err := r.search(ctx, c, q)
	if err != nil {
		return nil, err
	}
	found.Notices = append(found.Notices, notices...)
	r.recordSearch(q, found, began)
	return found, nil
}

// check completes and validates the request.
func (q *SearchRequest) check() (notices []string, err error) {
	bad := func(format string, args ...any) error {
		return tools.NewError(errcode.InvalidArguments, fmt.Sprintf(format, args...), "")
	}
	switch {
	case strings.TrimSpace(q.Query) == "":
		return nil, bad("query is empty: say what the tool should do, or %q for a list of all", ListAll)
	case len(q.Query) > MaxQuery:
		return nil, bad("query has %d bytes; the limit is %d", len(q.Query), MaxQuery)
	case len(q.Keywords) > MaxKeywords:
		return nil, bad("there are %d keywords; the limit is %d", len(q.Keywords), MaxKeywords)
	case q.Limit < 0:
		return nil, bad("limit is %d; it is at least 1", q.Limit)
	case q.Offset < 0 || q.Offset > MaxOffset:
		return nil, bad("offset is %d; it is from 0 to %d", q.Offset, MaxOffset)
	case q.MinScore < 0 || q.MinScore > 1:
		return nil, bad("min_score is %v; it is from 0 to 1", q.MinScore)
	case q.Limit == 0:
		q.Limit = DefaultLimit
	case q.Limit > MaxLimit:
		notices = append(notices,
			fmt.Sprintf("limit %d was lowered to %d, the most that a search returns", q.Limit, MaxLimit))
		q.Limit = MaxLimit
	}
	return notices, nil
}

// search ranks the tools of c.
func (r *Registry) search(ctx context.Context, c *Catalog, q SearchRequest) (*Found, error) {
	query, ix, mode, notice, err := r.prepare(ctx, c, q)
	model, _, _ := r.model(c, q.EmbeddingModel)
	if err != nil {
		return nil, err
	}
	found := c.found(q, mode, notice, ix.words.Search(query))
	found.Degraded = mode == ModeLexical && model != nil
	return found, nil
}

// prepare returns the index and the query, with its vector if available.
func (r *Registry) prepare(ctx context.Context, c *Catalog,
	q SearchRequest,
) (query search.Query, ix *index, mode, notice string, err error) {
	model, mode, notice := r.model(c, q.EmbeddingModel)
	if ix, err = r.indexes.get(ctx, c, c.View(q.Scope)); err != nil {
		return query, nil, "", "", err
	}
	query = search.Query{
		Text: strings.TrimSpace(q.Query), Keywords: q.Keywords, Limit: q.Limit, Offset: q.Offset, MinScore: q.MinScore,
		Explain: q.Explain,
		Only:    c.only(q.Scope),
	}
	if query.Text == ListAll {
		return query, ix, mode, notice, nil
	}
	var texts [][]float32 // vectors of the query, if there is a model
	if mode != ModeLexical {
		query.Vector, texts, err = r.indexes.vector(ctx, c, ix, model, query.Text,
			cmp.Or(q.Wait, c.EmbeddingTimeout, DefaultEmbeddingTimeout))
	}
	if ctx.Err() != nil {
		return query, nil, "", "", left(ctx)
	}
	if !q.Unlearned {
		query.Learned = r.learned.support(ctx, c, model, texts, query.Text, q.Scope)
	}
	switch {
	case errors.Is(err, errComputing):
		mode, notice = ModeLexical, "the vectors of the tools are still being computed; this search used keywords only"
	case err != nil:
		mode, notice = ModeLexical, "the embedding model could not be reached; this search used keywords only"
	}
	return query, ix, mode, notice, nil
}

// left is the error of a search whose caller disconnected.
func left(ctx context.Context) error {
	return &tools.Error{Code: errcode.Cancelled, Message: "the search was cancelled", Cause: context.Cause(ctx)}
}

// model returns the embedding model; without one, the mode is lexical and the
// notice has the reason.
func (r *Registry) model(c *Catalog, named string) (m embeddings.Model, mode, notice string) {
	if named == "" {
		named = c.EmbeddingModel
	}
	if c.Embeddings == nil {
		return nil, ModeLexical, ""
	}
	m, err := c.Embeddings.Resolve(named)
	if err != nil {
		return nil, ModeLexical, err.Error()
	}
	return m, ModeHybrid, ""
}

// only filters the tools of a view that the scope shows and that are available at the
// moment; nil if all are.
func (c *Catalog) only(scope tools.Scope) func(int) bool {
	away := c.away(scope)
	if away == nil && scope.Visible == nil {
		return nil
	}
	return func(i int) bool {
		name := c.entries[i].def.Name
		return (scope.Visible == nil || scope.Visible(name)) && !away[name]
	}
}

// found builds the response.
func (c *Catalog) found(q SearchRequest, mode, notice string, answer search.Answer) *Found {
	f := &Found{
		Query: q.Query, Keywords: q.Keywords, SearchMode: mode, Tools: make([]FoundTool, len(answer.Hits)),
		NoGoodMatch: answer.NoGoodMatch, Fallback: answer.Fallback,
	}
	if f.Keywords == nil {
		f.Keywords = []string{}
	}
	if notice != "" {
		f.Notices = []string{notice}
	}
	if strings.TrimSpace(q.Query) == ListAll {
		f.Total = answer.Total
	}
	if q.Explain {
		f.Confidence, f.Total = answer.Confidence, answer.Total
	}
	for i, h := range answer.Hits {
		def := c.entries[h.Doc].def
		t := FoundTool{
			ToolID: def.Name, Description: def.Text(), Parameters: def.Parameters, Score: h.Score,
			MatchedTerms: h.MatchedTerms, MatchSources: make([]MatchSource, len(h.Sources)), Definition: def,
		}
		if t.MatchedTerms == nil {
			t.MatchedTerms = []string{}
		}
		for j, s := range h.Sources {
			t.MatchSources[j] = MatchSource{Source: s.Source, Rank: s.Rank, Score: s.Score}
			if q.Explain {
				t.MatchSources[j].Weight, t.MatchSources[j].Share = s.Weight, s.Share
			}
		}
		f.Tools[i] = t
	}
	return f
}

func (r *Registry) recordSearch(q SearchRequest, f *Found, began time.Time) {
	took := r.opts.Now().Sub(began)
	if r.opts.Metrics != nil {
		r.opts.Metrics.ToolSearch(f.SearchMode, f.NoGoodMatch, took)
	}
	if r.opts.Usage == nil || q.Explain {
		return // explanations are not recorded as searches
	}
	names := make([]string, len(f.Tools))
	for i, t := range f.Tools {
		names[i] = t.ToolID
	}
	r.opts.Usage.Search(usage.Search{
		ID: r.callID(), At: began, Query: q.Query, Mode: f.SearchMode, Surface: string(q.Scope.Protocol),
		Caller:    q.Scope.Agent,
		SessionID: q.Scope.SessionID, Tools: names, NoGoodMatch: f.NoGoodMatch, Latency: took,
		Holder: r.holder(q.Scope.Caller), RequestID: q.Scope.RequestID, Principal: q.Scope.Principal, User: q.Scope.UserID,
		Space:    q.Scope.SpaceID,
		Unpaired: q.Scope.Protocol == caller.Preselect, // the words are the user's, who did not search
	})
}
