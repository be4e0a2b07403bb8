package udf

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkStart compiles and installs functions like the seeds' haversine,
// with descriptions, into an empty runtime.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			yaml := haversines(n)
			for b.Loop() {
				b.StopTimer()
				r := start(b)
				pod := r.read(yaml)
				b.StartTimer()
				if problems := r.publish(pod); len(problems) > 0 || r.set.Len() != n {
					b.Fatal(problems)
				}
			}
		})
	}
}

func haversines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- { name: f%d, from: sql, description: Distance %d., signature: { args: [{ name: lat1, type: float64 }, { name: lon1, type: float64 }, "+
			"{ name: lat2, type: float64 }, { name: lon2, type: float64 }], returns: float64 }, body: %q }\n", i, i,
			fmt.Sprintf("%d * acos(cos(radians(lat1)) * cos(radians(lat2)) * cos(radians(lon2) - radians(lon1)) + sin(radians(lat1)) * sin(radians(lat2)))", 6371+i))
	}
	return b.String()
}

// TestManyFunctionsClamp: the macros that clamp are back after a bulk load.
func TestManyFunctionsClamp(t *testing.T) {
	r := start(t)
	r.load(haversines(2 * bulk))
	r.expect("SELECT count(*) FROM list_udfs() WHERE source = 'user'", "32")
	r.expect("SELECT acos(1.0000000001::DOUBLE), bool_and(f3(i, i, i, i) < 1e-3) FROM (SELECT (i / 1000)::DOUBLE AS i FROM range(90000) r(i))", "0.0|true")
}
