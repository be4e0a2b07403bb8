package bert

import "math"

// The functions of this file are the portable form of the kernels in
// kernel_amd64.s; tests compare them.

// tileGo computes tileRows × tileColumns values of a product: sums of products
// of the rows of a with the columns of a panel, scaled, with the bias added.
func tileGo(out []float32, stride int, a []int16, aStride int, b []int16, rowScales, scales, bias []float32) {
	for r := range tileRows {
		row := a[r*aStride:][:aStride]
		var sums [tileColumns]int32
		for i := 0; i+1 < len(row); i += 2 {
			x, y := int32(row[i]), int32(row[i+1])
			w := b[i*tileColumns:][:2*tileColumns]
			for c := range sums {
				sums[c] += x*int32(w[2*c]) + y*int32(w[2*c+1])
			}
		}
		to := out[r*stride:][:tileColumns]
		for c, sum := range sums {
			to[c] = float32(sum)*rowScales[r]*scales[c] + bias[c]
		}
	}
}

// squaresGo returns the sum of the squares of x.
func squaresGo(x []float32) float32 {
	var s float32
	for _, v := range x {
		s += v * v
	}
	return s
}

// roundGo rounds x·factor to the nearest integers.
func roundGo(to []int16, x []float32, factor float32) {
	for i, v := range x {
		to[i] = int16(math.RoundToEven(float64(v * factor)))
	}
}

// softmaxGo replaces x with e to the power of (x − the largest x), and returns
// the sum. len(x) > 0.
func softmaxGo(x []float32) (sum float32) {
	most := x[0]
	for _, v := range x {
		most = max(most, v)
	}
	for i, v := range x {
		x[i] = exp(v - most)
		sum += x[i]
	}
	return sum
}

// exp returns e^x for x ≤ 0 with an error of 2 units in the last place: 2^n·e^r
// with |r| ≤ ln 2 / 2. Below -87 it is e^-87, almost 0.
func exp(x float32) float32 {
	const (
		high = 0.693359375 // ln 2 in two parts: n·high is exact
		low  = -2.12194440e-4
	)
	x = max(x, -87)
	n := float32(math.RoundToEven(float64(x * math.Log2E)))
	r := x - n*high
	r -= n * low
	p := float32(1.9875691500e-4) // Cephes' expf
	p = p*r + 1.3981999507e-3
	p = p*r + 8.3334519073e-3
	p = p*r + 4.1665795894e-2
	p = p*r + 1.6666665459e-1
	p = p*r + 5.0000001201e-1
	p = p*r*r + r + 1
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// geluGo replaces x with x·Φ(x), Φ the distribution function of the normal
// distribution: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
func geluGo(x []float32) {
	for i, v := range x {
		x[i] = .5 * v * (1 + erf(v*(math.Sqrt2/2)))
	}
}

// erf is the error function with an error below 1e-6: the rational
// approximation of Eigen and XLA, with an odd numerator of degree 13 and an even
// denominator of degree 8, between -4 and 4, beyond which float32 has ±1.
func erf(x float32) float32 {
	x = min(max(x, -4), 4)
	s := x * x
	p := float32(-2.72614225801306e-10)
	p = p*s + 2.77068142495902e-08
	p = p*s - 2.10102402082508e-06
	p = p*s - 5.69250639462346e-05
	p = p*s - 7.34990630326855e-04
	p = p*s - 2.95459980854025e-03
	p = p*s - 1.60960333262415e-02
	q := float32(-1.45660718464996e-05)
	q = q*s - 2.13374055278905e-04
	q = q*s - 1.68282697438203e-03
	q = q*s - 7.37332916720468e-03
	q = q*s - 1.42647390514189e-02
	return x * p / q
}
