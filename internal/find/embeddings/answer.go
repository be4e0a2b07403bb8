package embeddings

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
)

// answer is the decoded response of a provider: one vector per text, in order.
// usage is zero if the provider reports none.
type answer struct {
	vectors [][]float32
	usage   Usage
}

// vector decodes both encodings of an embedding: an array of numbers, and
// base64 of little-endian float32.
type vector []float32

func (v *vector) UnmarshalJSON(raw []byte) error {
	var err error
	switch raw[0] {
	case '[':
		*v, err = parseNumbers(raw[1 : len(raw)-1])
	case '"':
		var text string
		if err = json.Unmarshal(raw, &text); err == nil {
			*v, err = parseBase64(text)
		}
	default:
		err = errors.New("an embedding is neither an array nor base64")
	}
	return err
}

// parseNumbers parses the elements of a valid JSON array, without its brackets.
// encoding/json would decode null as 0.
func parseNumbers(raw []byte) ([]float32, error) {
	out := make([]float32, 0, min(MaxDimensions, 1+bytes.Count(raw, []byte{','})))
	for part := range bytes.SplitSeq(raw, []byte{','}) {
		part = bytes.TrimSpace(part)
		x, err := strconv.ParseFloat(string(part), 32)
		switch {
		case len(part) == 0 && len(out) == 0:
			return nil, errors.New("an embedding is empty")
		case err != nil:
			return nil, fmt.Errorf("element %d of an embedding is not a number that float32 can hold", len(out))
		case len(out) == MaxDimensions:
			return nil, fmt.Errorf("an embedding has more than %d dimensions", MaxDimensions)
		}
		out = append(out, float32(x))
	}
	return out, nil
}

func parseBase64(text string) ([]float32, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return nil, errors.New("an embedding is not base64")
	case len(raw) == 0 || len(raw)%4 != 0:
		return nil, fmt.Errorf("an embedding of %d bytes is not a sequence of float32", len(raw))
	case len(raw)/4 > MaxDimensions:
		return nil, fmt.Errorf("an embedding has more than %d dimensions", MaxDimensions)
	}
	out := make([]float32, len(raw)/4)
	for i := range out {
		x := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		if !finite(x) {
			return nil, fmt.Errorf("element %d of an embedding is not a finite number", i)
		}
		out[i] = x
	}
	return out, nil
}

func finite(x float32) bool {
	return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0)
}

// decodeAnswer decodes the body of a successful response for a number of texts.
// The entries may be in any order; those without an index count by position.
func decodeAnswer(body []byte, texts int) (answer, error) {
	var form struct {
		Data []struct {
			Index     *int   `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
		Usage json.RawMessage `json:"usage"`
	}
	if err := json.Unmarshal(body, &form); err != nil {
		return answer{}, describeJSON(err)
	}
	if len(form.Data) == 0 { // some gateways send errors with status 200
		if message, _ := httpx.Message(body); message != "" {
			return answer{}, errors.New(message)
		}
	}
	if len(form.Data) != texts {
		return answer{}, fmt.Errorf("the provider returned %d embeddings for %d texts", len(form.Data), texts)
	}
	a := answer{vectors: make([][]float32, texts), usage: reportedUsage(form.Usage)}
	for i, entry := range form.Data {
		at := i
		if entry.Index != nil {
			at = *entry.Index
		}
		switch {
		case at < 0 || at >= texts:
			return answer{}, fmt.Errorf("the provider returned index %d for %d texts", at, texts)
		case a.vectors[at] != nil:
			return answer{}, fmt.Errorf("the provider returned index %d twice", at)
		case len(entry.Embedding) == 0:
			return answer{}, fmt.Errorf("the provider returned no embedding at index %d", at)
		case len(entry.Embedding) != len(form.Data[0].Embedding):
			return answer{}, fmt.Errorf("the provider returned %d dimensions at index %d, but %d elsewhere",
				len(entry.Embedding), at, len(form.Data[0].Embedding))
		}
		a.vectors[at] = entry.Embedding
	}
	return a, nil
}

// describeJSON returns why an answer cannot be decoded.
func describeJSON(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("the answer is not JSON from byte %d on; check params.endpoint", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("the answer is not in OpenAI's form: it has a JSON %s at %q", kind.Value, kind.Field)
	}
	return fmt.Errorf("the answer is not in OpenAI's form: %w", err)
}

// reportedUsage returns the usage that the provider reports, or zero if it is
// missing or invalid. One of the two numbers may be missing.
func reportedUsage(raw json.RawMessage) Usage {
	var u Usage
	if json.Unmarshal(raw, &u) != nil || u.PromptTokens < 0 || u.TotalTokens < 0 {
		return Usage{}
	}
	prompt, total := max(u.PromptTokens, 0), u.TotalTokens
	if prompt == 0 {
		prompt = total
	}
	return Usage{PromptTokens: prompt, TotalTokens: max(prompt, total)}
}
