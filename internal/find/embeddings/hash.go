package embeddings

import (
	"context"
	"math"
	"math/bits"

	"github.com/spiced-sql/spiced/internal/find/search"
)

const (
	hashDimensions      = 1024
	hashLeastDimensions = 64
	hashMostDimensions  = 4096
)

// Hashing marks a model whose vectors are folded from search.Features: an index
// of those features can compare them directly, which is more accurate than the
// folded vectors.
type Hashing interface {
	Model
	// FoldsFeatures does nothing; it marks these models.
	FoldsFeatures()
}

// hashModel is `builtin:hash`: no network, no files, and equal vectors for
// equal texts on every machine and in every version.
type hashModel struct {
	identity
	dimensions int
}

var _ Hashing = (*hashModel)(nil)

func openHash(e *entry) Model {
	return &hashModel{e.identity(), e.Number("dimensions", hashDimensions, hashLeastDimensions, hashMostDimensions)}
}

// Words returns a model of words and n-grams like `builtin:hash`, for what no Spicepod chooses.
func Words() Builtin { return &hashModel{identity{"builtin:hash", "words"}, 256} }

func (m *hashModel) Dimensions() int { return m.dimensions }

func (m *hashModel) FoldsFeatures() {}

func (m *hashModel) builtin() {}

// Embed folds the features of each text into a vector of length 1. A text
// without features, such as one of punctuation only, has the zero vector.
func (m *hashModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := checkTexts(m.name, texts); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if ctx.Err() != nil {
			return nil, cancelled(ctx, m.name)
		}
		vectors[i] = m.fold(text)
	}
	return vectors, nil
}

// fold is the hashing trick with signs (Weinberger et al., "Feature Hashing for
// Large Scale Multitask Learning", ICML 2009): every feature adds a signed
// weight to one dimension, so that features that share a dimension cancel out
// on average. The signed square root of each sum limits the effect of repeated
// words (Perronnin et al., "Improving the Fisher Kernel for Large-Scale Image
// Classification", ECCV 2010).
func (m *hashModel) fold(text string) []float32 {
	sums := make([]float64, m.dimensions)
	for _, f := range search.Features(text) {
		h := mix(f.Hash)
		at, _ := bits.Mul64(h<<1, uint64(m.dimensions))
		if weight := float64(f.Weight); h>>63 == 0 {
			sums[at] += weight
		} else {
			sums[at] -= weight
		}
	}
	for i, x := range sums {
		sums[i] = math.Copysign(math.Sqrt(math.Abs(x)), x)
	}
	return unit(sums)
}

// mix spreads a hash over 64 bits: the finaliser of MurmurHash3.
func mix(hash uint32) uint64 {
	h := uint64(hash) + 0x9e3779b97f4a7c15
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// unit scales a vector to length 1; a zero vector stays zero.
func unit(sums []float64) []float32 {
	squares := 0.0
	for _, x := range sums {
		squares += float64(x * x) // the conversion prevents a fused multiply-add, which would change the last bit
	}
	vector := make([]float32, len(sums))
	if squares == 0 {
		return vector
	}
	length := math.Sqrt(squares)
	for i, x := range sums {
		vector[i] = float32(x / length)
	}
	return vector
}
