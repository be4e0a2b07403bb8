package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

// A search within visible documents is one of an index that has no others: hidden ones
// change no rank, no score, no total and no confidence.
func TestWithin(t *testing.T) {
	made, queries := madeTools(120)
	made = append(made,
		search.Document{Name: "to_of", Description: "Stop words in a name."},
		search.Document{Name: "of", Description: "Another one."},
		search.Document{Name: "To-Of", Description: "Convert from one unit to another.", Tags: []string{"units"}},
		search.Document{Name: "empty"},
	)
	queries = append(queries[:25:25], "*", "to of", "of", "unit conversion", "convert units, then send an email to the team and close the ticket", made[3].Name)
	full := search.New(analyse(made), search.Default())
	rnd := rand.New(rand.NewPCG(5, 6))
	for _, share := range []float64{0, .02, .3, .9, 1} {
		visible := bitmap.New(len(made))
		var docs []search.Document
		var numbers []int
		for i, d := range made {
			if rnd.Float64() < share {
				visible.Add(i)
				docs, numbers = append(docs, d), append(numbers, i)
			}
		}
		within, alone := full.Within(visible), search.New(analyse(docs), search.Default())
		if within.Len() != len(docs) {
			t.Fatalf("%d documents, want %d", within.Len(), len(docs))
		}
		for _, text := range queries {
			for _, q := range []search.Query{
				{Text: text, Limit: 5, Explain: true},
				{Text: text, Limit: 50, Offset: 1, Keywords: []string{"of", made[7].Name, "to of", docsWord(docs)}},
				{Text: text, Limit: 3, MinScore: .9},
			} {
				a, b := q, q
				a.Vector, b.Vector = within.NGrams(text), alone.NGrams(text)
				got, want := within.Search(a), alone.Search(b)
				for i := range want.Hits {
					want.Hits[i].Doc = numbers[want.Hits[i].Doc]
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%v visible, %+v:\n%s", share, q, diff)
				}
				for n, doc := range numbers[:min(len(numbers), 3)] {
					if diff := cmp.Diff(alone.Why(b, n), within.Why(a, doc)); diff != "" {
						t.Fatalf("%v visible, %+v: why of %d:\n%s", share, q, doc, diff)
					}
				}
			}
		}
		for doc := range made {
			if why := within.Why(search.Query{Text: made[doc].Name, Limit: 5}, doc); !visible.Has(doc) &&
				(why.Rank != 0 || why.Channels != nil || why.Cut != search.CutNoMatch) {
				t.Errorf("a hidden document is explained: %+v", why)
			}
		}
	}
}

func docsWord(docs []search.Document) string {
	if len(docs) == 0 {
		return "none"
	}
	return docs[len(docs)/2].Name
}

// All numbers within are the same whatever the hidden documents are.
func FuzzWithin(f *testing.F) {
	f.Add("send an email", "mail", "read a file", "email the file")
	f.Add("to of", "of", "of the", "to")
	f.Fuzz(func(t *testing.T, one, two, hidden, query string) {
		docs := []search.Document{{Name: "a", Description: one}, {Name: hidden, Description: hidden}, {Name: two, Description: two + " " + one}}
		visible := bitmap.New(3)
		visible.Add(0)
		visible.Add(2)
		within := search.New(analyse(docs), search.Default()).Within(visible)
		alone := search.New(analyse(slices.Delete(docs, 1, 2)), search.Default())
		ask := func(ix *search.Index) string {
			a := ix.Search(search.Query{Text: query, Limit: 9, Keywords: []string{query}, Vector: ix.NGrams(query), Explain: true})
			for i := range a.Hits {
				a.Hits[i].Doc = 0
			}
			return fmt.Sprintf("%+v", a)
		}
		if got, want := ask(within), ask(alone); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
