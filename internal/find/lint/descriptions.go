package lint

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/tokens"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// checkDescription reports descriptions that are missing, too short or too long.
func checkDescription(d *tools.Definition) []Finding {
	switch n := tokens.Count(d.Description); {
	case strings.TrimSpace(d.Description) == "":
		return []Finding{finding(NoDescription, d, "it has no description: models choose tools by it",
			"say in a sentence what it does and what it returns")}
	case n < minDescription:
		return []Finding{finding(ShortDescription,
			d, fmt.Sprintf("its description %q is too short to be found by", truncate.Runes(d.Description, maxExcerpt)),
			"say in a sentence what it does and what it returns")}
	case saysItsName(d):
		return []Finding{finding(ShortDescription,
			d, fmt.Sprintf("its description %q says no more than its name", truncate.Runes(d.Description, maxExcerpt)),
			"say in a sentence what it does and what it returns")}
	case n > maxDescription:
		return []Finding{finding(LongDescription,
			d, fmt.Sprintf("its description has about %d tokens; models often miss details beyond %d", n, maxDescription),
			"keep what helps to choose the tool and to pass arguments")}
	}
	if n := utf8.RuneCountInString(d.Text()); n > maxCharacters {
		return []Finding{finding(LongDescription,
			d, fmt.Sprintf("its description has %d characters, with what is sent of its use; some models refuse more than %d", n,
				maxCharacters),
			"shorten it, or lower runtime.tools.documents.tokens")}
	}
	return nil
}

// small are words without meaning of their own.
var small = []string{"a", "an", "the", "of", "for", "to", "in", "on", "by", "with", "from", "and"}

// saysItsName reports whether every word of a description is in the name.
func saysItsName(d *tools.Definition) bool {
	name := words(d.Name)
	return !slices.ContainsFunc(words(d.Description), func(w string) bool {
		return !slices.Contains(name, w) && !slices.Contains(small, w)
	})
}

// similarDescriptions compares the descriptions of all tools.
func similarDescriptions(definitions []*tools.Definition) []Finding {
	definitions = slices.DeleteFunc(slices.Clone(definitions), func(d *tools.Definition) bool {
		return d.Description == ""
	})
	var found []Finding
	seen := map[[2]int]bool{}
	for i, alike := range nearest(definitions) {
		for _, j := range alike {
			both := [2]int{min(i, j), max(i, j)}
			if seen[both] || builtIn(definitions[i]) && builtIn(definitions[j]) {
				continue
			}
			seen[both] = true
			found = append(found, pair(SimilarDescription, definitions[i], definitions[j],
				func(other string) string {
					return fmt.Sprintf("its description is nearly that of %q", truncate.Runes(other, maxExcerpt))
				},
				"say in each description what only that tool does"))
		}
	}
	return found
}

// nearest returns, for each description, the others of at least [similarity], at
// most [MaxAlike] of them. It compares words and parts of words: synonyms and
// conversational words, which a search considers, do not count.
func nearest(definitions []*tools.Definition) [][]int {
	settings := search.Default()
	settings.Rules.Synonyms, settings.Rules.Chatter = 0, 1
	docs := make([]*search.Analysis, len(definitions))
	near := make([][]int, len(definitions))
	each(len(docs), func(i int) {
		docs[i] = search.Analyse(search.Document{Description: definitions[i].Description})
	})
	index := search.New(docs, settings)
	each(len(docs), func(i int) {
		cosines := make([]float32, len(docs))
		index.NGrams(definitions[i].Description).Cosines(cosines)
		cosines[i] = 0
		for range MaxAlike {
			best := 0
			for j, c := range cosines {
				if c > cosines[best] {
					best = j
				}
			}
			if cosines[best] < similarity {
				return
			}
			near[i] = append(near[i], best)
			cosines[best] = 0
		}
	})
	return near
}

// each calls do with 0 to n-1 on all CPUs.
func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}
