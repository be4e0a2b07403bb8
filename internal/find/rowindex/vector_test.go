package rowindex

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProducts compares the processor's instructions with Go, at the ends of the range.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 3, 31, 32, 64, 96, 128, 384, 1536, 3072} {
		for _, rows := range []int{0, 1, 2, 7} {
			query, matrix := make([]int16, n), make([]int8, n*rows)
			largest := min(math.MaxInt16, math.MaxInt32/(127*n))
			for i := range query {
				query[i] = int16(rng.IntN(2*largest+1) - largest)
				if i%3 == 0 {
					query[i] = int16(largest)
				}
			}
			for i := range matrix {
				matrix[i] = int8(rng.IntN(255) - 127)
				if i%3 == 0 {
					matrix[i] = 127
				}
			}
			want, have := make([]float32, rows), make([]float32, rows)
			productsGo(want, query, matrix)
			products(have, query, matrix)
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%d rows of %d: %s", rows, n, diff)
			}
		}
	}
}

// TestCosine compares the cosines of 8-bit vectors with exact ones.
func TestCosine(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const n = 384
	random := func() []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	for range 100 {
		a, b := random(), random()
		var product, aa, bb float64
		for i := range a {
			product += float64(a[i]) * float64(b[i])
			aa += float64(a[i]) * float64(a[i])
			bb += float64(b[i]) * float64(b[i])
		}
		row, rowScale := quantize(a, n)
		query, scale := widen(b, n)
		got := make([]float32, 1)
		products(got, query, row)
		if have, want := float64(got[0]*scale*rowScale), product/math.Sqrt(aa*bb); math.Abs(have-want) > .003 {
			t.Errorf("%v, want %v", have, want)
		}
	}
	for name, v := range map[string][]float32{
		"zero": make([]float32, n), "short": {1}, "infinite": append(make([]float32, n-1), float32(math.Inf(1))),
		"not a number": append(make([]float32, n-1), float32(math.NaN())),
	} {
		if _, scale := quantize(v, n); scale != 0 {
			t.Errorf("a %s vector has a scale", name)
		}
		if _, scale := widen(v, n); scale != 0 {
			t.Errorf("a %s query has a scale", name)
		}
	}
}
