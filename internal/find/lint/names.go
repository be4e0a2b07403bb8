package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// minVaried is the least length of a word of which another spelling is looked
// for: of short words, most that differ by a letter are two words.
const minVaried = 5

// similarNames finds names of the same words, in whatever order and however
// joined, and names of which one word is spelt in another way.
func similarNames(definitions []*tools.Definition) []Finding {
	same := map[string][]int{} // tools by what their names could be
	for i, d := range definitions {
		for _, key := range spellings(words(d.Name)) {
			same[key] = append(same[key], i)
		}
	}
	seen := map[[2]int]bool{}
	var found []Finding
	for _, alike := range same {
		for i, a := range alike {
			for _, b := range alike[i+1 : min(i+1+MaxAlike, len(alike))] {
				if seen[[2]int{a, b}] || builtIn(definitions[a]) && builtIn(definitions[b]) {
					continue
				}
				seen[[2]int{a, b}] = true
				found = append(found, pair(SimilarName, definitions[a], definitions[b],
					func(other string) string {
						return fmt.Sprintf("its name is easily taken for that of %q", truncate.Runes(other, maxExcerpt))
					},
					"say in each name what only that tool does, or keep one of them"))
			}
		}
	}
	return found
}

// words are the words of a text in lower case, the plural's s taken off:
// getUser_infos is get, user and info.
func words(text string) []string {
	var list []string
	var last rune
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			last = 0
			continue
		case last == 0 || unicode.IsUpper(r) && !unicode.IsUpper(last):
			list = append(list, "")
		}
		list[len(list)-1] += string(unicode.ToLower(r))
		last = r
	}
	for i, word := range list {
		if len(word) > 3 {
			list[i] = strings.TrimSuffix(word, "s")
		}
	}
	return list
}

// spellings are the texts that two names share when they look alike: all words
// as one; the words sorted; and the same with a gap for a letter, or in place
// of one, in one of them. So words that differ by a letter added or replaced
// have a text in common. The first letter counts too much for that, and words
// with digits are no two spellings of one.
func spellings(words []string) []string {
	keys := map[string]bool{strings.Join(words, ""): true, key(words): true}
	for i, word := range words {
		letters := []rune(word)
		if len(letters) < minVaried || strings.ContainsFunc(word, unicode.IsDigit) {
			continue
		}
		for at := range letters[1:] {
			varied := slices.Clone(words)
			before, here, after := letters[:at+1], letters[at+1:], letters[at+2:]
			for _, rest := range [][]rune{here, after} {
				varied[i] = string(before) + "?" + string(rest)
				keys[key(varied)] = true
			}
		}
		keys[key(slices.Concat(words[:i], []string{word + "?"}, words[i+1:]))] = true
	}
	return slices.Collect(maps.Keys(keys))
}

// ordered are words that give the others their order: celsius_to_kelvin is not
// kelvin_to_celsius.
var ordered = []string{"to", "2", "from", "into", "by", "as"}

// key is the words as one text, in an order that does not matter.
func key(words []string) string {
	if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(ordered, w) }) {
		words = slices.Sorted(slices.Values(words))
	}
	return strings.Join(words, " ")
}
