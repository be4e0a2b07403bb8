//go:build !amd64 && !arm64

package bert

func tile(out []float32, stride int, a []int16, aStride int, b []int16, rowScales, scales, bias []float32) {
	tileGo(out, stride, a, aStride, b, rowScales, scales, bias)
}
