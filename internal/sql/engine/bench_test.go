package engine

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
)

const haversineBody = `6371 * 2 * asin(sqrt(sin(radians(b - a) / 2) ^ 2 + cos(radians(a)) * cos(radians(c)) * sin(radians(d - b) / 2) ^ 2))`

// pointCases are statements over few rows: what they cost is the way there.
var pointCases = []struct {
	name, sql, raw string
	params         func(i int) []any
}{
	{
		"haversine", "SELECT haversine_km(?, ?, ?, ?)",
		"SELECT haversine_km(a, b, c, d) FROM (SELECT $1::DOUBLE a, $2::DOUBLE b, $3::DOUBLE c, $4::DOUBLE d)",
		func(i int) []any { return []any{52.5 + float64(i%90)/100, 13.4, 48.8, 2.3} },
	},
	{
		"lookup", "SELECT v FROM points WHERE id = ?", "SELECT v FROM points WHERE id = ?",
		func(i int) []any { return []any{int64(i % 10000)} },
	},
}

func benchSQL(schema string) []string {
	typed := "CAST((" + haversineBody + ") AS DOUBLE)"
	return []string{
		"CREATE TABLE " + schema + "points AS SELECT range AS id, range * 2 AS v FROM range(10000)",
		"CREATE FUNCTION " + schema + "haversine_km(a DOUBLE, b DOUBLE, c DOUBLE, d DOUBLE) AS " + typed,
	}
}

// BenchmarkQueryPoint compares [DB.Query] with the driver's own prepared
// statement in one run; metric "x-raw" is the ratio.
func BenchmarkQueryPoint(b *testing.B) {
	db := openWith(b, Options{})
	f := &Function{Name: "haversine_km", Signature: "haversine_km(…)", Once: true}
	for _, n := range []string{"a", "b", "c", "d"} {
		f.Args = append(f.Args, FunctionArg{Name: n, Type: "DOUBLE", Numeric: true})
	}
	publish(b, db, NewCatalog(Contents{Generation: 1, Relations: []Relation{{"public", "points"}}, Functions: []*Function{f}}), benchSQL("spice.public.")...)
	raw, err := sql.Open("duckdb", "")
	if err != nil {
		b.Fatal(err)
	}
	defer raw.Close()
	raw.SetMaxOpenConns(2 * runtime.GOMAXPROCS(0))
	raw.SetMaxIdleConns(2 * runtime.GOMAXPROCS(0))
	for _, s := range benchSQL("") {
		if _, err := raw.Exec(s); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range pointCases {
		st, err := raw.Prepare(c.raw)
		if err != nil {
			b.Fatal(err)
		}
		defer st.Close()
		ours := func(i int) error {
			n, err := run(context.Background(), db, Request{SQL: c.sql, Params: Params{Positional: c.params(i)}})
			if err == nil && n != 1 {
				err = fmt.Errorf("%d rows", n)
			}
			return err
		}
		theirs := func(i int) error {
			var v float64
			return st.QueryRow(c.params(i)...).Scan(&v)
		}
		b.Run(c.name+"/serial", func(b *testing.B) { compare(b, ours, theirs, serially) })
		b.Run(c.name+"/parallel", func(b *testing.B) { compare(b, ours, theirs, inParallel) })
	}
}

func compare(b *testing.B, ours, theirs func(int) error, loop func(*testing.B, int, func(int) error) time.Duration) {
	for _, f := range []func(int) error{ours, theirs} {
		loop(b, 50, f) // warm
	}
	n := max(b.N, 1)
	b.ResetTimer()
	took := loop(b, n, ours)
	b.StopTimer()
	base := loop(b, n, theirs)
	b.ReportMetric(float64(base.Nanoseconds())/float64(n), "raw-ns/op")
	b.ReportMetric(float64(took)/float64(base), "x-raw")
}

func serially(b *testing.B, n int, f func(int) error) time.Duration {
	start := time.Now()
	for i := range n {
		if err := f(i); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

func inParallel(b *testing.B, n int, f func(int) error) time.Duration {
	workers := 2 * runtime.GOMAXPROCS(0)
	errs := make(chan error, workers)
	start := time.Now()
	for w := range workers {
		go func() {
			var err error
			for i := w; i < n && err == nil; i += workers {
				err = f(i)
			}
			errs <- err
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}
