package functions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// manyFunctions declares n functions like the seeds' haversine, each a little
// different, every tenth calling the one before.
func manyFunctions(n int, changed int) string {
	var b strings.Builder
	for i := range n {
		radius := 6371 + i%7
		if i == changed {
			radius = 1
		}
		body := fmt.Sprintf("%d * acos(cos(radians(lat1)) * cos(radians(lat2)) * cos(radians(lon2) - radians(lon1)) + sin(radians(lat1)) * sin(radians(lat2)))",
			radius)
		if i%10 == 9 {
			body = fmt.Sprintf("f%d(lat1, lon1, lat2, lon2) + 1", i-1)
		}
		fmt.Fprintf(&b, "- name: f%d\n  from: sql\n  description: Distance %d.\n  signature:\n    args:\n", i, i)
		for _, a := range []string{"lat1", "lon1", "lat2", "lon2"} {
			fmt.Fprintf(&b, "      - { name: %s, type: float64 }\n", a)
		}
		fmt.Fprintf(&b, "    returns: float64\n  body: |\n    %s\n", body)
	}
	return b.String()
}

// BenchmarkCompile shows what a first start costs: compiling, which uses every
// processor, and creating, which is one transaction.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := open(b)
			pod := load(b, manyFunctions(n, -1))
			for b.Loop() {
				start := time.Now()
				set, problems := Compile(b.Context(), db, pod, relations, nil)
				if len(problems) > 0 || set.Len() != n {
					b.Fatal(set.Len(), problems)
				}
				compiled := time.Now()
				err := db.Publish(b.Context(), engine.NewCatalog(engine.Contents{Generation: 1, Relations: relations, Functions: set.Engine()}), func(tx *engine.Tx) error {
					for _, f := range set.All() {
						if p := f.Create(tx, pod, Published()); p != nil {
							return *p
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(compiled.Sub(start).Milliseconds()), "compile-ms")
				b.ReportMetric(float64(time.Since(compiled).Milliseconds()), "create-ms")
			}
		})
	}
}

func BenchmarkReload(b *testing.B) {
	db := open(b)
	pod := load(b, manyFunctions(1000, -1))
	set, _ := publish(b, db, pod, nil)
	same := load(b, manyFunctions(1000, -1))
	one := load(b, manyFunctions(1000, 500))
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			if next, _ := Compile(b.Context(), db, same, relations, set); len(next.Changed(set)) != 0 {
				b.Fatal("changed")
			}
		}
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			if next, _ := Compile(b.Context(), db, one, relations, set); len(next.Changed(set)) != 1 {
				b.Fatal("changed")
			}
		}
	})
}
