//go:build !amd64

package rowindex

// products is productsGo.
func products(dst []float32, query []int16, rows []int8) { productsGo(dst, query, rows) }
