package search

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/words"
)

func TestPairIsTheCompound(t *testing.T) {
	for _, c := range [][2]string{{"data base", "database"}, {"users lists", "userList"}, {"getting weather", "get_weather"}} {
		apart := words.Split(c[0])
		got := pairOf(words.Stem(apart[0].Text), apart[1].Text)
		doc := Analyse(Document{Name: c[1]})
		found := false
		for _, term := range doc.terms {
			found = found || term.id == words.Hash(got)
		}
		if !found {
			t.Errorf("%q is not a term of %q", c[0], c[1])
		}
	}
}

func TestParts(t *testing.T) {
	for text, want := range map[string][]string{
		"Book a cheap flight to Paris.": nil,
		"Find two cheap Paris hotels. Compare both hotel prices daily": {
			"Find two cheap Paris hotels",
			" Compare both hotel prices daily",
		},
		"convert the annual report file to PDF and mail the finished PDF file to Anna, thank you": {
			"convert the annual report file to PDF",
			" mail the finished PDF file to Anna  thank you",
		},
		"a.b.c.d, e": nil,
	} {
		if diff := cmp.Diff(want, parts(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	many := strings.Repeat("alpha beta gamma delta. ", 3*maxParts)
	if got := len(parts(many)); got != maxParts {
		t.Errorf("%d parts, at most %d", got, maxParts)
	}
}

func TestWalkSchema(t *testing.T) {
	schema := `{"type":"object","title":"no","description":"no","required":["no"],"properties":{
		"city":{"type":"string","description":"where","enum":["Rome",1,null],"default":"no"},
		"at":{"type":"object","properties":{"lat":{"const":"north"}}},
		"tags":{"type":"array","items":{"type":"object","properties":{"key":{}}}},
		"any":{"anyOf":[{"properties":{"one":{}}},{"$ref":"#/no"}]}},
		"$defs":{"no":{"properties":{"deep":{}}}}}`
	var got []string
	emit := func(text string, weight float64) { got = append(got, fmt.Sprint(text, " ", weight)) }
	walkSchema(json.RawMessage(schema), schemaWalk{name: emit, prose: emit})
	want := []string{"any 4", "one 2", "at 4", "lat 2", "north 0.25", "city 4", "where 0.5", "Rome 0.5", "tags 4", "key 2", "deep 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	names := []string{"any", "one", "at", "lat", "city", "tags", "key", "deep"}
	if diff := cmp.Diff(names, ParameterNames(json.RawMessage(schema))); diff != "" {
		t.Error(diff)
	}
	for _, odd := range []string{
		"", "null", "[]", "1", "{", `{"properties":[]}`, `{"properties":{"a":true}}`,
		strings.Repeat(`{"items":`, 99) + "{}" + strings.Repeat("}", 99),
	} {
		for _, text := range ParameterNames(json.RawMessage(odd)) {
			if text != "a" {
				t.Errorf("%.40s says %q", odd, text)
			}
		}
	}
}

func TestAnalysisIsBounded(t *testing.T) {
	long := strings.Repeat("word ", maxFieldBytes)
	schema, err := json.Marshal(map[string]any{"properties": map[string]any{"a": map[string]any{"description": long}, "b": map[string]any{"description": long}}})
	if err != nil {
		t.Fatal(err)
	}
	d := Analyse(Document{Name: long, Description: long, Tags: []string{long}, Parameters: schema})
	if most := 5 * maxFieldBytes; len(d.text) > most {
		t.Errorf("%d bytes were kept of a document, at most %d", len(d.text), most)
	}
	if got := d.vocab[0].count; got != (counts{255, 255, 255}) {
		t.Errorf("counts of a word are %v, want them to stop at 255", got)
	}
}

func TestFirstSentence(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "One": "One", " One. Two": "One", "v1.2 is out! Yes": "v1.2 is out", "a\nb": "a", "获取日期。主要": "获取日期", "End.": "End.",
	} {
		if got := firstSentence(text); got != want {
			t.Errorf("firstSentence(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestVocabularyIsSound(t *testing.T) {
	for w := range chatter {
		if words.Stop(w) {
			t.Errorf("%q is chatter and a stop word", w)
		}
	}
	for w, others := range synonyms {
		if words.Stop(w) {
			t.Errorf("the stop word %q has synonyms", w)
		}
		for _, other := range others {
			if other == w {
				t.Errorf("%q is its own synonym", w)
			}
		}
	}
}
