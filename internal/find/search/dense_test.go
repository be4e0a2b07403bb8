package search_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/search"
)

func TestDenseIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, dim := range []int{1, 2, 3, 7, 384} {
		for _, n := range []int{0, 1, 3, 4, 5, 33} {
			vector := func() []float32 {
				v := make([]float32, dim)
				for i := range v {
					v[i] = rnd.Float32()*2 - 1
				}
				return v
			}
			dense := search.NewDense(dim)
			var rows [][]float32
			for range n {
				rows = append(rows, vector())
				if err := dense.Add(rows[len(rows)-1]); err != nil {
					t.Fatal(err)
				}
			}
			asked := vector()
			q, err := dense.Query(asked)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, n+1)
			got[n] = 9
			q.Cosines(got)
			for i, row := range append(rows, make([]float32, dim)) {
				if want := cosine(row, asked); math.Abs(float64(got[i])-want) > 1e-5 {
					t.Errorf("dimension %d, row %d of %d: %v, want %v", dim, i, n, got[i], want)
				}
			}
		}
	}
}

func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}

func TestDenseRefuses(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for about, vec := range map[string][]float32{"none": nil, "too long": {1, 2, 3}, "NaN": {nan, 1}, "infinity": {1, inf}} {
		dense := search.NewDense(2)
		if err := dense.Add(vec); !errors.Is(err, search.ErrVector) {
			t.Errorf("%s: Add returned %v", about, err)
		}
		if _, err := dense.Query(vec); !errors.Is(err, search.ErrVector) {
			t.Errorf("%s: Query returned %v", about, err)
		}
		if dense.Len() != 0 {
			t.Errorf("%s: the vector was kept", about)
		}
	}
}

func TestDenseLeavesTheCallersVector(t *testing.T) {
	dense := search.NewDense(2)
	vec := []float32{3, 4}
	if err := dense.Add(vec); err != nil {
		t.Fatal(err)
	}
	q, err := dense.Query(vec)
	if err != nil {
		t.Fatal(err)
	}
	if vec[0] != 3 || vec[1] != 4 {
		t.Errorf("the vector became %v", vec)
	}
	vec[0] = -3
	got := make([]float32, 1)
	if q.Cosines(got); math.Abs(float64(got[0])-1) > 1e-6 {
		t.Errorf("the cosine of a vector and itself is %v", got[0])
	}
}

func TestVectorOfZerosIsLikeNothing(t *testing.T) {
	ix := index(shop)
	dense := search.NewDense(2)
	for i := range shop {
		if err := dense.Add([]float32{0, float32(i % 2)}); err != nil {
			t.Fatal(err)
		}
	}
	q, err := dense.Query([]float32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	a := ix.Search(search.Query{Text: "zzz", Limit: 20, Vector: q})
	if len(a.Hits) != len(shop)/2 || a.Hits[0].Sources[1].Source != search.Vectors {
		t.Errorf("found %v, want the documents whose vector is not zero", a.Hits)
	}
}
