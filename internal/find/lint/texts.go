package lint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// orders are phrases by which a description gives orders to the model, from known
// attacks. They are few and general: they find careless attacks, and their absence
// proves nothing.
var orders = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,30}\b(previous|prior|above|earlier|preceding|other|system)\b.{0,20}\b(instructions?|prompts?|rules|guidelines)\b`),
	regexp.MustCompile(`(?i)\b(do not|don['’]?t|never|without)\s+(tell|inform|notify|alert|warn)(ing)?\s+(the|your|any)\s+users?\b`),
	regexp.MustCompile(`(?i)\b(do not|don['’]?t|never|without)\s+(mention|reveal|disclos)(e|ing)?\b.{0,40}\bto\s+(the|your|any)\s+users?\b`),
	regexp.MustCompile(`(?i)\b(reveal|repeat|print|send|include|append)\b.{0,30}\bsystem prompt\b`),
	regexp.MustCompile(`(?i)<\s*/?\s*(important|system|instructions?|secret|hidden)\s*>`),
}

var (
	htmlComment = regexp.MustCompile(`<!--`)
	// blob is a run of base64 that is longer than any name or path.
	blob = regexp.MustCompile(`[A-Za-z0-9+/]{120,}={0,2}`)
)

// checkTexts checks all text of a definition for orders and for text that people cannot
// see.
func checkTexts(d *tools.Definition) []Finding {
	texts := []string{d.Description}
	if schema, err := tools.Decode(d.Parameters); err == nil {
		texts = collect(texts, schema)
	}
	const hint = "remove it, or do not offer the tool: models may follow it as if the user had said it"
	said := map[string]bool{} // each rule once
	var found []Finding
	for _, text := range texts {
		for rule, message := range map[string]string{Instructions: order(text), HiddenText: hidden(text)} {
			if message != "" && !said[rule] {
				said[rule] = true
				found = append(found, finding(rule, d, message, hint))
			}
		}
	}
	return found
}

// collect appends all text of a decoded JSON value, names and values.
func collect(texts []string, value any) []string {
	switch v := value.(type) {
	case string:
		texts = append(texts, v)
	case []any:
		for _, item := range v {
			texts = collect(texts, item)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			texts = collect(append(texts, name), v[name])
		}
	}
	return texts
}

// order describes the order in a text, or returns "".
func order(text string) string {
	for _, pattern := range orders {
		if said := pattern.FindString(text); said != "" {
			return fmt.Sprintf("its text gives the model an order: %q", truncate.Runes(said, maxExcerpt))
		}
	}
	return ""
}

// hidden describes what people cannot see in a text, or returns "".
func hidden(text string) string {
	for _, r := range text {
		if invisible(r) {
			return fmt.Sprintf("its text has the invisible character %U", r)
		}
	}
	if htmlComment.MatchString(text) {
		return "its text has an HTML comment, which viewers do not show"
	}
	if code := blob.FindString(text); strings.ContainsAny(code, "0123456789") && code != strings.ToUpper(code) &&
		code != strings.ToLower(code) {
		return fmt.Sprintf("its text has %d characters of what seems to be base64", len(code))
	}
	return ""
}

// invisible reports whether a character is not visible: zero-width characters, those
// that reorder text, and tags. Joiners and marks that Arabic, Indic scripts and emoji
// need are excluded.
func invisible(r rune) bool {
	switch r {
	case '\u00ad', '\u200c', '\u200d', '\u200e', '\u200f', '\u061c':
		return false
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}
