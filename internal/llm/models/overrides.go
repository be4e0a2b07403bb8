package models

import (
	"encoding/json"
	"math"

	"github.com/spiced-sql/spiced/spicepod"
)

// override is a field of the provider's API that a model may set: it is sent with
// requests that do not have it.
type override struct {
	name string
	kind spicepod.ParamType
	// chatOnly means that POST /v1/responses does not have it.
	chatOnly bool
}

// overridden returns the fields that the model sets, by name. With the Responses
// API, a field that it does not have is a fault.
func (e *entry) overridden(responses bool) map[string]json.RawMessage {
	defaults := map[string]json.RawMessage{}
	for _, o := range e.kind.overrides {
		value := e.override(o)
		if value == nil {
			continue
		}
		if responses && o.chatOnly {
			key := e.kind.prefix + o.name
			e.FailParam(key, "take it out; the model is asked through the Responses API",
				"params.%s does not exist in the Responses API", key)
		}
		defaults[o.name] = value
	}
	return defaults
}

// override returns the value of a field as JSON, nil if the model does not set it.
func (e *entry) override(o override) json.RawMessage {
	key := e.kind.prefix + o.name
	if !e.Params.Has(key) {
		return nil
	}
	value, err := e.Params.Value(key, o.kind)
	if err != nil {
		return nil // refused by Known
	}
	most := MaxTokens
	if o.name == "seed" {
		most = math.MaxInt
	}
	if n, ok := value.(int); ok && (n < 0 || n > most) {
		e.FailParam(key, "", "params.%s takes 0 to %d", key, most)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		e.FailParam(key, "", "params.%s cannot be sent as JSON: %s", key, err)
	}
	return raw
}
