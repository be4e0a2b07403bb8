//go:build !amd64

package bert

func squares(x []float32) float32 { return squaresGo(x) }

func round(to []int16, x []float32, factor float32) { roundGo(to, x, factor) }

func softmax(x []float32) float32 { return softmaxGo(x) }

func gelu(x []float32) { geluGo(x) }

func normalise(x, y, weight, bias []float32, epsilon float32) {
	normaliseGo(x, y, weight, bias, epsilon)
}
