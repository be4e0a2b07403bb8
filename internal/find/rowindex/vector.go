package rowindex

import (
	"math"
	"slices"

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
		seg := ix.segments[i]
		f := &seg.fields[column]
		cosines := make([]float32, len(f.rows))
		products(cosines, query, f.vectors)
		// The best rows by now; what is below least is not among them.
		var out []candidate
		least := float32(math.SmallestNonzeroFloat32)
		for chunk := 0; chunk < len(cosines); {
			row, at, top := f.rows[chunk], -1, least
			for ; chunk < len(cosines) && f.rows[chunk] == row; chunk++ {
				if v := cosines[chunk] * scale * f.scales[chunk]; v > top || v == top && at < 0 {
					at, top = chunk, v
				}
			}
			if at < 0 || counts != nil && !counts.Has(ix.bases[i]+int(row)) {
				continue
			}
			out = append(out, candidate{ix.bases[i] + int(row), seg.keys[row], float64(top), []int32{int32(at)}})
			if len(out) == 2*depth {
				out = best(out, depth)
				least = float32(out[depth-1].score)
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

// Parameters of [Index.agree], see internal/find/eval/MEASURED.md.
const (
	agreement     = .5
	agreementRows = 3  // best rows whose vectors are added to that of the query
	agreementMost = 64 // chunks of a row that are compared
)

// agree adds to the scores of rows that were found by words, best first, for how near they are to
// the query and to the best of them, and sorts them. A model that is not good enough to find rows
// still tells apart those that use the same words.
func (ix *Index) agree(rows []candidate, counts *bitmap.Bitmap, near Near) {
	rows = rows[:min(depth, len(rows))]
	if len(rows) < 2 {
		return
	}
	wanted := make([]float32, len(near.Vector))
	add := func(v []float32, share float64) {
		var squares float64
		for _, x := range v {
			squares += float64(x) * float64(x)
		}
		if squares > 0 && len(v) == len(wanted) {
			for i, x := range v {
				wanted[i] += float32(share * float64(x) / math.Sqrt(squares))
			}
		}
	}
	add(near.Vector, 1)
	for _, r := range rows[:min(agreementRows, len(rows))] {
		add(ix.vectorOf(r, counts, near), 1/float64(agreementRows))
	}
	query, scale := widen(wanted, ix.columns[near.Column].Dimensions)
	if scale == 0 {
		return
	}
	top := rows[0].score
	for i := range rows {
		cosine, _ := ix.cosineOf(rows[i].row, counts, near.Column, query, scale)
		rows[i].score += agreement * top * float64(cosine)
	}
	slices.SortFunc(rows, byScore)
}

// cosineOf returns the cosine of a row's nearest chunk and the chunk; 0 and -1 if it has none.
func (ix *Index) cosineOf(row int, counts *bitmap.Bitmap, column int, query []int16, scale float32) (float32, int) {
	if counts != nil && !counts.Has(row) {
		return 0, -1
	}
	number, local := ix.locate(row)
	f := &ix.segments[number].fields[column]
	from, to := f.chunksOf(local)
	to = min(to, from+agreementMost)
	cosines := make([]float32, to-from)
	products(cosines, query, f.vectors[from*f.dimensions:to*f.dimensions])
	best, at := float32(0), -1
	for i, v := range cosines {
		if v *= scale * f.scales[from+i]; at < 0 || v > best {
			best, at = v, from+i
		}
	}
	return best, at
}

// vectorOf returns the vector of a row's chunk that is nearest to the query; nil if it has none.
func (ix *Index) vectorOf(r candidate, counts *bitmap.Bitmap, near Near) []float32 {
	query, scale := widen(near.Vector, ix.columns[near.Column].Dimensions)
	if scale == 0 {
		return nil
	}
	_, chunk := ix.cosineOf(r.row, counts, near.Column, query, scale)
	if chunk < 0 {
		return nil
	}
	number, _ := ix.locate(r.row)
	values := ix.segments[number].fields[near.Column].vector(chunk)
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = float32(v)
	}
	return out
}

// quantize returns a vector as 8-bit integers, and the scale that makes its length 1. A vector that
// cannot be compared, with another length or infinite numbers, is similar to nothing: its scale is 0.
func quantize(v []float32, dimensions int) ([]int8, float32) {
	return integers[int8](v, dimensions, math.MaxInt8)
}

// widen is quantize for 16-bit integers, so that the sum of the products with 8-bit integers fits in
// 32 bits.
func widen(v []float32, dimensions int) ([]int16, float32) {
	largest := min(math.MaxInt16, math.MaxInt32/(math.MaxInt8*float64(dimensions)))
	return integers[int16](v, dimensions, math.Floor(largest))
}

// integers returns a vector as integers up to largest.
func integers[T int8 | int16](v []float32, dimensions int, largest float64) ([]T, float32) {
	out := make([]T, dimensions)
	if len(v) != dimensions {
		return out, 0
	}
	var squares, most float64
	for _, x := range v {
		squares += float64(x) * float64(x)
		most = max(most, math.Abs(float64(x)))
	}
	if squares == 0 || math.IsNaN(squares) || math.IsInf(squares, 0) {
		return out, 0
	}
	step := most / largest
	for i, x := range v {
		out[i] = T(math.Round(float64(x) / step))
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
