package bert

import "math"

// Matrices are multiplied in integers of 16 bits. A row of activations and a
// column of weights are each scaled so that their Euclidean norm is maxNorm, and
// rounded. By the inequality of Cauchy and Schwarz no sum of products then
// leaves 32 bits, whatever the values are and in whatever order they are added,
// so that every kernel computes the same sums. Rounding changes a row by about
// .3·√k of maxNorm: 2 parts in 10,000 for 384 values, in a direction that is
// random. Weights take half of the memory of float32, and processors multiply
// twice as many of them.
const (
	maxNorm = 32_700
	// maxInner is the largest k. Rounding adds at most √k/2 to a norm, which
	// stays below 2^15, so that each value is an int16 too.
	maxInner = 16_384
)

const (
	tileRows    = 8
	tileColumns = 32
)

// matrix is a matrix of k rows and n columns, the right side of a product. It is
// stored in panels of tileColumns columns, the last one padded with zeros. In a
// panel, the two values of a column in rows 2i and 2i+1 are adjacent, as the
// kernels read them.
type matrix struct {
	k, n   int
	values []int16
	scales []float32 // by column, padded as the panels: the value of 1
	bias   []float32 // by column, padded
}

// pairs returns the number of pairs in a column.
func pairs(k int) int { return (k + 1) / 2 }

// panels returns the number of panels of n columns.
func panels(n int) int { return (n + tileColumns - 1) / tileColumns }

// newMatrix returns a matrix that is not set.
func newMatrix(k, n int) *matrix {
	m := &matrix{}
	m.resize(k, n)
	return m
}

// resize makes room for another matrix and sets it to zero.
func (m *matrix) resize(k, n int) {
	width := panels(n) * tileColumns
	m.k, m.n = k, n
	m.values = room(m.values, width*pairs(k)*2)
	m.scales, m.bias = room(m.scales, width), room(m.bias, width)
	clear(m.values)
	clear(m.scales)
	clear(m.bias)
}

// room returns a slice of n values that uses s if it is large enough.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// factor returns by what values are multiplied before they are rounded, from
// their norm; 0 if they are zero, or too small to count.
func factor(squares float32) float32 {
	f := maxNorm / float32(math.Sqrt(float64(squares)))
	if math.IsInf(float64(f), 0) {
		return 0
	}
	return f
}

// inverse returns 1/f, and 0 for 0.
func inverse(f float32) float32 {
	if f == 0 {
		return 0
	}
	return 1 / f
}

// panel returns the panel of a column.
func (m *matrix) panel(column int) []int16 {
	size := tileColumns * pairs(m.k) * 2
	return m.values[column/tileColumns*size:][:size]
}

// setColumn sets column j.
func (m *matrix) setColumn(j int, values []float32) {
	values = values[:m.k]
	f := factor(squares(values))
	m.scales[j] = inverse(f)
	panel := m.panel(j)
	at := j % tileColumns * 2
	for i, v := range values {
		panel[at+i&1] = rounded(v * f)
		at += i & 1 * 2 * tileColumns
	}
}

// setRows sets all columns from rows that are step values apart.
func (m *matrix) setRows(from []float32, step int) {
	for first := 0; first < m.n; first += tileColumns {
		width := min(tileColumns, m.n-first)
		var sums, factors [tileColumns]float32
		for i := range m.k {
			for c, v := range from[i*step+first:][:width] {
				sums[c] += v * v
			}
		}
		for c := range width {
			factors[c] = factor(sums[c])
			m.scales[first+c] = inverse(factors[c])
		}
		panel := m.panel(first)
		for i := range m.k {
			to := panel[i/2*2*tileColumns+i%2:]
			for c, v := range from[i*step+first:][:width] {
				to[2*c] = rounded(v * factors[c])
			}
		}
	}
}

// rows are the rows of the left side of a product, rounded.
type rows struct {
	n, stride int // stride: values of a row, padded to pairs
	values    []int16
	scales    []float32 // by row, the value of 1
}

// resize makes room for n rows of k values. There are rows of zeros up to the
// next multiple of tileRows.
func (r *rows) resize(n, k int) {
	padded := (n + tileRows - 1) / tileRows * tileRows
	r.n, r.stride = n, 2*pairs(k)
	r.values, r.scales = room(r.values, padded*r.stride), room(r.scales, padded)
	clear(r.values[n*r.stride:])
	clear(r.scales[n:])
}

// set rounds the values of row i; scale multiplies the product.
func (r *rows) set(i int, from []float32, scale float32) {
	to := r.values[i*r.stride:][:r.stride]
	to[len(to)-1] = 0 // if their number is odd
	f := factor(squares(from))
	round(to, from, f)
	r.scales[i] = inverse(f) * scale
}

// product sets out, whose rows are stride values apart, to a·b + b.bias. out may
// be a part of a larger matrix: nothing but its a.n × b.n values is written.
func product(out []float32, stride int, a *rows, b *matrix) {
	var edge [tileRows * tileColumns]float32
	size := tileColumns * pairs(b.k) * 2
	for panel := range panels(b.n) {
		column := panel * tileColumns
		weights := b.values[panel*size:][:size]
		scales, bias := b.scales[column:][:tileColumns], b.bias[column:][:tileColumns]
		for row := 0; row < a.n; row += tileRows {
			left, rowScales := a.values[row*a.stride:][:tileRows*a.stride], a.scales[row:][:tileRows]
			if row+tileRows <= a.n && column+tileColumns <= b.n {
				tile(out[row*stride+column:], stride, left, a.stride, weights, rowScales, scales, bias)
				continue
			}
			tile(edge[:], tileColumns, left, a.stride, weights, rowScales, scales, bias)
			width := min(tileColumns, b.n-column)
			for i := range min(tileRows, a.n-row) {
				copy(out[(row+i)*stride+column:][:width], edge[i*tileColumns:])
			}
		}
	}
}
