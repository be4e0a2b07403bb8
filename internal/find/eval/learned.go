package eval

import (
	"context"
	"hash/fnv"
	"slices"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/learn"
	"github.com/spiced-sql/spiced/internal/find/search"
)

// Halves splits the queries in two by a hash of their texts, so that equal ones are in one half.
// It returns a set with the queries of one half, and the same with the other half as its log.
func (s *Set) Halves() (asked, learned *Set) {
	asked = &Set{Name: s.Name, Tools: s.Tools, Model: s.Model}
	learned = &Set{Name: s.Name, Tools: s.Tools, Model: s.Model}
	for _, q := range s.Queries {
		h := fnv.New32a()
		h.Write([]byte(q.Text))
		if h.Sum32()%2 == 0 {
			learned.Log = append(learned.Log, q)
		} else {
			asked.Queries = append(asked.Queries, q)
		}
	}
	learned.Queries = asked.Queries
	return asked, learned
}

// learned returns what the log supports for each query.
func (s *Set) learned(ctx context.Context, o Options, queries []Query) (func(i int) []search.Scored, error) {
	if len(s.Log) == 0 {
		return func(int) []search.Scored { return nil }, nil
	}
	model := o.Model
	if s.Model != nil {
		model = s.Model
	}
	if model == nil {
		model = embeddings.Words()
	}
	past, err := embedQueries(ctx, model, s.Log, func(q string) []string { return []string{q} })
	if err != nil {
		return nil, err
	}
	numbers := map[string]int{}
	for i, t := range s.Tools {
		numbers[t.Name] = i
	}
	var pairs []learn.Pair
	for i, q := range s.Log {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(q.Relevant))) {
			pairs = append(pairs, learn.Pair{Tool: name, Vector: past[i][0], Calls: 1})
		}
	}
	memory := learn.New(pairs)
	now, err := embedQueries(ctx, model, queries, search.Texts)
	return func(i int) (out []search.Scored) {
		for _, t := range memory.Support(learn.Caller{}, now[i]) {
			out = append(out, search.Scored{Doc: numbers[t.Tool], Score: t.Score})
		}
		return out
	}, err
}

// embedQueries returns the vectors of the texts of each query.
func embedQueries(ctx context.Context, model embeddings.Model, queries []Query,
	of func(string) []string,
) ([][][]float32, error) {
	var texts []string
	counts := make([]int, len(queries))
	for i, q := range queries {
		list := of(q.Text)
		texts, counts[i] = append(texts, list...), len(list)
	}
	rows, err := model.Embed(ctx, texts)
	if err == nil && len(texts) > 0 {
		err = counted(rows, len(texts))
	}
	if err != nil {
		return nil, err
	}
	out := make([][][]float32, len(queries))
	for i, n := range counts {
		out[i], rows = rows[:n], rows[n:]
	}
	return out, nil
}
