package bert

import "testing"

// kernels runs a test with each set of kernels that the processor has.
func kernels(t *testing.T, test func(t *testing.T)) {
	avx2, avx512 := hasAVX2, hasAVX512
	defer func() { hasAVX2, hasAVX512 = avx2, avx512 }()
	t.Run("Go", func(t *testing.T) { hasAVX2, hasAVX512 = false, false; test(t) })
	t.Run("AVX2", func(t *testing.T) {
		if !avx2 {
			t.Skip("the processor does not have AVX2")
		}
		hasAVX2, hasAVX512 = true, false
		test(t)
	})
	t.Run("AVX-512", func(t *testing.T) {
		if !avx512 {
			t.Skip("the processor does not have AVX-512 VNNI")
		}
		hasAVX2, hasAVX512 = true, true
		test(t)
	})
}

func BenchmarkTile(b *testing.B) {
	avx2, avx512 := hasAVX2, hasAVX512
	defer func() { hasAVX2, hasAVX512 = avx2, avx512 }()
	for _, kernel := range []struct {
		name         string
		avx2, avx512 bool
	}{{"Go", false, false}, {"AVX2", avx2, false}, {"AVX-512", avx2, avx512}} {
		b.Run(kernel.name, func(b *testing.B) {
			hasAVX2, hasAVX512 = kernel.avx2, kernel.avx512
			const m, k, n = 64, 384, 1536
			var a rows
			a.resize(m, k)
			w, out := newMatrix(k, n), make([]float32, m*n)
			for b.Loop() {
				product(out, n, &a, w)
			}
			b.ReportMetric(2*m*k*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOPS")
		})
	}
}
