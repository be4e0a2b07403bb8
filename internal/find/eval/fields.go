package eval

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/search"
)

// This file writes when_to_use and examples for a third of the tools of a set, without
// the queries. It reads the
// declaration of each tool and situations.txt, which is general knowledge, and nothing else.

//go:embed situations.txt
var situationText string

// maxSituations is how many lines of situations.txt the text of one tool has.
const maxSituations = 3

// Documented returns the set with texts for a third of its tools: those with the largest share of
// words in their names and descriptions that situations.txt knows.
func (s *Set) Documented() *Set {
	d := &Set{Name: s.Name, Tools: slices.Clone(s.Tools), Queries: s.Queries, Model: s.Model}
	order, share := make([]int, len(d.Tools)), make([]float64, len(d.Tools))
	for i, t := range d.Tools {
		order[i] = i
		for _, m := range matches(t) {
			share[i] += float64(m.weight)
		}
		share[i] /= float64(4 + len(wordsOf(t.Name+" "+t.Description)))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(share[b], share[a]) })
	for _, i := range order[:(len(order)+2)/3] {
		d.Tools[i].WhenToUse, d.Tools[i].Examples = whenToUse(d.Tools[i]), examples(d.Tools[i])
	}
	return d
}

type situation struct {
	words []string
	asked string
}

var situations = readSituations(situationText)

func readSituations(text string) (list []situation) {
	for line := range strings.Lines(text) {
		words, asked, found := strings.Cut(strings.TrimSpace(line), ": ")
		if found && !strings.HasPrefix(line, "#") {
			list = append(list, situation{strings.Fields(words), asked})
		}
	}
	return list
}

// match is a situation of a tool.
type match struct{ situation, weight int }

// matches returns the situations that have words of the name or the description of a tool, those
// with most first; a word of the name counts twice.
func matches(t search.Document) (found []match) {
	named, told := wordsOf(t.Name), wordsOf(t.Description)
	for i, s := range situations {
		weight := 0
		for _, w := range s.words {
			if has(named, w) {
				weight += 2
			}
			if has(told, w) {
				weight++
			}
		}
		if weight > 0 {
			found = append(found, match{i, weight})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.weight, a.weight) })
	return found
}

// whenToUse says what people ask who need the tool.
func whenToUse(t search.Document) string {
	found := matches(t)
	var asked []string
	for _, m := range found[:min(len(found), maxSituations)] {
		asked = append(asked, situations[m.situation].asked)
	}
	if len(asked) == 0 {
		return ""
	}
	return fmt.Sprintf("Somebody asks about %s.", strings.Join(asked, ", "))
}

// given are values in the description of a parameter: (e.g., 'Paris'), such as "USD".
var given = regexp.MustCompile(`(?i)(?:e\.g\.,?|for example,?|such as|like)\s+['"“]?([\p{L}\p{N}][^'"”,;().]{0,40})`)

// examples returns the arguments of one call: the first value that the schema of each required
// parameter names.
func examples(t search.Document) []string {
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
			Default     any    `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal(t.Parameters, &schema) != nil {
		return nil
	}
	args := map[string]any{}
	for name, p := range schema.Properties {
		switch m := given.FindStringSubmatch(p.Description); {
		case len(p.Enum) > 0:
			args[name] = p.Enum[0]
		case m != nil:
			args[name] = strings.TrimSpace(m[1])
		case p.Default != nil:
			args[name] = p.Default
		}
	}
	if len(args) == 0 {
		return nil
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	return []string{string(text)}
}

var (
	word  = regexp.MustCompile(`[\p{L}\p{N}]+`)
	camel = regexp.MustCompile(`([\p{Ll}\p{N}])(\p{Lu})`)
)

// wordsOf returns the words of a text, in lower case.
func wordsOf(text string) []string {
	return word.FindAllString(strings.ToLower(camel.ReplaceAllString(text, "$1 $2")), -1)
}

// has reports whether a word, or its plural, is among others.
func has(list []string, w string) bool {
	return slices.ContainsFunc(list, func(other string) bool {
		return other == w || other == w+"s" || other == w+"es" || other == w+"ing" || other == w+"ed"
	})
}
