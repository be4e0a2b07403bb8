package bert

import "math"

// The functions of this file are the portable form of the kernels in
// kernel_amd64.s; tests compare them.

// tileGo computes tileRows × tileColumns values of a product: sums of products
// of the rows of a with the columns of a panel, scaled, with the bias added.
func tileGo(out []float32, stride int, a []int16, aStride int, b []int16, rowScales, scales, bias []float32) {
	for r := range tileRows {
		row, to := a[r*aStride:][:aStride], out[r*stride:][:tileColumns]
		for c := 0; c < tileColumns; c += 4 {
			var s0, s1, s2, s3 int32 // in registers
			for i := 0; i+1 < len(row); i += 2 {
				x, y, w := int32(row[i]), int32(row[i+1]), b[i*tileColumns+2*c:][:8]
				s0 += x*int32(w[0]) + y*int32(w[1])
				s1 += x*int32(w[2]) + y*int32(w[3])
				s2 += x*int32(w[4]) + y*int32(w[5])
				s3 += x*int32(w[6]) + y*int32(w[7])
			}
			for j, sum := range [4]int32{s0, s1, s2, s3} {
				to[c+j] = float32(sum)*rowScales[r]*scales[c+j] + bias[c+j]
			}
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

// roundGo rounds x·factor, which are values of int16, to the nearest integers.
func roundGo(to []int16, x []float32, factor float32) {
	to = to[:len(x)]
	for i, v := range x {
		to[i] = rounded(v * factor)
	}
}

// rounded returns the nearest integer, the even one of two. Added to 1.5·2^23,
// it is in the lowest bits.
func rounded(x float32) int16 { return int16(math.Float32bits(float32(x) + 3<<22)) }

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

// exp's numbers: ln 2 is in two parts, so that n·ln2High is exact; the others
// are the polynomial of Cephes' expf.
const (
	expLeast = -87
	log2e    = math.Log2E
	ln2High  = 0.693359375
	ln2Low   = -2.12194440e-4
	exp7     = 1.9875691500e-4
	exp6     = 1.3981999507e-3
	exp5     = 8.3334519073e-3
	exp4     = 4.1665795894e-2
	exp3     = 1.6666665459e-1
	exp2     = 5.0000001201e-1
)

// exp returns e^x for x ≤ 0 with an error of 2 units in the last place: 2^n·e^r
// with |r| ≤ ln 2 / 2. Below -87 it is e^-87, almost 0.
func exp(x float32) float32 {
	x = max(x, expLeast)
	n := float32(math.RoundToEven(float64(x * log2e)))
	r := x - n*ln2High
	r -= n * ln2Low
	p := float32(exp7)
	p = p*r + exp6
	p = p*r + exp5
	p = p*r + exp4
	p = p*r + exp3
	p = p*r + exp2
	p = p*r*r + r + 1
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// geluGo replaces x with x·Φ(x), Φ the distribution function of the normal
// distribution: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
func geluGo(x []float32) {
	for i, v := range x {
		x[i] = .5 * v * (1 + erf(v*halfRoot))
	}
}

// erf's numbers, of Eigen and XLA: the numerator and the denominator.
const (
	halfRoot = math.Sqrt2 / 2
	erfP13   = -2.72614225801306e-10
	erfP11   = 2.77068142495902e-08
	erfP9    = -2.10102402082508e-06
	erfP7    = -5.69250639462346e-05
	erfP5    = -7.34990630326855e-04
	erfP3    = -2.95459980854025e-03
	erfP1    = -1.60960333262415e-02
	erfQ8    = -1.45660718464996e-05
	erfQ6    = -2.13374055278905e-04
	erfQ4    = -1.68282697438203e-03
	erfQ2    = -7.37332916720468e-03
	erfQ0    = -1.42647390514189e-02
)

// erf is the error function with an error below 1e-6: a rational approximation
// between -4 and 4, beyond which float32 has ±1.
func erf(x float32) float32 {
	x = min(max(x, -4), 4)
	s := x * x
	p := float32(erfP13)
	p = p*s + erfP11
	p = p*s + erfP9
	p = p*s + erfP7
	p = p*s + erfP5
	p = p*s + erfP3
	p = p*s + erfP1
	q := float32(erfQ8)
	q = q*s + erfQ6
	q = q*s + erfQ4
	q = q*s + erfQ2
	q = q*s + erfQ0
	return x * p / q
}

// normaliseGo adds y to x, and gives x the mean and the deviation of a layer
// normalisation.
func normaliseGo(x, y, weight, bias []float32, epsilon float32) {
	y, weight, bias = y[:len(x)], weight[:len(x)], bias[:len(x)]
	var sum, squares float32
	for i := range x {
		x[i] += y[i]
		sum += x[i]
	}
	mean := sum / float32(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	scale := float32(1 / math.Sqrt(float64(squares/float32(len(x))+epsilon)))
	for i, v := range x {
		x[i] = (v-mean)*scale*weight[i] + bias[i]
	}
}
