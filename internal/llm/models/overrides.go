package models

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
)

// override is a setting of the provider's API that a model may fix: it is sent
// where the request says nothing.
type override struct {
	name string
	kind kind
	// chatOnly says that POST /v1/responses does not have it.
	chatOnly bool
}

// kind is what an override takes.
type kind int

const (
	number kind = iota
	whole
	flag
	word
	texts  // one, or a list
	object // a mapping, or JSON of one
)

// wants says what a kind takes, for messages.
var wants = map[kind]string{
	number: "a number", whole: "a whole number", flag: "true or false", word: "text",
	texts: "a text or a list of texts", object: "a mapping, or JSON of one",
}

// overridden are the settings that the model fixes, by name. What the
// Responses API does not have is a fault where that is spoken.
func (e *entry) overridden(responses bool) map[string]json.RawMessage {
	defaults := map[string]json.RawMessage{}
	for _, o := range e.kind.overrides {
		value := e.override(o)
		if value == nil {
			continue
		}
		if responses && o.chatOnly {
			key := e.kind.prefix + o.name
			e.FailParam(key, "take it out; the model is asked through the Responses API", "params.%s does not exist in the Responses API", key)
		}
		defaults[o.name] = value
	}
	return defaults
}

// override is the value of one setting as JSON, nil when the model does not
// fix it. Values may be written as text, as Spice has all params.
func (e *entry) override(o override) json.RawMessage {
	key := e.kind.prefix + o.name
	if !e.Params.Has(key) {
		return nil
	}
	value, err := o.kind.encode(e.Params, key)
	if err != nil {
		e.FailParam(key, "", "params.%s takes %s", key, wants[o.kind])
		return nil
	}
	return value
}

func (k kind) encode(p spicepod.Params, key string) (json.RawMessage, error) {
	switch k {
	case number:
		return encodeNumber(p, key)
	case whole:
		n, err := p.Int(key, 0)
		if err == nil && (n < 0 || n > MaxTokens && key != "openai_seed") {
			err = errWrong
		}
		return encoded(n, err)
	case flag:
		b, err := p.Bool(key, false)
		return encoded(b, err)
	case word:
		text, err := p.String(key)
		return encoded(text, err)
	case texts:
		return encodeTexts(p.Reveal()[key])
	default:
		return encodeObject(p.Reveal()[key])
	}
}

var errWrong = errors.New("not of its kind")

func encoded(value any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func encodeNumber(p spicepod.Params, key string) (json.RawMessage, error) {
	text, err := p.String(key)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return encoded(n, err) // infinities are no JSON
}

func encodeTexts(value any) (json.RawMessage, error) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	stops := make([]string, len(list))
	for i, item := range list {
		if stops[i], ok = item.(string); !ok {
			return nil, errWrong
		}
	}
	return json.Marshal(stops)
}

func encodeObject(value any) (json.RawMessage, error) {
	if text, ok := value.(string); ok {
		var object map[string]json.RawMessage
		err := json.Unmarshal([]byte(text), &object)
		return encoded(object, err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errWrong
	}
	return json.Marshal(object)
}
