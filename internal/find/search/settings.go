package search

// Settings are the parameters of a search.
type Settings struct {
	K     float64 // the constant of the rank fusion: the smaller, the more the first ranks count
	Depth int     // ranks of a channel that count

	FullText, Vector, Keyword, Schema float64 // weights of the channels

	// NoGoodMatch is the Confidence below which [Answer].NoGoodMatch is set; 0:
	// confidence is not computed, and only an empty answer sets it.
	NoGoodMatch float64

	Rules Rules
}

// Rules are parameters of the channels' scores. They are round numbers on purpose: they
// lie on a plateau, see docs/retrieval.md.
type Rules struct {
	Coverage     float64 // exponent of the share of the query that a document covers, multiplied with the score
	NameCoverage float64 // gain of a document whose whole name is in the query
	Pairs        float64 // weight of two adjacent words, relative to one word
	Synonyms     float64 // weight of a synonym, relative to the word
	Chatter      float64 // weight of a conversational word, relative to others
	Numbers      float64 // weight of a number in the query, relative to a word
	Segments     float64 // weight of the best part of a multi-part request, relative to the whole
}

// Default returns the settings recommended by docs/retrieval.md.
func Default() Settings {
	return Settings{
		K: 20, Depth: 50,
		FullText: 2, Vector: 1, Keyword: .5, Schema: .1,
		NoGoodMatch: .12,
		Rules: Rules{
			Coverage: 1, NameCoverage: .5, Pairs: 1,
			Synonyms: .4, Chatter: .6, Numbers: .5, Segments: .25,
		},
	}
}
