package embeddings

import (
	"context"
	"time"
)

// WithPause replaces the wait between attempts.
func WithPause(o Options, pause func(context.Context, time.Duration) error) Options {
	o.pause = pause
	return o
}

// DecodeAnswer is decodeAnswer without the type.
func DecodeAnswer(body []byte, texts int) ([][]float32, Usage, error) {
	a, err := decodeAnswer(body, texts)
	return a.vectors, a.usage, err
}

// Batches is batches.
var Batches = batches

// GGUFBuilt is ggufBuilt.
const GGUFBuilt = ggufBuilt

// NewGGUF makes a model of a vectorizer of the test's.
func NewGGUF(name string, v vectorizer) (Model, error) {
	m, err := newGGUF(identity{name: name}, v)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// CheckGGUF is checkGGUF.
var CheckGGUF = checkGGUF
