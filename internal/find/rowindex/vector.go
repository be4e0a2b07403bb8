package rowindex

import (
	"math"

	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

// nearest returns the rows whose chunks are nearest to a vector, best first: the score of a row is
// the cosine of its best chunk in a column. Rows at a right angle or beyond are not near.
func (ix *Index) nearest(counts *bitmap.Bitmap, column int, vector []float32, depth int) []candidate {
	n := ix.columns[column].Dimensions
	query, scale := widen(vector, n)
	if scale == 0 {
		return nil
	}
	found := make([][]candidate, len(ix.segments))
	parallel(len(ix.segments), func(i int) {
		f := &ix.segments[i].fields[column]
		cosines := make([]float32, len(f.rows))
		products(cosines, query, f.vectors)
		scores := make([]float32, ix.segments[i].rowCount())
		chunks := make([]int32, len(scores))
		for chunk, v := range cosines {
			row := f.rows[chunk]
			if v *= scale * f.scales[chunk]; v > scores[row] {
				if counts == nil || counts.Has(ix.bases[i]+int(row)) {
					scores[row], chunks[row] = v, int32(chunk)
				}
			}
		}
		least := kthLargest(scores, depth)
		var out []candidate
		for row, v := range scores {
			if v > 0 && v >= least {
				out = append(out, candidate{ix.bases[i] + row, float64(v), []int32{chunks[row]}})
			}
		}
		found[i] = best(out, depth)
	})
	var all []candidate
	for _, list := range found {
		all = append(all, list...)
	}
	return best(all, depth)
}

// widen returns a vector as 16-bit integers, so that the sum of its products with 8-bit integers
// fits in 32 bits, and the scale that makes its length 1; 0 if it has none.
func widen(v []float32, dimensions int) ([]int16, float32) {
	if len(v) != dimensions {
		return nil, 0
	}
	var squares, most float64
	for _, x := range v {
		squares += float64(x) * float64(x)
		most = max(most, math.Abs(float64(x)))
	}
	if squares == 0 || math.IsNaN(squares) || math.IsInf(squares, 0) {
		return nil, 0
	}
	largest := min(math.MaxInt16, math.MaxInt32/(127*float64(dimensions)))
	step := most / math.Floor(largest)
	out := make([]int16, dimensions)
	for i, x := range v {
		out[i] = int16(math.Round(float64(x) / step))
	}
	return out, float32(step / math.Sqrt(squares))
}

// productsGo fills dst with the products of a vector and the rows of a matrix.
func productsGo(dst []float32, query []int16, rows []int8) {
	n := len(query)
	for i := range dst {
		row := rows[i*n : (i+1)*n]
		var a, b, c, d int32
		k := 0
		for ; k+4 <= n; k += 4 {
			a += int32(query[k]) * int32(row[k])
			b += int32(query[k+1]) * int32(row[k+1])
			c += int32(query[k+2]) * int32(row[k+2])
			d += int32(query[k+3]) * int32(row[k+3])
		}
		for ; k < n; k++ {
			a += int32(query[k]) * int32(row[k])
		}
		dst[i] = float32(a + b + c + d)
	}
}
