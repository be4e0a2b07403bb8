package search

// Settings are the weights of a search.
type Settings struct {
	K     float64 // the fusion's constant: the smaller, the more the first ranks count
	Depth int     // ranks of a channel that count

	FullText, Vector, Keyword, Schema float64 // weight of each channel's vote

	// NoGoodMatch is the [Answer]'s Confidence below which the best match is
	// called no good one; 0: confidence is not measured, and nothing is
	// flagged but an empty answer.
	NoGoodMatch float64

	Rules Rules
}

// Rules shape the channels' scores. Their values are round on purpose: they
// lie on a plateau, see docs/retrieval.md.
type Rules struct {
	Coverage     float64 // exponent of the share of the query that a document covers, by which its score is multiplied
	NameCoverage float64 // gain of a document whose whole name is in the query
	Pairs        float64 // weight of two words that stand together, to one word
	Synonyms     float64 // weight of a synonym, to the word itself
	Chatter      float64 // weight of a conversational word, to any other
	Numbers      float64 // weight of a number in the query, to a word
	Segments     float64 // weight of the best part of a request of many parts, to the whole
}

// Default returns the settings that docs/retrieval.md arrives at.
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
