package search

import "cmp"

// Why explains what a query makes of one document, found or not.
type Why struct {
	// Rank among all that matched, from 1; 0: no channel ranks the document.
	Rank  int     `json:"rank"`
	Score float64 `json:"score"`
	// Cut is what keeps the document from the hits; empty: it is one.
	Cut      Cut          `json:"cut,omitempty"`
	Channels []WhyChannel `json:"channels"`
}

// WhyChannel says what one channel makes of the document.
type WhyChannel struct {
	Source string  `json:"source"`
	Rank   int     `json:"rank"` // from 1; 0: it does not match at all
	Score  float64 `json:"score"`
	Counts bool    `json:"counts"` // the rank is within the depth that counts
	Weight float64 `json:"weight"`
	Share  float64 `json:"share"` // of the document's score
}

// Cut is what keeps a document from the hits.
type Cut string

// The values of [Cut].
const (
	CutRefused  Cut = "refused"   // by Only
	CutNoMatch  Cut = "no_match"  // no channel ranks it
	CutMinScore Cut = "min_score" // its score is lower
	CutLimit    Cut = "limit"     // others are better
)

// Why explains a document's place in the answer to a query. A document that
// Only refuses is told nothing more.
func (ix *Index) Why(q Query, doc int) Why {
	if doc < 0 || doc >= len(ix.docs) {
		return Why{Cut: CutNoMatch}
	}
	if q.Only != nil && !q.Only(doc) {
		return Why{Cut: CutRefused}
	}
	found, at := ix.find(q, doc)
	why := Why{Channels: ix.whyChannels(q, doc)}
	if at < 0 {
		why.Cut = CutNoMatch
		return why
	}
	why.Rank, why.Score = at+1, found.Score
	for i := range why.Channels {
		for _, s := range found.Sources {
			if c := &why.Channels[i]; c.Source == s.Source {
				c.Share, c.Counts = s.Share, true
			}
		}
	}
	switch {
	case at > 0 && found.Score < q.MinScore:
		why.Cut = CutMinScore
	case at >= q.Limit:
		why.Cut = CutLimit
	}
	return why
}

// find looks a document up among all that matched.
func (ix *Index) find(q Query, doc int) (hit Hit, at int) {
	q.Limit, q.MinScore, q.Explain = len(ix.docs), 0, true
	for i, hit := range ix.Search(q).Hits {
		if hit.Doc == doc {
			return hit, i
		}
	}
	return Hit{}, -1
}

func (ix *Index) whyChannels(q Query, doc int) []WhyChannel {
	var out []WhyChannel
	ix.eachChannel(q, ix.plan(q), func(source string, weight float64, scores []float32) {
		c := WhyChannel{Source: source, Weight: weight, Score: round(float64(scores[doc]))}
		if scores[doc] > 0 {
			c.Rank = ix.rank(scores, q.Only, doc)
			c.Counts = c.Rank <= ix.settings.Depth
		}
		out = append(out, c)
	})
	return out
}

func (ix *Index) rank(scores []float32, only func(int) bool, doc int) int {
	rank := 1
	for other, score := range scores {
		better := cmp.Or(cmp.Compare(score, scores[doc]), cmp.Compare(ix.place[doc], ix.place[other])) > 0
		if better && (only == nil || only(other)) {
			rank++
		}
	}
	return rank
}
