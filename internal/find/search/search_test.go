package search_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/search"
)

func tool(name, description, parameters string) search.Document {
	return search.Document{Name: name, Description: description, Parameters: json.RawMessage(parameters)}
}

var shop = []search.Document{
	tool("sql", "Execute SQL queries on the runtime.", `{"type":"object","properties":{"query":{"type":"string"}}}`),
	tool("get_readiness", "Status of each component of the runtime.", ``),
	tool("weather", "Tells if it rains.", `{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["celsius","kelvin"]}}}`),
	tool("forecastOutlooks", "Long-range conditions.", `null`),
	tool("sendEmail", "Sends a mail to somebody.", `{"type":"object","properties":{"message":{"type":"object","properties":{"recipient":{"type":"string"}}}}}`),
	tool("list_users", "Lists the users of the shop.", `{}`),
	tool("查询天气", "获取城市的当前天气。", `{}`),
	tool("now", "The time.", `{}`),
}

func index(docs []search.Document) *search.Index {
	return search.New(analyse(docs), search.Default())
}

func find(ix *search.Index, q search.Query) search.Answer {
	q.Limit = max(q.Limit, 5)
	q.Explain = true
	q.Vector = ix.NGrams(q.Text)
	return ix.Search(q)
}

func names(a search.Answer) []string {
	var out []string
	for _, h := range a.Hits {
		out = append(out, h.Name)
	}
	return out
}

func TestFindsFirst(t *testing.T) {
	ix := index(shop)
	for _, c := range []struct {
		about, query string
		keywords     []string
		want, source string
	}{
		{"words of the description", "run a SQL query", nil, "sql", search.FullText},
		{"a keyword is a phrase of the name", "component state", []string{"get readiness"}, "get_readiness", search.Keyword},
		{"a parameter", "tool with city argument", nil, "weather", search.Schema},
		{"a value that a parameter may have", "how many kelvins", nil, "weather", search.Schema},
		{"a nested parameter", "recipients", nil, "sendEmail", search.Schema},
		{"part of a compound, by n-grams", "outlookless", nil, "forecastOutlooks", search.Vectors},
		{"a synonym", "deliver a note by email", nil, "sendEmail", search.FullText},
		{"an inflected word", "listing every user", nil, "list_users", search.FullText},
		{"a compound written apart", "forecast outlooks", nil, "forecastOutlooks", search.Keyword},
		{"Chinese", "今天的天气怎么样", nil, "查询天气", search.FullText},
		{"full-width letters and accents", "ｒｅａｄｉｎéss", nil, "get_readiness", search.FullText},
	} {
		t.Run(c.about, func(t *testing.T) {
			a := find(ix, search.Query{Text: c.query, Keywords: c.keywords})
			if len(a.Hits) == 0 || a.Hits[0].Name != c.want || a.Hits[0].Score != 1 {
				t.Fatalf("%q found %v, want %q first", c.query, a.Hits, c.want)
			}
			if !slices.ContainsFunc(a.Hits[0].Sources, func(s search.Source) bool { return s.Source == c.source }) {
				t.Errorf("%q found %q by %v, want %s among them", c.query, c.want, a.Hits[0].Sources, c.source)
			}
		})
	}
}

func TestNameComesFirst(t *testing.T) {
	docs := append(slices.Clone(shop),
		tool("get", "Get get get users get", ``), tool("get_users", "Get the users: get_user, getUser, GET-USERS", ``),
		tool("getUsers", "", ``), tool("GetUsers", "", ``), tool("who", "", ``), tool("about-all", "", ``), tool("!", "", ``), tool(strings.Repeat("x", 99), "", ``))
	ix := index(docs)
	for query, want := range map[string]string{
		"get": "get", "get_users": "get_users", "getUsers": "getUsers", "GetUsers": "GetUsers",
		"GET_USERS": "get_users", " sql\n": "sql", "SQL": "sql", "List Users": "list_users", "send-email": "sendEmail",
		"who": "who", "now": "now", "about all": "about-all", "查询天气": "查询天气",
		"!": "!", strings.Repeat("X", 99): strings.Repeat("x", 99),
	} {
		a := find(ix, search.Query{Text: query})
		if len(a.Hits) == 0 || a.Hits[0].Name != want || a.Hits[0].Sources[0].Rank != 1 {
			t.Errorf("%q found %v, want %q first", query, a.Hits, want)
		}
	}
	lexical := ix.Search(search.Query{Text: "who", Limit: 1, Only: func(doc int) bool { return docs[doc].Name != "who" }})
	if len(lexical.Hits) > 0 && lexical.Hits[0].Name == "who" {
		t.Error("a refused document came first by its name")
	}
}

func TestListAll(t *testing.T) {
	ix := index(shop)
	a := ix.Search(search.Query{Text: " * ", Limit: 3})
	if diff := cmp.Diff([]string{"forecastOutlooks", "get_readiness", "list_users"}, names(a)); diff != "" || a.Total != len(shop) {
		t.Errorf("total %d, names differ: %s", a.Total, diff)
	}
	a = ix.Search(search.Query{Text: "*", Limit: 9, Only: func(doc int) bool { return doc == 0 }})
	if len(a.Hits) != 1 || a.Total != 1 || a.NoGoodMatch {
		t.Errorf("one document allowed, got %+v", a)
	}
}

func TestNothingMatches(t *testing.T) {
	for _, text := range []string{"", " ", "!?", "🙂", "qqqqzzzz", "the of and", "\xff\xfe"} {
		a := find(index(shop), search.Query{Text: text})
		if len(a.Hits) != 0 || a.Total != 0 || !a.NoGoodMatch || a.Fallback {
			t.Errorf("%q: got %+v, want an empty answer with a note", text, a)
		}
	}
	if a := index(nil).Search(search.Query{Text: "sql", Limit: 5}); len(a.Hits) != 0 || !a.NoGoodMatch {
		t.Errorf("an empty index found %+v", a)
	}
}

func TestConfidence(t *testing.T) {
	ix := index(shop)
	good := find(ix, search.Query{Text: "execute SQL queries"})
	bad := find(ix, search.Query{Text: "somebody repairs violins, harpsichords, clarinets, trombones, banjos, oboes, organs, lutes"})
	if good.NoGoodMatch || good.Confidence < .5 {
		t.Errorf("a good match is called none: %+v", good)
	}
	if len(bad.Hits) == 0 || bad.Confidence >= good.Confidence/2 {
		t.Errorf("confidence %v for one common word of nine, %v for a good match", bad.Confidence, good.Confidence)
	}
}

func TestMinScore(t *testing.T) {
	ix := index(shop)
	all := find(ix, search.Query{Text: "list the users of the runtime"})
	if len(all.Hits) < 3 {
		t.Fatalf("only %d hits", len(all.Hits))
	}
	cut := find(ix, search.Query{Text: "list the users of the runtime", MinScore: all.Hits[1].Score})
	if diff := cmp.Diff(all.Hits[:2], cut.Hits); diff != "" || cut.Total != all.Total || cut.Fallback {
		t.Errorf("cut at the second hit's score: %s", diff)
	}
	none := find(ix, search.Query{Text: "list the users of the runtime", MinScore: 1.1})
	if len(none.Hits) != 1 || !none.Fallback || none.Hits[0].Name != all.Hits[0].Name {
		t.Errorf("a cut that leaves nothing gave %+v", none)
	}
}

func TestMatchedTerms(t *testing.T) {
	a := find(index(shop), search.Query{Text: "Listing users, users, please: the shops", Keywords: []string{"list users"}})
	if diff := cmp.Diff([]string{"list users", "listing", "shops", "users"}, a.Hits[0].MatchedTerms); diff != "" {
		t.Error(diff)
	}
}

// catalogue generates documents whose words overlap, and queries for them.
func catalogue(seed uint64) (docs []search.Document, queries []string) {
	rnd := rand.New(rand.NewPCG(seed, seed))
	list := strings.Fields("user file mail order weather stock price city train music send get list create delete update of the please report daily")
	text := func(n int) string {
		var out []string
		for range n {
			out = append(out, list[rnd.IntN(len(list))])
		}
		return strings.Join(out, " ")
	}
	for i := range 40 {
		docs = append(docs, tool(fmt.Sprintf("%s_%d", strings.ReplaceAll(text(2), " ", "_"), i), text(1+rnd.IntN(12)),
			fmt.Sprintf(`{"properties":{%q:{"description":%q}}}`, text(1), text(4))))
	}
	for range 10 {
		queries = append(queries, text(1+rnd.IntN(8)), text(4)+", and then "+text(5))
	}
	return docs, queries
}

func TestSharesAddUpToTheScore(t *testing.T) {
	docs, queries := catalogue(1)
	ix := index(docs)
	for _, query := range append(queries, docs[3].Name) {
		a := find(ix, search.Query{Text: query, Limit: 40, Keywords: []string{"user file"}})
		for i, h := range a.Hits {
			sum := 0.0
			for _, s := range h.Sources {
				sum += s.Share
			}
			if math.Abs(sum-h.Score) > 1e-9 || h.Score > 1 || h.Score < 0 || i > 0 && h.Score > a.Hits[i-1].Score {
				t.Errorf("%q, hit %d: the shares of %v add up to %v, the score is %v", query, i, h.Sources, sum, h.Score)
			}
		}
	}
	plain := ix.Search(search.Query{Text: queries[0], Limit: 1})
	if s := plain.Hits[0].Sources[0]; s.Weight != 0 || s.Share != 0 || s.Score == 0 {
		t.Errorf("without Explain a source is %+v", s)
	}
}

func TestOrderOfDocumentsIsFree(t *testing.T) {
	docs, queries := catalogue(2)
	shuffled := slices.Clone(docs)
	rand.New(rand.NewPCG(5, 5)).Shuffle(len(docs), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
	one, two := index(docs), index(shuffled)
	for _, query := range queries {
		a, b := find(one, search.Query{Text: query, Limit: 40}), find(two, search.Query{Text: query, Limit: 40})
		for i := range a.Hits {
			a.Hits[i].Doc, b.Hits[i].Doc = 0, 0
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("%q: %s", query, diff)
		}
	}
}

func TestOnlyHidesCompletely(t *testing.T) {
	docs, queries := catalogue(3)
	ix := index(docs)
	even := func(doc int) bool { return doc%2 == 0 }
	for _, query := range append(queries, docs[1].Name) {
		a := find(ix, search.Query{Text: query, Limit: 40, Only: even})
		ranks := map[string][]int{}
		for _, h := range a.Hits {
			if !even(h.Doc) {
				t.Fatalf("%q found the refused %q", query, h.Name)
			}
			for _, s := range h.Sources {
				ranks[s.Source] = append(ranks[s.Source], s.Rank)
			}
		}
		for source, list := range ranks {
			slices.Sort(list)
			if list[len(list)-1] != len(list) {
				t.Errorf("%q: the ranks of %s have gaps: %v", query, source, list)
			}
		}
		if a.Total != len(a.Hits) {
			t.Errorf("%q: total %d, %d hits", query, a.Total, len(a.Hits))
		}
	}
}

func TestWhyAgreesWithSearch(t *testing.T) {
	docs, queries := catalogue(4)
	ix := index(docs)
	for _, text := range append(queries[:6], docs[7].Name) {
		q := search.Query{Text: text, Limit: 3, MinScore: .3, Explain: true, Vector: ix.NGrams(text)}
		hits := ix.Search(q).Hits
		for doc := range docs {
			why := ix.Why(q, doc)
			at := slices.IndexFunc(hits, func(h search.Hit) bool { return h.Doc == doc })
			if (why.Cut == "") != (at >= 0) {
				t.Fatalf("%q: %q is at %d of the hits, and why says %+v", text, docs[doc].Name, at, why)
			}
			if at < 0 {
				continue
			}
			if why.Rank != at+1 || why.Score != hits[at].Score {
				t.Errorf("%q: hit %d is %+v, and why says %+v", text, at, hits[at], why)
			}
			for _, c := range why.Channels {
				s := slices.IndexFunc(hits[at].Sources, func(s search.Source) bool { return s.Source == c.Source })
				if s >= 0 && text != docs[doc].Name && (hits[at].Sources[s].Rank != c.Rank || hits[at].Sources[s].Score != c.Score || !c.Counts) {
					t.Errorf("%q: %q has source %+v, and why says %+v", text, docs[doc].Name, hits[at].Sources[s], c)
				}
			}
		}
	}
	q := search.Query{Text: "users", Limit: 3, Only: func(doc int) bool { return doc != 0 }}
	if got := ix.Why(q, 0); got.Cut != search.CutRefused || len(got.Channels) != 0 {
		t.Errorf("of a refused document why says %+v", got)
	}
	for _, doc := range []int{-1, len(docs)} {
		if got := ix.Why(q, doc); got.Cut != search.CutNoMatch {
			t.Errorf("of a document that is not there why says %+v", got)
		}
	}
}

func TestQueryIsBounded(t *testing.T) {
	ix := index(shop)
	long := "sql " + strings.Repeat("é", search.MaxQueryBytes)
	cut := find(ix, search.Query{Text: long + " weather"})
	if names(cut)[0] != "sql" || slices.Contains(names(cut), "weather") {
		t.Errorf("beyond the limit the query was read: %v", names(cut))
	}
	many := slices.Repeat([]string{"mail"}, search.MaxKeywords)
	if diff := cmp.Diff(find(ix, search.Query{Text: "sql", Keywords: many}), find(ix, search.Query{Text: "sql", Keywords: append(many, "weather")})); diff != "" {
		t.Error(diff)
	}
	if a := find(ix, search.Query{Text: "sql", Keywords: []string{strings.Repeat("x ", search.MaxKeywordBytes) + "weather"}}); slices.Contains(names(a),
		"weather") {
		t.Errorf("beyond the limit a keyword was read: %v", names(a))
	}
}

func TestKeywordsAddToTheQuery(t *testing.T) {
	ix := index(shop)
	a := find(ix, search.Query{Text: "execute SQL", Keywords: []string{"weather", "", "!!"}})
	if got := names(a); !slices.Contains(got, "sql") || !slices.Contains(got, "weather") {
		t.Errorf("found %v, want what the text asks for and what the keyword does", got)
	}
}

func TestSearchesRunAtTheSameTime(t *testing.T) {
	docs, queries := catalogue(6)
	ix := index(docs)
	want := make([]search.Answer, len(queries))
	for i, query := range queries {
		want[i] = find(ix, search.Query{Text: query})
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i, query := range queries {
				if diff := cmp.Diff(want[i], find(ix, search.Query{Text: query})); diff != "" {
					t.Errorf("%q: %s", query, diff)
				}
			}
		})
	}
	wait.Wait()
}

// FuzzSearch uses any input as a document and as a query.
func FuzzSearch(f *testing.F) {
	f.Add("get_users", "Lists users.", `{"properties":{"a":{"enum":["b"]}}}`, "users, and then files", "get users")
	f.Add("获取", "ﬁle\x00ÅＡ１", `[{"properties":1}]`, "*", "")
	f.Add("aB1_-__c", "—", `{"allOf":[{"$defs":{"x":{"const":"y"}}}]}`, "a", "\xff")
	f.Fuzz(func(t *testing.T, name, description, schema, text, keyword string) {
		docs := append(slices.Clone(shop), tool(name, description, schema))
		ix := index(docs)
		q := search.Query{Text: text, Keywords: []string{keyword}, Limit: 20, Explain: true, Vector: ix.NGrams(text)}
		a := ix.Search(q)
		for _, h := range a.Hits {
			if math.IsNaN(h.Score) || h.Score < 0 || h.Score > 1 {
				t.Errorf("score %v", h.Score)
			}
		}
		if trimmed := strings.TrimSpace(name); trimmed != "" && trimmed != search.ListAll && len(name) <= search.MaxQueryBytes {
			named := ix.Search(search.Query{Text: name, Limit: 1})
			if len(named.Hits) == 0 || strings.TrimSpace(named.Hits[0].Name) != trimmed {
				t.Errorf("%q found %v first", name, named.Hits)
			}
		}
		ix.Why(q, len(docs)-1)
		search.Features(text)
	})
}

// A document is found by the words of when_to_use and of its examples, but behind one that has
// them in its name or description.
func TestUse(t *testing.T) {
	docs := []search.Document{
		tool("forecast", "Weather of a city.", `{}`), tool("shop", "Sells umbrellas.", `{}`), tool("other", "Else.", `{}`),
	}
	docs[0].WhenToUse, docs[0].Examples = "Somebody asks whether to take an umbrella.", []string{`{"city":"Reykjavik"}`}
	for query, want := range map[string][]string{"umbrella": {"shop", "forecast"}, "Reykjavik": {"forecast"}} {
		if got := names(find(index(docs), search.Query{Text: query})); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

// Texts of its use count half in the length of a document: they hardly move it behind one that is
// equal but for them.
func TestUseInLength(t *testing.T) {
	const bare, used, wordy = 0, 1, 2
	docs := []search.Document{
		tool("a", "Weather of a city.", `{}`), tool("b", "Weather of a city.", `{}`),
		tool("c", "Weather of a city. Somebody asks whether to take an umbrella.", `{}`),
	}
	docs[used].WhenToUse = "Somebody asks whether to take an umbrella."
	scores := map[int]float64{}
	for _, hit := range find(index(docs), search.Query{Text: "city weather"}).Hits {
		scores[hit.Doc] = hit.Sources[0].Score
	}
	lost := 1 - scores[used]/scores[bare]
	if all := 1 - scores[wordy]/scores[bare]; lost <= 0 || lost > all/8 {
		t.Errorf("when_to_use costs %.4f of the score, the same words in the description %.4f", lost, all)
	}
}
