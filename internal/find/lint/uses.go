package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// Rules about what declarations say of the use of tools.
const (
	ConfusedTools   = "confused-tools"   // warning: a search for one tool finds another one first
	LeftOut         = "left-out"         // warning: texts do not fit the budget of tokens
	WithheldExample = "withheld-example" // warning: tests are not shown as examples
)

// Limits of the rule about confused tools.
const (
	// maxAsked is how many tools are searched for: the first by name. A search takes about a
	// millisecond in a catalog of 10,000 tools.
	maxAsked = 2_000
	// maxSaid is how many words that tell two tools apart a message lists.
	maxSaid = 5
	// maxQuery is the size of what is searched for.
	maxQuery = 300
)

// checkUse reports what a definition says of its use and models are not sent.
func checkUse(d *tools.Definition) (found []Finding) {
	left := d.Shown().Left
	if d.FromTests { // as many as the budget has tokens for
		left = slices.DeleteFunc(left, func(item string) bool { return strings.HasPrefix(item, "examples[") })
	}
	if len(left) > 0 && d.Budget > 0 {
		found = append(found, finding(LeftOut, d,
			fmt.Sprintf("models are not sent its %s: the budget is %d tokens", strings.Join(left, ", "), d.Budget),
			"shorten the texts, or raise runtime.tools.documents.tokens"))
	}
	if d.Withheld != "" {
		found = append(found, finding(WithheldExample, d, "its tests are not shown as examples: "+d.Withheld,
			"write examples with invented values"))
	}
	return found
}

// confused reports pairs of tools: a search for the first sentence of one, or for what its examples
// are for, finds the other one first. Pairs that skip has are not reported.
func confused(definitions []*tools.Definition, skip map[[2]string]bool) []Finding {
	docs := make([]*search.Analysis, len(definitions))
	each(len(docs), func(i int) { docs[i] = search.Analyse(documentOf(definitions[i])) })
	index := search.New(docs, search.Default())
	rivals := make([][]rival, min(len(definitions), maxAsked))
	each(len(rivals), func(i int) {
		if !builtIn(definitions[i]) {
			rivals[i] = rivalsOf(index, definitions, i)
		}
	})
	var found []Finding
	seen := map[[2]string]bool{}
	for i, list := range rivals {
		for _, r := range list {
			d, other := definitions[i], definitions[r.doc]
			both := pairOf(d.Name, other.Name)
			if seen[both] || skip[both] {
				continue
			}
			seen[both] = true
			found = append(found, confusedPair(d, other, r.query))
		}
	}
	return found
}

// pairOf is the key of two tools, in either order.
func pairOf(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// rival is a tool that a query for another one finds first.
type rival struct {
	doc   int
	query string
}

func rivalsOf(index *search.Index, definitions []*tools.Definition, i int) (list []rival) {
	for _, query := range queriesOf(definitions[i]) {
		hits := index.Search(search.Query{Text: query, Limit: 1, Vector: index.NGrams(query)}).Hits
		if len(hits) == 0 || hits[0].Doc == i {
			continue
		}
		first := rival{hits[0].Doc, query}
		if !slices.ContainsFunc(list, func(r rival) bool { return r.doc == first.doc }) && len(list) < MaxAlike {
			list = append(list, first)
		}
	}
	return list
}

// queriesOf returns what is asked for a tool: the first sentence of its description, and what its
// examples are for.
func queriesOf(d *tools.Definition) (list []string) {
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			list = append(list, truncate.Bytes(text, maxQuery))
		}
	}
	// Descriptions that are comments of code have indented lines of one sentence.
	sentence, _, _ := strings.Cut(strings.TrimSpace(d.Description), "\n\n")
	sentence = strings.Join(strings.Fields(sentence), " ")
	if end := strings.Index(sentence, ". "); end >= 0 {
		sentence = sentence[:end]
	}
	add(sentence)
	for _, e := range d.Examples {
		add(e.Description)
	}
	return list
}

func documentOf(d *tools.Definition) search.Document {
	return search.Document{
		Name: d.Name, Description: d.Description, Parameters: d.Parameters, Tags: d.Tags, WhenToUse: d.WhenToUse,
	}
}

// confusedPair names both tools, and what each could say.
func confusedPair(d, other *tools.Definition, query string) Finding {
	f := finding(ConfusedTools, d, fmt.Sprintf("a search for %q finds %q first", truncate.Runes(query, maxExcerpt),
		truncate.Runes(other.Name, maxExcerpt)), "")
	f.Other = other.Name
	missing := "when_to_use"
	if d.WhenToUse != "" && other.WhenToUse != "" {
		missing = "when_to_use or not_for"
	}
	f.Hint = fmt.Sprintf("say in %s of both when which is meant: %s; %s", missing, alone(d, other), alone(other, d))
	return f
}

// alone says which words only one of two tools has.
func alone(d, other *tools.Definition) string {
	theirs := words(other.Name + " " + other.Description)
	var own []string
	for _, w := range words(d.Name + " " + d.Description) {
		if len(w) > 2 && !slices.Contains(theirs, w) && !slices.Contains(own, w) && !slices.Contains(small, w) {
			own = append(own, w)
		}
	}
	name := truncate.Runes(d.Name, maxExcerpt)
	if len(own) == 0 {
		return fmt.Sprintf("%q has no word that the other one lacks", name)
	}
	return fmt.Sprintf("only %q is about %s", name, strings.Join(own[:min(len(own), maxSaid)], ", "))
}
