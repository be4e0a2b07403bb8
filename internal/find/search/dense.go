package search

import (
	"errors"
	"fmt"
	"math"
)

// Vector is the query's side of the vector channel, bound to one query.
type Vector interface {
	// Cosines fills dst with the cosine of the query and every document, in
	// index order. A search calls it once, from a goroutine of its own.
	Cosines(dst []float32)
}

// ErrVector is a vector that cannot be compared.
var ErrVector = errors.New("vector cannot be compared")

// Dense holds an embedding model's vectors of the documents, and compares
// exactly. Add all documents in index order, then search; from then on it is
// safe for concurrent use.
type Dense struct {
	dim  int
	rows []float32 // after one another, each of length 1 or 0
}

// NewDense makes a Dense for vectors of dim numbers.
func NewDense(dim int) *Dense { return &Dense{dim: dim} }

// Len is the number of vectors.
func (d *Dense) Len() int { return len(d.rows) / max(d.dim, 1) }

// Add copies and normalises the next document's vector. A vector of zeros is
// like nothing. The error is [ErrVector]: another dimension, NaN or infinity.
func (d *Dense) Add(vec []float32) error {
	unit, err := d.unit(vec)
	if err != nil {
		return err
	}
	d.rows = append(d.rows, unit...)
	return nil
}

// Query prepares the query's vector, which it copies. The error is [ErrVector].
func (d *Dense) Query(vec []float32) (Vector, error) {
	unit, err := d.unit(vec)
	if err != nil {
		return nil, err
	}
	return &denseQuery{d, unit}, nil
}

func (d *Dense) unit(vec []float32) ([]float32, error) {
	if len(vec) != d.dim {
		return nil, fmt.Errorf("%w: it has %d dimensions, where %d are wanted", ErrVector, len(vec), d.dim)
	}
	var squares float64
	for i, v := range vec {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%w: number %d is %v", ErrVector, i, v)
		}
		squares += float64(v) * float64(v)
	}
	unit := make([]float32, len(vec))
	if squares == 0 {
		return unit, nil
	}
	length := math.Sqrt(squares)
	for i, v := range vec {
		unit[i] = float32(float64(v) / length)
	}
	return unit, nil
}

type denseQuery struct {
	d    *Dense
	unit []float32
}

// Cosines implements [Vector].
func (q *denseQuery) Cosines(dst []float32) {
	n := min(q.d.Len(), len(dst))
	clear(dst[n:])
	parallel(n/4, func(from, to int) {
		for i := 4 * from; i < 4*to; i += 4 {
			q.four(dst[i:i+4], i)
		}
	})
	for i := n - n%4; i < n; i++ {
		row := q.d.rows[i*q.d.dim : (i+1)*q.d.dim]
		var sum float32
		for k, v := range q.unit {
			sum += v * row[k]
		}
		dst[i] = sum
	}
}

// four fills the cosines of four rows at once: each number of the query is
// read from memory once for all of them, and no sum waits for another.
func (q *denseQuery) four(dst []float32, row int) {
	n := len(q.unit)
	rows := q.d.rows[row*n : (row+4)*n]
	unit := q.unit // of the same length as these, which spares checks in the loop
	a, b, c, d := rows[:n][:len(unit)], rows[n:][:len(unit)], rows[2*n:][:len(unit)], rows[3*n:][:len(unit)]
	var w, x, y, z float32
	for k, v := range unit {
		w += v * a[k]
		x += v * b[k]
		y += v * c[k]
		z += v * d[k]
	}
	dst[0], dst[1], dst[2], dst[3] = w, x, y, z
}
