package search

import (
	"cmp"
	"sync"

	"github.com/spiced-sql/spiced/spicepod"
)

// Settings are the parameters of a search.
type Settings struct {
	K     float64 // the constant of the rank fusion: the smaller, the more the first ranks count
	Depth int     // ranks of a channel that count

	// Weights of the channels. The n-grams are the vector channel of a query without the
	// vectors of a model, see [Index.NGrams].
	FullText, Vector, Agreement, Learned, NGrams, Keyword, Schema float64

	// NoGoodMatch is the Confidence below which [Answer].NoGoodMatch is set; 0:
	// confidence is not computed, and only an empty answer sets it.
	NoGoodMatch float64

	Rules Rules
}

// Rules are parameters of the channels' scores. They are round numbers on purpose: they
// lie on a plateau, see internal/find/eval/MEASURED.md.
type Rules struct {
	Coverage     float64 // exponent of the share of the query that a document covers, multiplied with the score
	NameCoverage float64 // gain of a document whose whole name is in the query
	Pairs        float64 // weight of two adjacent words, relative to one word
	Synonyms     float64 // weight of a synonym, relative to the word
	Chatter      float64 // weight of a conversational word, relative to others
	Numbers      float64 // weight of a number in the query, relative to a word
	Segments     float64 // weight of the best part of a multi-part request, relative to the whole
}

// noGoodMatch is the calibrated value of [Settings.NoGoodMatch].
const noGoodMatch = .12

// Of returns the settings of `runtime.tools.search`, which has the weights of the channels.
func Of(s spicepod.ToolSearch) Settings {
	return Settings{
		K: s.K, Depth: s.Depth,
		FullText: s.FullText, Vector: s.Vector, Agreement: s.Agreement, Learned: s.Learned, NGrams: s.NGrams,
		Keyword: s.Keyword, Schema: s.Schema,
		NoGoodMatch: cmp.Or(s.NoGoodMatch, noGoodMatch),
		Rules: Rules{
			Coverage: 1, NameCoverage: .5, Pairs: 1,
			Synonyms: .4, Chatter: .6, Numbers: .5, Segments: .25,
		},
	}
}

var defaults = sync.OnceValue(func() Settings { return Of(spicepod.Defaults[spicepod.ToolSearch]()) })

// Default returns the settings of a Spicepod that has none, which internal/find/eval/MEASURED.md measures.
func Default() Settings { return defaults() }
