package wire

import (
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// urlCitation is the type of the annotations that both of OpenAI's APIs have: the part of the
// text that a web page supports. Chat Completions nests what Responses has flat.
const urlCitation = "url_citation"

// Citations returns the URL citations of a text delta in the form of OpenAI's other API.
// Annotations of other types, such as of files, only Responses has.
func Citations(d chat.Delta) (list []json.RawMessage) {
	if d.Raw == nil || d.Kind != chat.DeltaText {
		return nil
	}
	var raw struct {
		Annotation  map[string]json.RawMessage // of Responses
		Annotations []struct {
			Type string                     `json:"type"`
			URL  map[string]json.RawMessage `json:"url_citation"`
		} // of Chat Completions
	}
	if json.Unmarshal(d.Raw, &raw) != nil {
		return nil
	}
	name, _ := json.Marshal(urlCitation)
	switch d.Form {
	case chat.FormResponses:
		if string(raw.Annotation["type"]) != string(name) {
			return nil
		}
		delete(raw.Annotation, "type")
		return append(list, encode(map[string]any{"type": urlCitation, urlCitation: raw.Annotation}))
	case chat.FormOpenAI:
		for _, a := range raw.Annotations {
			if a.Type == urlCitation && a.URL != nil {
				a.URL["type"] = name
				list = append(list, encode(a.URL))
			}
		}
	}
	return list
}

func encode(v any) json.RawMessage {
	text, _ := json.Marshal(v) // of JSON
	return text
}
