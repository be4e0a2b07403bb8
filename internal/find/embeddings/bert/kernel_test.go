package bert

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// random returns n values, a few of them much larger than the others.
func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		if r.IntN(20) == 0 {
			x[i] *= 50
		}
	}
	return x
}

// near fails if got is further from want than a part of want, or of 1.
func near(t *testing.T, what string, got, want []float32, part float64) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= part*max(1, math.Abs(float64(want[i])))) {
			t.Fatalf("%s: value %d of %d is %g; want %g", what, i, len(want), got[i], want[i])
		}
	}
}

// The sums are exact for rows and columns at the limit of their norms, and for
// those of one value or of equal ones, with every kernel.
func TestSumsAreExact(t *testing.T) {
	kernels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, k := range []int{1, 2, 15, 16, 384, 1536, maxInner} {
			left, right := make([][]float32, tileRows), make([][]float32, tileColumns)
			for i := range left {
				left[i] = extreme(r, i, k)
			}
			for i := range right {
				right[i] = extreme(r, i, k)
			}
			var a rows
			a.resize(tileRows, k)
			m := newMatrix(k, tileColumns)
			for i, x := range left {
				a.set(i, x, 1)
				a.scales[i] = 1.0 / (1 << 8) // sums keep 24 bits
			}
			for j, x := range right {
				m.setColumn(j, x)
				m.scales[j] = 1
			}
			out := make([]float32, tileRows*tileColumns)
			product(out, tileColumns, &a, m)
			for i := range tileRows {
				for j := range tileColumns {
					want := int64(0)
					for x := range k {
						want += int64(a.values[i*a.stride+x]) * int64(m.values[x/2*2*tileColumns+2*j+x%2])
					}
					if want > math.MaxInt32 || want < math.MinInt32 {
						t.Fatalf("k %d: the sum %d leaves 32 bits", k, want)
					}
					if got := out[i*tileColumns+j]; got != float32(int32(want))/(1<<8) {
						t.Fatalf("k %d, row %d, column %d: %g; want %d/256", k, i, j, got, want)
					}
				}
			}
		}
	})
}

// extreme returns k values: equal ones, a single one, or random ones.
func extreme(r *rand.Rand, i, k int) []float32 {
	x := make([]float32, k)
	switch i % 4 {
	case 0:
		for j := range x {
			x[j] = -1e30 / 1e12
		}
	case 1:
		x[r.IntN(k)] = 1e15
	case 2:
		return x // zeros
	default:
		return random(r, k)
	}
	return x
}

func TestProduct(t *testing.T) {
	kernels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, size := range [][3]int{{1, 1, 1}, {7, 24, 31}, {8, 32, 32}, {9, 33, 65}, {20, 385, 40}, {3, 1536, 384}} {
			m, k, n := size[0], size[1], size[2]
			x, w, bias := random(r, m*k), random(r, n*k), random(r, n)
			var a rows
			a.resize(m, k)
			for i := range m {
				a.set(i, x[i*k:][:k], 1)
			}
			b, c := newMatrix(k, n), newMatrix(k, n)
			transposed := make([]float32, k*n)
			for j := range n {
				b.setColumn(j, w[j*k:])
				for i := range k {
					transposed[i*n+j] = w[j*k+i]
				}
			}
			c.setRows(transposed, n)
			copy(b.bias, bias)
			copy(c.bias, bias)
			stride := n + 3
			for _, right := range []*matrix{b, c} {
				out := make([]float32, (m-1)*stride+n+1)
				out[len(out)-1] = 7
				product(out, stride, &a, right)
				for i := range m {
					for j := range n {
						want, scale := float64(bias[j]), 0.0
						var xx, ww float64
						for l := range k {
							p, q := float64(x[i*k+l]), float64(w[j*k+l])
							want, xx, ww = want+p*q, xx+p*p, ww+q*q
						}
						scale = math.Sqrt(xx * ww)
						if d := math.Abs(float64(out[i*stride+j]) - want); d > 2e-3*scale+1e-5 {
							t.Fatalf("%d: row %d, column %d: %g; want %g", size, i, j, out[i*stride+j], want)
						}
					}
					for j := n; j < stride && i < m-1; j++ {
						if out[i*stride+j] != 0 {
							t.Fatalf("%d: a value after row %d was written", size, i)
						}
					}
				}
				if out[len(out)-1] != 7 {
					t.Fatalf("%d: a value after the last row was written", size)
				}
			}
		}
	})
}

func TestFunctions(t *testing.T) {
	kernels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := 1; n < 100; n++ {
			x := random(r, n)
			what := fmt.Sprintf("of %d values: ", n)
			near(t, "squares"+what, []float32{squares(x)}, []float32{squaresGo(x)}, 1e-5)
			a, b := make([]int16, n), make([]int16, n)
			round(a, x, 123.4)
			for i, v := range x {
				if b[i] = int16(math.RoundToEven(float64(v * 123.4))); a[i] != b[i] {
					t.Fatalf("round %s%d; want %d", what, a[i], b[i])
				}
			}
			got, want := append([]float32(nil), x...), make([]float32, n)
			gelu(got)
			for i, v := range x {
				want[i] = float32(float64(v) / 2 * (1 + math.Erf(float64(v)/math.Sqrt2)))
			}
			near(t, "gelu "+what, got, want, 2e-6)

			got = append([]float32(nil), x...)
			most, total := math.Inf(-1), 0.0
			for _, v := range x {
				most = max(most, float64(v))
			}
			for i, v := range x {
				e := math.Exp(float64(v) - most)
				want[i], total = float32(e), total+e
			}
			sum := softmax(got)
			near(t, "softmax "+what, append(got, sum), append(want, float32(total)), 1e-5)

			got = append([]float32(nil), x...)
			y, weight, bias := random(r, n), random(r, n), random(r, n)
			normalise(got, y, weight, bias, 1e-12)
			mean, deviation := 0.0, 0.0
			for i := range x {
				mean += float64(x[i]+y[i]) / float64(n)
			}
			for i := range x {
				deviation += (float64(x[i]+y[i]) - mean) * (float64(x[i]+y[i]) - mean) / float64(n)
			}
			for i := range want[:n] {
				want[i] = float32((float64(x[i]+y[i])-mean)/math.Sqrt(deviation+1e-12)*float64(weight[i]) + float64(bias[i]))
			}
			if n > 2 {
				near(t, "normalise "+what, got, want[:n], 1e-3)
			}
		}
	})
}
