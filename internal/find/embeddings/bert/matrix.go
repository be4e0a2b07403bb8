package bert

import "math"

// Matrices are multiplied in integers of 16 bits. A row of activations and a
// column of weights are each scaled so that their Euclidean norms are at most
// rowNorm and columnNorm, and rounded. By the inequality of Cauchy and Schwarz
// no sum of products then exceeds 2^31, whatever the values are and in
// whatever order they are added, so that every kernel computes the same sums.
// Rounding changes a row by about .3·√k of rowNorm: 2 parts in 10,000 for a row
// of 384 values, in a direction that is random. Weights take half of the memory
// of float32, and processors multiply two to four times as many of them.
const (
	rowNorm    = 32_700 // + √k/2 for rounding; also keeps each value within int16
	columnNorm = 65_000
	maxValue   = 32_767
	// maxInner is the largest k for which (rowNorm+√k/2)·(columnNorm+√k/2) < 2^31.
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

// setColumn sets column j to the k values at from, step values apart. Their
// factor, by which values are multiplied before they are rounded, is found from
// their norm and their largest value.
func (m *matrix) setColumn(j int, from []float32, step int) {
	squares, most := 0.0, float32(0)
	for i := range m.k {
		x := from[i*step]
		squares += float64(x) * float64(x)
		most = max(most, x, -x)
	}
	if squares == 0 {
		return
	}
	factor := float32(min(columnNorm/math.Sqrt(squares), maxValue/float64(most)))
	if math.IsInf(float64(factor), 0) { // so small that they do not count
		return
	}
	m.scales[j] = 1 / factor
	panel := m.values[j/tileColumns*tileColumns*pairs(m.k)*2:][j%tileColumns*2:]
	for i := range m.k {
		panel[i/2*2*tileColumns+i%2] = int16(math.RoundToEven(float64(from[i*step] * factor)))
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

// set rounds the values of row i; factor multiplies the product.
func (r *rows) set(i int, from []float32, factor float32) {
	to := r.values[i*r.stride:][:r.stride]
	if len(to) > len(from) {
		to[len(to)-1] = 0
	}
	norm := math.Sqrt(float64(squares(from)))
	scale := float32(rowNorm / norm)
	if norm == 0 || math.IsInf(float64(scale), 0) {
		clear(to)
		r.scales[i] = 0
		return
	}
	round(to, from, scale)
	r.scales[i] = factor / scale
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
