package bert

import "golang.org/x/sys/cpu"

// What the processor has. Tests change it.
var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VNNI
)

//go:noescape
func tile512(out *float32, stride int, a *int16, aStride int, b *int16, pairs int, rowScales, scales, bias *float32)

//go:noescape
func tile256(out *float32, stride int, a *int16, aStride int, b *int16, pairs int, rowScales, scales, bias *float32)

//go:noescape
func squares256(x *float32, n int) float32

//go:noescape
func round256(to *int16, x *float32, n int, factor float32)

//go:noescape
func most256(x *float32, n int) float32

//go:noescape
func exp256(x *float32, n int, most float32, table *[11]float32) float32

//go:noescape
func gelu256(x *float32, n int, table *[17][8]float32)

//go:noescape
func norm256(x, y, weight, bias *float32, n int, share, epsilon float32)

// tile is tileGo.
func tile(out []float32, stride int, a []int16, aStride int, b []int16, rowScales, scales, bias []float32) {
	if !hasAVX2 || len(b) == 0 {
		tileGo(out, stride, a, aStride, b, rowScales, scales, bias)
		return
	}
	// The bounds that the kernels do not check.
	_, _ = out[(tileRows-1)*stride+tileColumns-1], a[tileRows*aStride-1]
	_, _, _, _ = b[aStride*tileColumns-1], rowScales[tileRows-1], scales[tileColumns-1], bias[tileColumns-1]
	if hasAVX512 {
		tile512(&out[0], stride, &a[0], aStride, &b[0], aStride/2, &rowScales[0], &scales[0], &bias[0])
		return
	}
	for r := 0; r < tileRows; r += 4 {
		for c := 0; c < tileColumns; c += 16 {
			tile256(&out[r*stride+c], stride, &a[r*aStride], aStride, &b[2*c], aStride/2, &rowScales[r], &scales[c], &bias[c])
		}
	}
}

// squares is squaresGo.
func squares(x []float32) float32 {
	n := len(x) &^ 15
	if !hasAVX2 || n == 0 {
		return squaresGo(x)
	}
	return squares256(&x[0], n) + squaresGo(x[n:])
}

// round is roundGo.
func round(to []int16, x []float32, factor float32) {
	n := len(x) &^ 15
	if hasAVX2 && n > 0 {
		_ = to[n-1]
		round256(&to[0], &x[0], n, factor)
	} else {
		n = 0
	}
	roundGo(to[n:], x[n:], factor)
}

// softmax is softmaxGo.
func softmax(x []float32) float32 {
	if n := len(x); !hasAVX2 || n == 0 || n%8 != 0 {
		return softmaxGo(x)
	}
	return exp256(&x[0], len(x), most256(&x[0], len(x)), &expTable)
}

// gelu is geluGo.
func gelu(x []float32) {
	n := len(x) &^ 7
	if hasAVX2 && n > 0 {
		gelu256(&x[0], n, &geluTable)
	} else {
		n = 0
	}
	geluGo(x[n:])
}

// normalise is normaliseGo.
func normalise(x, y, weight, bias []float32, epsilon float32) {
	n := len(x)
	if !hasAVX2 || n == 0 || n%8 != 0 {
		normaliseGo(x, y, weight, bias, epsilon)
		return
	}
	_, _, _ = y[n-1], weight[n-1], bias[n-1]
	norm256(&x[0], &y[0], &weight[0], &bias[0], n, 1/float32(n), epsilon)
}

// expTable has the numbers of exp.
var expTable = [...]float32{expLeast, log2e, ln2High, ln2Low, exp7, exp6, exp5, exp4, exp3, exp2, 1}

// geluTable has the numbers of gelu, each eight times.
var geluTable = func() (table [17][8]float32) {
	for i, x := range []float32{
		halfRoot, 4, -4, .5, 1, erfP13, erfP11, erfP9, erfP7, erfP5, erfP3, erfP1, erfQ8, erfQ6, erfQ4, erfQ2, erfQ0,
	} {
		for j := range table[i] {
			table[i][j] = x
		}
	}
	return table
}()
