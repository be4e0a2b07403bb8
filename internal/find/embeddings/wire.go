package embeddings

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Request is the body of POST /v1/embeddings in OpenAI's form. The tags
// describe it; [ParseRequest] reads it.
type Request struct {
	Model string `json:"model" doc:"A name in the embeddings section."`
	// Texts are 1 to MaxInputs texts, none empty.
	Texts []string `json:"input" type:"string|[]string" doc:"A text, or a list of texts."`
	// Base64 asks for vectors as base64 of little-endian float32 instead of
	// arrays of numbers.
	Base64 bool `json:"encoding_format,omitempty" type:"string" enum:"float,base64"`
	// Dimensions is the length of the vectors; 0 for the model's own.
	Dimensions int    `json:"dimensions,omitempty" doc:"Must be the number that the model returns."`
	User       string `json:"user,omitempty"` // the caller's word for its user
}

// Response is the answer to a Request; its JSON is OpenAI's.
type Response struct {
	Object string `json:"object" enum:"list"`
	Data   []Item `json:"data"`
	Model  string `json:"model"`
	Usage  Usage  `json:"usage"`
}

// Item is one vector of a Response, in the order of the texts.
type Item struct {
	Object string `json:"object" enum:"embedding"`
	Index  int    `json:"index"`
	// Embedding is a []float32, or its base64 as a string.
	Embedding any `json:"embedding" type:"[]number|string" doc:"Numbers, or their base64."`
}

var requestFields = []string{"input", "model", "encoding_format", "dimensions", "user"}

// ParseRequest decodes a request. An error is a *WireError.
func ParseRequest(body []byte) (*Request, error) {
	if len(body) > MaxRequestBytes {
		e := invalid("", "the request has more than %d bytes", MaxRequestBytes)
		e.Status = http.StatusRequestEntityTooLarge
		return nil, e
	}
	fields, err := requestObject(body)
	if err != nil {
		return nil, err
	}
	r := &Request{}
	if r.Texts, err = parseInput(fields["input"]); err != nil {
		return nil, err
	}
	if r.Model, err = parseText(fields, "model"); err != nil {
		return nil, err
	}
	if r.Model == "" {
		return nil, invalid("model", "you must provide a model")
	}
	encoding, err := parseText(fields, "encoding_format")
	switch {
	case err != nil:
		return nil, err
	case encoding != "" && encoding != "float" && encoding != "base64":
		return nil, invalid("encoding_format", `encoding_format must be "float" or "base64", got %q`, encoding)
	}
	r.Base64 = encoding == "base64"
	if raw := fields["dimensions"]; raw != nil {
		if json.Unmarshal(raw, &r.Dimensions) != nil || r.Dimensions < 1 || r.Dimensions > MaxDimensions {
			return nil, invalid("dimensions", "dimensions must be an integer from 1 to %d", MaxDimensions)
		}
	}
	if r.User, err = parseText(fields, "user"); err != nil {
		return nil, err
	}
	return r, nil
}

// requestObject returns the fields of the body that are not null.
func requestObject(body []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return nil, invalid("", "the body is not a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if bytes.Equal(fields[name], []byte("null")) {
			delete(fields, name)
			continue
		}
		if !slices.Contains(requestFields, name) {
			return nil, invalid(name, "unrecognized request argument: %s%s", truncate.Line(name, MaxMessage),
				nearest.Clause(name, requestFields))
		}
	}
	return fields, nil
}

func parseText(fields map[string]json.RawMessage, name string) (string, error) {
	var text string
	if raw := fields[name]; raw != nil && json.Unmarshal(raw, &text) != nil {
		return "", invalid(name, "%s must be a string", name)
	}
	return text, nil
}

// parseInput decodes one text or a list of texts.
func parseInput(raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return nil, invalid("input", "you must provide an input: a string or an array of strings")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil, invalid("input", "input is empty")
		}
		return checkInput([]string{text})
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil, invalid("input", "input must be a string or an array of strings")
	}
	switch {
	case len(items) == 0:
		return nil, invalid("input", "input is empty")
	case holdsTokens(items[0]):
		return nil, invalid("input", "input has token numbers; send text, because the model may have another tokenizer")
	case len(items) > MaxInputs:
		return nil, invalid("input", "input has %d texts; at most %d", len(items), MaxInputs)
	}
	texts := make([]string, len(items))
	for i, item := range items {
		if item[0] != '"' || json.Unmarshal(item, &texts[i]) != nil {
			return nil, invalid("input", "input[%d] is not a string", i)
		}
		if texts[i] == "" {
			return nil, invalid("input", "input[%d] is empty", i)
		}
	}
	return checkInput(texts)
}

func holdsTokens(item json.RawMessage) bool {
	return item[0] == '[' || item[0] == '-' || item[0] >= '0' && item[0] <= '9'
}

func checkInput(texts []string) ([]string, error) {
	for i, text := range texts {
		if len(text) > MaxTextBytes {
			return nil, invalid("input", "input[%d] has %d bytes; at most %d", i, len(text), MaxTextBytes)
		}
	}
	return texts, nil
}

// Answer embeds the texts of a request. AsWireError converts its errors for the
// client.
func Answer(ctx context.Context, m Model, r *Request) (*Response, error) {
	if err := r.checkDimensions(m.Dimensions()); err != nil {
		return nil, err
	}
	vectors, usage, err := EmbedCounted(ctx, m, r.Texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) > 0 {
		if err := r.checkDimensions(len(vectors[0])); err != nil {
			return nil, err
		}
	}
	return NewResponse(r, vectors, usage), nil
}

// checkDimensions compares the requested dimensions with the model's; 0 means
// unknown.
func (r *Request) checkDimensions(have int) error {
	if r.Dimensions == 0 || have == 0 || r.Dimensions == have {
		return nil
	}
	return invalid("dimensions",
		"the model %q has %d dimensions, not %d; leave dimensions out, or set params.dimensions in the Spicepod",
		r.Model, have, r.Dimensions)
}

// NewResponse returns the vectors, one per text of the request, in its encoding.
func NewResponse(r *Request, vectors [][]float32, usage Usage) *Response {
	out := &Response{Object: "list", Data: make([]Item, len(vectors)), Model: r.Model, Usage: usage}
	for i, v := range vectors {
		out.Data[i] = Item{Object: "embedding", Index: i, Embedding: v}
		if r.Base64 {
			out.Data[i].Embedding = encodeBase64(v)
		}
	}
	return out
}

func encodeBase64(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
