package rowindex

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

// BenchmarkNearest compares a vector with all of a million, on all processors.
func BenchmarkNearest(b *testing.B) {
	const segments = 16
	for _, dimensions := range []int{128, 384} {
		b.Run(fmt.Sprint(dimensions), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			ix := &Index{columns: []Column{{Dimensions: dimensions}}, live: bitmap.Full(segments * MaxSegmentChunks)}
			for i := range segments {
				s := &segment{keys: make([]uint64, MaxSegmentChunks), fields: make([]field, 1)}
				f := &s.fields[0]
				f.dimensions, f.rows = dimensions, make([]uint16, MaxSegmentChunks)
				f.scales, f.vectors = make([]float32, MaxSegmentChunks), make([]int8, MaxSegmentChunks*dimensions)
				for chunk := range f.rows {
					f.rows[chunk], f.scales[chunk] = uint16(chunk), .01
				}
				for k := range f.vectors {
					f.vectors[k] = int8(rng.Uint32())
				}
				ix.bases = append(ix.bases, i*MaxSegmentChunks)
				ix.segments = append(ix.segments, s)
			}
			vector := make([]float32, dimensions)
			for i := range vector {
				vector[i] = float32(rng.NormFloat64())
			}
			for b.Loop() {
				ix.nearest(nil, 0, vector, depth)
			}
		})
	}
}
