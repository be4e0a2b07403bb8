package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/spiced-sql/spiced/internal/find/words"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Lengths of character n-grams, including a mark at each end of a word.
const (
	shortestGram = 3
	longestGram  = 5
)

// Feature is a hashed part of a text.
type Feature struct {
	Hash   uint32 // FNV-1a of "=word" for a word, of the characters for an n-gram
	Weight float32
}

// Features returns the words of a text, except for stop words, and the character
// n-grams of each, with ^ before and $ after it. A word weighs 1, and so do its n-grams
// together, as a vector. Weights of equal features are summed. The features are sorted
// by hash; they must never change.
func Features(text string) []Feature {
	var out []Feature
	for _, w := range words.Split(truncate.Bytes(text, maxFieldBytes)) {
		if !words.Stop(w.Text) {
			eachGram(w.Text, func(hash uint32, weight float32) { out = append(out, Feature{hash, weight}) })
		}
	}
	slices.SortFunc(out, func(a, b Feature) int {
		return cmp.Or(cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Weight, b.Weight))
	})
	merged := out[:0]
	for _, f := range out {
		if n := len(merged); n > 0 && merged[n-1].Hash == f.Hash {
			merged[n-1].Weight += f.Weight
			continue
		}
		merged = append(merged, f)
	}
	return merged
}

// eachGram emits the features of one word of at most words.MaxBytes.
func eachGram(text string, emit func(hash uint32, weight float32)) {
	emit(hash32("=", text), 1)
	marked := "^" + text + "$"
	var at [words.MaxBytes + 3]int // offset of each character, and the end
	n := 0
	for i := range marked {
		at[n] = i
		n++
	}
	at[n] = len(marked)
	count := 0
	for size := shortestGram; size <= longestGram; size++ {
		count += max(0, n-size+1)
	}
	weight := float32(1 / math.Sqrt(float64(count)))
	for size := shortestGram; size <= longestGram; size++ {
		for i := 0; i+size <= n; i++ {
			emit(hash32("", marked[at[i]:at[i+size]]), weight)
		}
	}
}

// hash32 is FNV-1a of the concatenation.
func hash32(a, b string) uint32 {
	h := uint32(2166136261)
	for i := range len(a) {
		h = (h ^ uint32(a[i])) * 16777619
	}
	for i := range len(b) {
		h = (h ^ uint32(b[i])) * 16777619
	}
	return h
}
