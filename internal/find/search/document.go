package search

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/words"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Limits of one document; what exceeds them is ignored.
const (
	maxFieldBytes  = 64 << 10 // of the name, the description, all tags, all texts of the schema
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 32
)

// Document is a searchable document.
type Document struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments; nil, null or {}: none
	Tags        []string        // part of the description

	// WhenToUse and Examples say how the document is used, in words that its description may not
	// have. What it is not for would find it for just that.
	WhenToUse string   `json:"when_to_use"`
	Examples  []string // arguments of calls as JSON, and what they are for
}

// field is a part of a document.
type field uint8

const (
	inName field = iota
	inDescription
	inParameters
	inUse
	fields
)

// Analysis is what an [Index] needs of one document. It is immutable and depends on the
// document alone.
type Analysis struct {
	name  string
	fold  string      // the name, see foldName
	text  string      // the words of all fields, a space before and after each
	ends  [fields]int // end offsets of the fields in text
	terms []term      // by id
	vocab []spelling  // in order of text
	first string      // first sentence of the description, else the name
}

// counts is how often something occurs in each field.
type counts [fields]uint8

func (c *counts) add(f field, n uint8) { c[f] += min(n, 255-c[f]) }

// term is a stem, a compound or a pair of adjacent words in a document.
type term struct {
	id     uint64
	count  counts
	schema uint8 // weight in the parameters, in sixteenths
	joined bool  // a compound or a pair
}

// spelling is a distinct word in the text of an Analysis.
type spelling struct {
	start uint32
	size  uint8
	count counts
}

func (a *Analysis) spell(s spelling) string { return a.text[s.start : s.start+uint32(s.size)] }

func (a *Analysis) field(f field) string {
	if f == inName {
		return a.text[:a.ends[f]]
	}
	return a.text[a.ends[f-1]:a.ends[f]]
}

// Analyse analyses a document. This is the expensive step: reuse the result while the
// document is unchanged.
func Analyse(d Document) *Analysis {
	a := &analyser{stems: map[string]string{}, spellings: map[string]int{}, left: maxFieldBytes}
	a.out.name, a.out.fold = d.Name, words.Fold(d.Name)
	a.read(inName, truncate.Bytes(d.Name, maxFieldBytes), 0)
	a.end(inName)
	a.read(inDescription, truncate.Bytes(d.Description, maxFieldBytes), 0)
	for _, tag := range d.Tags {
		a.readPart(inDescription, tag, 0)
	}
	a.end(inDescription)
	a.left = maxFieldBytes
	parameter := func(text string, weight float64) { a.readPart(inParameters, text, weight) }
	walkSchema(d.Parameters, schemaWalk{name: parameter, prose: parameter})
	a.end(inParameters)
	a.left = maxFieldBytes
	a.readPart(inUse, d.WhenToUse, 0)
	for _, example := range d.Examples {
		a.readPart(inUse, example, 0)
	}
	a.end(inUse)
	a.out.text = strings.Clone(a.text.String())
	a.out.terms = mergeTerms(a.terms)
	a.out.vocab = slices.Clone(a.out.vocab) // drop excess capacity
	a.out.first = strings.Clone(cmp.Or(firstSentence(d.Description), d.Name))
	out := a.out
	return &out // do not retain the analyser
}

// analyser builds an Analysis.
type analyser struct {
	out       Analysis
	text      strings.Builder
	terms     []term
	stems     map[string]string
	spellings map[string]int
	left      int // remaining bytes for the parts of a field
}

func (a *analyser) readPart(f field, text string, weight float64) {
	text = truncate.Bytes(text, a.left)
	a.left -= len(text)
	a.read(f, text, weight)
}

func (a *analyser) read(f field, text string, weight float64) {
	before := ""
	for _, w := range words.Split(text) {
		a.write(f, w.Text)
		if w.Parts > 2 { // a pair is the compound of two
			a.add(f, a.stem(w.Compound), weight, true)
		}
		if f != inName && words.Stop(w.Text) {
			continue
		}
		s := a.stem(w.Text)
		a.add(f, s, weight, false)
		if before != "" && f != inParameters {
			a.add(f, a.stem(before+w.Text), weight, true)
		}
		before = s
	}
}

// write appends a word to the text and to the vocabulary.
func (a *analyser) write(f field, text string) {
	a.text.WriteByte(' ')
	start := a.text.Len()
	a.text.WriteString(text)
	if f != inName && words.Stop(text) {
		return
	}
	i, known := a.spellings[text]
	if !known {
		i = len(a.out.vocab)
		a.spellings[text] = i
		a.out.vocab = append(a.out.vocab, spelling{start: uint32(start), size: uint8(len(text))})
	}
	a.out.vocab[i].count.add(f, 1)
}

func (a *analyser) end(f field) {
	a.text.WriteByte(' ')
	a.out.ends[f] = a.text.Len()
}

// stem caches the function of that name.
func (a *analyser) stem(text string) string {
	s, known := a.stems[text]
	if !known {
		s = words.Stem(text)
		a.stems[text] = s
	}
	return s
}

func (a *analyser) add(f field, text string, weight float64, joined bool) {
	t := term{id: words.Hash(text), schema: uint8(min(weight*16, 255)), joined: joined}
	t.count.add(f, 1)
	a.terms = append(a.terms, t)
}

// mergeTerms merges the terms with the same id.
func mergeTerms(all []term) []term {
	slices.SortFunc(all, func(a, b term) int { return cmp.Compare(a.id, b.id) })
	var out []term
	for _, t := range all {
		if n := len(out); n == 0 || out[n-1].id != t.id {
			out = append(out, t)
			continue
		}
		last := &out[len(out)-1]
		for f, n := range t.count {
			last.count.add(field(f), n)
		}
		last.schema = max(last.schema, t.schema)
		last.joined = last.joined && t.joined
	}
	return slices.Clone(out) // drop excess capacity
}

// firstSentence returns the text up to the first end of a sentence.
func firstSentence(text string) string {
	text = strings.TrimSpace(truncate.Bytes(text, maxFieldBytes))
	for i, r := range text {
		if r == '\n' || r == '。' || (r == '.' || r == '!' || r == '?') && strings.HasPrefix(text[i+1:], " ") {
			return text[:i]
		}
	}
	return text
}
