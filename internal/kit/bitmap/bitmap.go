// Package bitmap has sets of small numbers, one bit for each.
//
//	b := bitmap.New(len(tools))
//	b.Add(7)
//	if b.Has(7) && b.Count() > 0 { … }
package bitmap

import "math/bits"

// Bitmap is a set of numbers from 0 to below a size.
type Bitmap struct {
	words []uint64
	size  int
}

// New returns an empty set of numbers below size.
func New(size int) *Bitmap { return &Bitmap{make([]uint64, (size+63)/64), size} }

// Full returns the set of all numbers below size.
func Full(size int) *Bitmap {
	b := New(size)
	for i := range b.words {
		b.words[i] = ^uint64(0)
	}
	if rest := size % 64; rest > 0 {
		b.words[len(b.words)-1] = 1<<rest - 1
	}
	return b
}

// Size is the number of possible members.
func (b *Bitmap) Size() int { return b.size }

// Add adds a number.
func (b *Bitmap) Add(i int) { b.words[i/64] |= 1 << (i % 64) }

// Remove removes a number.
func (b *Bitmap) Remove(i int) { b.words[i/64] &^= 1 << (i % 64) }

// Has reports whether a number is in the set.
func (b *Bitmap) Has(i int) bool { return b.words[i/64]&(1<<(i%64)) != 0 }

// Count returns how many numbers are in the set.
func (b *Bitmap) Count() int {
	n := 0
	for _, w := range b.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// Clone returns a copy.
func (b *Bitmap) Clone() *Bitmap { return &Bitmap{append([]uint64(nil), b.words...), b.size} }

// Key is equal for equal sets of one size.
func (b *Bitmap) Key() string {
	key := make([]byte, 0, 8*len(b.words))
	for _, w := range b.words {
		for range 8 {
			key = append(key, byte(w))
			w >>= 8
		}
	}
	return string(key)
}

// And returns the numbers that are in both sets, which have one size.
func (b *Bitmap) And(other *Bitmap) *Bitmap {
	both := New(b.size)
	for i, w := range b.words {
		both.words[i] = w & other.words[i]
	}
	return both
}

// Words returns the members as bits of 64-bit words, the smallest first.
func (b *Bitmap) Words() []uint64 { return b.words }
