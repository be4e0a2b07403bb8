package search

import (
	_ "embed"
	"slices"
	"strings"
)

var (
	// stopWords have no meaning of their own.
	stopWords = set(stopList)
	// chatter are conversational words: they seldom say what the user wants.
	chatter = set(chatterList)
	// synonyms are groups of words that tools and people use interchangeably.
	synonyms = groups(synonymList)

	//go:embed stopwords.txt
	stopList string
	//go:embed chatter.txt
	chatterList string
	//go:embed synonyms.txt
	synonymList string
)

func set(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// groups maps each word's stem to the other stems in its lines.
func groups(list string) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(list) {
		group := strings.Fields(line)
		for i, w := range group {
			group[i] = stem(w)
		}
		for _, w := range group {
			for _, other := range group {
				if w != other && !slices.Contains(m[w], other) {
					m[w] = append(m[w], other)
				}
			}
		}
	}
	return m
}
