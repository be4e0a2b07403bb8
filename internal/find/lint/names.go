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

// minVaried is the minimum length of words that are checked for spelling variants:
// short words that differ by a letter are usually different words.
const minVaried = 5

// similarNames reports names of the same words, in any order and however joined, and
// names that differ in the spelling of one word.
func similarNames(definitions []*tools.Definition) []Finding {
	same := map[string][]int{} // tools by the variants of their names
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
						return fmt.Sprintf("its name is easily confused with %q", truncate.Runes(other, maxExcerpt))
					},
					"say in each name what only that tool does, or keep one of them"))
			}
		}
	}
	return found
}

// words returns the words of a text in lower case, without the plural's s:
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

// spellings returns the texts that two names share if they look alike: all words
// joined; the words sorted; and the latter with a gap at or instead of a letter of one
// word. So words that differ by one added or replaced letter share a text. The first
// letter, and words with digits, are not varied.
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

// ordered are words that make the order of the others significant: celsius_to_kelvin is
// not kelvin_to_celsius.
var ordered = []string{"to", "2", "from", "into", "by", "as"}

// key returns the words as one text, independent of their order.
func key(words []string) string {
	if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(ordered, w) }) {
		words = slices.Sorted(slices.Values(words))
	}
	return strings.Join(words, " ")
}
