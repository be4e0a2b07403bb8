package search

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/find/words"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Limits of one query; what exceeds them is ignored.
const (
	MaxQueryBytes   = 16 << 10
	MaxKeywords     = 64
	MaxKeywordBytes = 1 << 10

	maxParts  = 8 // of a request of many parts
	partWords = 4 // that say something; shorter parts belong to the one before
)

// Query is one search.
type Query struct {
	Text     string   // "*": list all by name
	Keywords []string // phrases to search for in addition to the text
	Limit    int      // maximum number of hits, above 0
	Offset   int      // hits to skip
	MinScore float64  // 0 to 1: excludes hits with a lower score
	// Only reports which documents may match; others take no rank and are not
	// counted. It must be deterministic; nil: all.
	Only func(doc int) bool
	// Vector compares the documents with the query; nil: no vector channel. The texts to
	// embed are those of [Texts].
	Vector Vector
	// Learned are documents that past queries support, with scores above 0 and at most 1, in any
	// order; each at most once.
	Learned []Scored
	Explain bool // return the weights and shares of the sources
}

// want is one word of a query, which a document can match in several ways.
type want struct {
	text   string // as in the query
	weight float32
	joined bool // a compound or a pair
	ways   []way
}

// way is a term that matches a word of the query.
type way struct {
	term   int32
	factor float32 // 1: the word itself
}

// plan is a query prepared for the lexical channels.
type plan struct {
	whole   []want
	parts   [][]want // two or more, or none
	phrases []string
}

func (ix *Index) plan(q Query) plan {
	text := truncate.Bytes(q.Text, MaxQueryBytes)
	w := wanter{ix: ix, seen: map[string]int{}}
	w.add(words.Split(text))
	p := plan{}
	for _, keyword := range q.Keywords[:min(len(q.Keywords), MaxKeywords)] {
		list := words.Split(truncate.Bytes(keyword, MaxKeywordBytes))
		w.add(list)
		if len(list) > 0 {
			p.phrases = append(p.phrases, phrase(list))
		}
	}
	p.whole = w.out
	if ix.settings.Rules.Segments > 0 {
		for _, part := range parts(text) {
			w := wanter{ix: ix, seen: map[string]int{}}
			w.add(words.Split(part))
			p.parts = append(p.parts, w.out)
		}
	}
	return p
}

// phrase returns words as in the text of an [Analysis].
func phrase(list []words.Word) string {
	var b strings.Builder
	for _, w := range list {
		b.WriteByte(' ')
		b.WriteString(w.Text)
	}
	b.WriteByte(' ')
	return b.String()
}

// wanter collects the words of a query, each stem once.
type wanter struct {
	ix   *Index
	out  []want
	seen map[string]int
}

func (w *wanter) add(list []words.Word) {
	all := onlyStopWords(list)
	before := ""
	for _, word := range list {
		if word.Parts > 2 {
			w.want(want{text: word.Compound, weight: 1, joined: true}, words.Stem(word.Compound))
		}
		if words.Stop(word.Text) && !all {
			continue
		}
		s := words.Stem(word.Text)
		weight := w.ix.weight(word.Text)
		w.want(want{text: word.Text, weight: weight}, s, synonyms[s]...)
		if before != "" {
			w.want(want{text: before + word.Text, weight: weight, joined: true}, pairOf(before, word.Text))
		}
		before = s
	}
}

func (w *wanter) want(one want, stem string, others ...string) {
	key := stem
	if one.joined {
		key = " " + stem
	}
	if _, known := w.seen[key]; known {
		return
	}
	w.seen[key] = len(w.out)
	for i, s := range append([]string{stem}, others...) {
		factor := float32(1)
		if i > 0 {
			factor = float32(w.ix.settings.Rules.Synonyms)
		}
		if id, known := w.ix.term(words.Hash(s)); known && factor > 0 {
			one.ways = append(one.ways, way{id, factor})
		}
	}
	w.out = append(w.out, one)
}

// weight returns the weight of a word in a query.
func (ix *Index) weight(text string) float32 {
	switch {
	case chatter[text]:
		return float32(ix.settings.Rules.Chatter)
	case text[0] >= '0' && text[0] <= '9':
		return float32(ix.settings.Rules.Numbers)
	}
	return 1
}

func onlyStopWords(list []words.Word) bool {
	for _, w := range list {
		if !words.Stop(w.Text) {
			return false
		}
	}
	return true
}

// Texts returns the texts whose vectors a query has: the whole, and the parts of a request
// of several.
func Texts(query string) []string {
	query = truncate.Bytes(query, MaxQueryBytes)
	return append([]string{query}, parts(query)...)
}

// parts splits a request into its parts: sentences, clauses between commas, and what
// "and" and "then" connect. A text of one part has none.
func parts(text string) []string {
	var out []string
	for _, piece := range cutClauses(text) {
		switch {
		case meaningful(piece) >= partWords && len(out) < maxParts:
			out = append(out, piece)
		case len(out) > 0:
			out[len(out)-1] += " " + piece
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// meaningful counts the meaningful words of a text.
func meaningful(text string) int {
	n := 0
	for _, w := range words.Split(text) {
		if !words.Stop(w.Text) && !chatter[w.Text] {
			n++
		}
	}
	return n
}

var conjunctions = []string{" and ", " then "}

func cutClauses(text string) []string {
	var out []string
	from := 0
	for i := 0; i < len(text); i++ {
		next := i
		switch text[i] {
		case '\n', ';':
			next = i + 1
		case '.', '?', '!', ',':
			if strings.HasPrefix(text[i+1:], " ") {
				next = i + 1
			}
		case ' ':
			for _, c := range conjunctions {
				if strings.HasPrefix(text[i:], c) {
					next = i + len(c) - 1
				}
			}
		}
		if next > i {
			out = append(out, text[from:i])
			from, i = next, next-1
		}
	}
	return append(out, text[from:])
}

// pairOf returns the term of two adjacent words, the first one a stem. It is the same
// term as the word that they form when joined (data base, dataBase, database).
func pairOf(before, text string) string { return words.Stem(before + text) }
