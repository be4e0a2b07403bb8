package rowindex

import "golang.org/x/sys/cpu"

// hasAVX2 is what the processor has. Tests change it.
var hasAVX2 = cpu.X86.HasAVX2

//go:noescape
func products256(dst *float32, query *int16, rows *int8, count, n int)

// products is productsGo.
func products(dst []float32, query []int16, rows []int8) {
	n := len(query)
	if !hasAVX2 || len(dst) == 0 || n == 0 || n%32 != 0 {
		productsGo(dst, query, rows)
		return
	}
	_ = rows[len(dst)*n-1] // the bound that the kernel does not check
	products256(&dst[0], &query[0], &rows[0], len(dst), n)
}
