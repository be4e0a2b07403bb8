package bert

//go:noescape
func tileNEON(sums *[32]int32, a *int16, aStride int, b *int16, pairs int)

// tile is tileGo. Every arm64 processor has what it needs.
func tile(out []float32, stride int, a []int16, aStride int, b []int16, rowScales, scales, bias []float32) {
	if len(b) == 0 {
		tileGo(out, stride, a, aStride, b, rowScales, scales, bias)
		return
	}
	_, _ = a[tileRows*aStride-1], b[aStride*tileColumns-1] // the bounds that the kernel does not check
	var sums [32]int32
	for r := 0; r < tileRows; r += 4 {
		for c := 0; c < tileColumns; c += 8 {
			tileNEON(&sums, &a[r*aStride], aStride, &b[2*c], aStride/2)
			for i := range 4 {
				to, scale := out[(r+i)*stride+c:][:8], rowScales[r+i]
				for j, sum := range sums[8*i:][:8] {
					to[j] = float32(float32(sum)*scale*scales[c+j]) + bias[c+j]
				}
			}
		}
	}
}
