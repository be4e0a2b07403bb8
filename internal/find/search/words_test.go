package search

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"Get the users":          "get the users",
		"getUserName":            "get(getusername) user name",
		"HTTPServer":             "http(httpserver) server",
		"parseURL":               "parse(parseurl) url",
		"get_user-id":            "get(getuserid) user id",
		"github__create_issue":   "github create(createissue) issue",
		"a__b___c":               "a b c",
		"_private_":              "private",
		"sha256 mp3":             "sha(sha256) 256 mp(mp3) 3",
		"12306-mcp__get-tickets": "12306(12306mcp) mcp get(gettickets) tickets",
		"Abstract.runJar":        "abstract run(runjar) jar",
		"it's 3.5":               "it s 3 5",
		"查询天气":                   "查询 询天 天气",
		"中":                      "中",
		"用Go写":                   "用 go 写",
		"東京Tower2":               "東京 tower(tower2) 2",
		"Crème BRÛLÉE":           "creme brulee",
		"ﬁle Ｆｕｌｌ":               "file full",
		"Łódź straße":            "łodz straße",
		"йод":                    "йод",
		"हिन्दी":                 "हिन्दी",
		"big\xffbad":             "big bad",
	} {
		var got []string
		for _, w := range words(text) {
			if w.compound != "" {
				w.text += "(" + w.compound + ")"
			}
			got = append(got, w.text)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := words(strings.Repeat("x", maxWordBytes+1)); len(got) != 0 {
		t.Errorf("a word beyond the limit was kept: %v", got)
	}
}

func TestPairIsTheCompound(t *testing.T) {
	for _, c := range [][2]string{{"data base", "database"}, {"users lists", "userList"}, {"getting weather", "get_weather"}} {
		apart := words(c[0])
		got := pairOf(stem(apart[0].text), apart[1].text)
		doc := Analyse(Document{Name: c[1]})
		found := false
		for _, term := range doc.terms {
			found = found || term.id == hash64(got)
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
		if stopWords[w] {
			t.Errorf("%q is chatter and a stop word", w)
		}
	}
	for w, others := range synonyms {
		if stopWords[w] {
			t.Errorf("the stop word %q has synonyms", w)
		}
		for _, other := range others {
			if other == w {
				t.Errorf("%q is its own synonym", w)
			}
		}
	}
}
