package search

import "cmp"

// Why explains the rank of one document, whether or not it is a hit.
type Why struct {
	Rank     int          `json:"rank" doc:"Rank among all matches, from 1; 0 if no channel ranks the tool."`
	Score    float64      `json:"score"`
	Cut      Cut          `json:"cut,omitempty" doc:"Why the tool is not in the answer: refused, no_match, min_score or limit."`
	Channels []WhyChannel `json:"channels" nullable:"true"`
}

// WhyChannel is the rank of the document in one channel.
type WhyChannel struct {
	Source string  `json:"source"`
	Rank   int     `json:"rank" doc:"From 1; 0 if it does not match."`
	Score  float64 `json:"score"`
	Counts bool    `json:"counts" doc:"The rank is within the depth that counts."` // Settings.Depth
	Weight float64 `json:"weight"`
	Share  float64 `json:"share"` // in the document's score
}

// Cut is why a document is not a hit.
type Cut string

// The values of [Cut].
const (
	CutRefused  Cut = "refused"   // rejected by Only
	CutNoMatch  Cut = "no_match"  // no channel ranks it
	CutMinScore Cut = "min_score" // its score is below MinScore
	CutLimit    Cut = "limit"     // others rank higher
)

// Why explains the rank of a document in the answer to a query. For a document that
// Only rejects, only Cut is set.
func (ix *Index) Why(q Query, doc int) Why {
	if doc < 0 || doc >= len(ix.docs) || !ix.shows(doc) {
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

// find returns a document among all matches.
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
		better := cmp.Or(cmp.Compare(score, scores[doc]), cmp.Compare(ix.rankByName[doc], ix.rankByName[other])) > 0
		if better && ix.shows(other) && (only == nil || only(other)) {
			rank++
		}
	}
	return rank
}
