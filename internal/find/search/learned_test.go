package search_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/search"
)

// learning is a query for what two tools of the shop say, get_readiness more than sql.
func learning(ix *search.Index, learned ...search.Scored) search.Answer {
	return find(ix, search.Query{Text: "status of a component: its SQL", Limit: len(shop), Learned: learned})
}

func sourceOf(h search.Hit, channel string) *search.Source {
	if i := slices.IndexFunc(h.Sources, func(s search.Source) bool { return s.Source == channel }); i >= 0 {
		return &h.Sources[i]
	}
	return nil
}

func TestLearned(t *testing.T) {
	ix := index(shop)
	before := learning(ix)
	if got := names(before)[:2]; !slices.Equal(got, []string{"get_readiness", "sql"}) {
		t.Fatalf("before: %q", got)
	}
	const sql, users, now = 0, 5, 7
	after := learning(ix, search.Scored{Doc: sql, Score: .9})
	if names(after)[0] != "sql" {
		t.Errorf("sql was called after such queries, and got %q", names(after))
	}
	s := sourceOf(after.Hits[0], search.Learned)
	if s == nil || s.Rank != 1 || s.Score != .9 || s.Weight != search.Default().Learned || s.Share <= 0 {
		t.Errorf("source: %+v", s)
	}
	if a := learning(ix, search.Scored{Doc: sql, Score: .05}); names(a)[0] != "get_readiness" || sourceOf(a.Hits[1], search.Learned) != nil {
		t.Errorf("a past query that is less near than the text of the tool counts: %+v", a.Hits)
	}
	// No word and no n-gram of "now" is in the query.
	a := learning(ix, search.Scored{Doc: now, Score: 1})
	if last := names(a)[len(a.Hits)-1]; last != "now" || len(a.Hits) != len(before.Hits)+1 {
		t.Errorf("what nothing supports comes last: %q", names(a))
	}
	if a.Confidence != before.Confidence || a.NoGoodMatch != before.NoGoodMatch {
		t.Errorf("confidence %v, before %v", a.Confidence, before.Confidence)
	}
	only := find(ix, search.Query{
		Text: "status of the runtime", Learned: []search.Scored{{Doc: users, Score: 1}},
		Only: func(doc int) bool { return doc != users },
	})
	if slices.Contains(names(only), "list_users") {
		t.Errorf("a hidden document is found: %q", names(only))
	}
	ofAName := find(ix, search.Query{Text: "sql", Learned: []search.Scored{{Doc: users, Score: 1}, {Doc: 1, Score: 1}}})
	if names(ofAName)[0] != "sql" {
		t.Errorf("the name of a tool found %q", names(ofAName))
	}
}

// TestLearnedIsBounded makes up support for any tools: none gets ahead of one that words and
// vectors support more than twice as much, and what neither supports stays behind what both do.
func TestLearnedIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	ix := index(shop)
	queries := []string{
		"list users", "rain and mail", "the time", "execute the runtime", "send mail to users of the shop", "城市的天气", "zzz",
	}
	for range 500 {
		q := search.Query{Text: queries[random.IntN(len(queries))], Limit: len(shop)}
		own := map[string]float64{}
		for _, h := range find(ix, q).Hits {
			own[h.Name] = h.Score
		}
		for doc := range shop {
			if random.IntN(3) == 0 {
				q.Learned = append(q.Learned, search.Scored{Doc: doc, Score: random.Float64()})
			}
		}
		a := find(ix, q)
		both := func(h search.Hit) bool {
			return sourceOf(h, search.FullText) != nil && sourceOf(h, search.Vectors) != nil
		}
		neither := func(h search.Hit) bool {
			return sourceOf(h, search.FullText) == nil && sourceOf(h, search.Vectors) == nil
		}
		for i, first := range a.Hits {
			for _, second := range a.Hits[i+1:] {
				if own[second.Name] > 2*own[first.Name]+.002 { // scores have three decimals
					t.Fatalf("%q with %v: %s (%.3f without it) is before %s (%.3f)", q.Text, q.Learned, first.Name, own[first.Name], second.Name, own[second.Name])
				}
				if neither(first) && both(second) && first.Score > second.Score {
					t.Fatalf("%q with %v: %s is before %s", q.Text, q.Learned, first.Name, second.Name)
				}
			}
		}
	}
}

func TestWhyLearned(t *testing.T) {
	ix := index(shop)
	q := search.Query{Text: "status of the runtime", Limit: 5, Vector: ix.NGrams("status of the runtime"), Learned: []search.Scored{{Doc: 0, Score: .9}}}
	why := ix.Why(q, 0)
	i := slices.IndexFunc(why.Channels, func(c search.WhyChannel) bool { return c.Source == search.Learned })
	if i < 0 || why.Channels[i].Rank != 1 || why.Channels[i].Score != .9 || !why.Channels[i].Counts || why.Channels[i].Share <= 0 {
		t.Errorf("got %+v", why.Channels)
	}
	var shares float64
	for _, c := range why.Channels {
		shares += c.Share
	}
	if d := shares - why.Score; d > .002 || d < -.002 {
		t.Errorf("shares sum up to %v, the score is %v", shares, why.Score)
	}
}
