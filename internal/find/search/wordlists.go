package search

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/words"
)

var (
	// chatter are conversational words: they seldom say what the user wants.
	chatter = words.Set(chatterList)
	// synonyms are groups of words that tools and people use interchangeably.
	synonyms = groups(synonymList)

	//go:embed chatter.txt
	chatterList string
	//go:embed synonyms.txt
	synonymList string
)

// groups maps each word's stem to the other stems in its lines.
func groups(list string) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(list) {
		group := strings.Fields(line)
		for i, w := range group {
			group[i] = words.Stem(w)
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
