package learn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spiced-sql/spiced/internal/find/learn"
)

// at is a vector of the given angle, so that cosines are known, of any length.
func at(degrees float64) []float32 {
	radians := degrees * math.Pi / 180
	return []float32{float32(7 * math.Cos(radians)), float32(7 * math.Sin(radians))}
}

func cosine(degrees float64) float64 { return math.Cos(degrees * math.Pi / 180) }

func pairs(tool, principal string, degrees ...float64) (list []learn.Pair) {
	for _, d := range degrees {
		list = append(list, learn.Pair{Tool: tool, Principal: principal, Vector: at(d), Calls: 1})
	}
	return list
}

func TestSupport(t *testing.T) {
	join := func(lists ...[]learn.Pair) (all []learn.Pair) {
		for _, list := range lists {
			all = append(all, list...)
		}
		return all
	}
	some := func(tool string, score float64) []learn.Supported {
		return []learn.Supported{{Tool: tool, Score: score}}
	}
	eight := []float64{10, 180, 180, 180, 180, 180, 180, 180}
	for _, c := range []struct {
		name  string
		who   string
		pairs []learn.Pair
		query [][]float32
		want  []learn.Supported
	}{
		{"nothing learned", "ann", nil, [][]float32{at(0)}, nil},
		{"one pair counts half", "ann", pairs("a", "ann", 20), [][]float32{at(0)}, some("a", cosine(20)/2)},
		{"the nearest of eight counts fully", "ann", pairs("a", "ann", eight...), [][]float32{at(0)}, some("a", cosine(10))},
		{"the nearest part of the query counts", "ann", pairs("a", "ann", 90), [][]float32{at(0), at(80)}, some("a", cosine(10)/2)},
		{
			"four calls of one pair", "ann",
			[]learn.Pair{{Tool: "a", Principal: "ann", Vector: at(10), Calls: 4}},
			[][]float32{at(0)},
			some("a", cosine(10)*(1+3./7)/2),
		},
		{"far away", "ann", pairs("a", "ann", 75), [][]float32{at(0)}, nil},
		{"one other principal", "ann", pairs("a", "bob", 10), [][]float32{at(0)}, nil},
		{"two others", "ann", join(pairs("a", "bob", 10), pairs("a", "cid", 10)), [][]float32{at(0)}, nil},
		{
			"three others: the third counts", "ann",
			join(pairs("a", "bob", 10, 90), pairs("a", "cid", 30), pairs("a", "dan", 20)),
			[][]float32{at(0)},
			some("a", cosine(30)*(1+2./7)/2),
		},
		{
			"the caller and two others", "ann",
			join(pairs("a", "bob", 10), pairs("a", "cid", 20), pairs("a", "ann", 30)),
			[][]float32{at(0)},
			some("a", cosine(30)/2), // her own
		},
		{"three that disagree", "ann", join(pairs("a", "bob", 10), pairs("a", "cid", 20), pairs("a", "dan", 100)), [][]float32{at(0)}, nil},
		{"without principals", "", pairs("a", "", 20), [][]float32{at(0)}, some("a", cosine(20)/2)},
		{"two tools", "ann", join(pairs("b", "ann", 20), pairs("a", "ann", 10)), [][]float32{at(0)}, []learn.Supported{{"a", cosine(10) / 2}, {"b", cosine(20) / 2}}},
		{"a query without known words", "ann", pairs("a", "ann", 20), [][]float32{{0, 0}}, nil},
		{"other dimensions", "ann", pairs("a", "ann", 20), [][]float32{{1, 0, 0}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := learn.New(c.pairs).Support(learn.Caller{Principal: c.who}, c.query)
			if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSpacesAreApart(t *testing.T) {
	list := pairs("a", "ann", 0)
	list[0].Space = "x"
	m := learn.New(list)
	for space, want := range map[string]int{"x": 1, "y": 0, "": 0} {
		if got := m.Support(learn.Caller{Principal: "ann", Space: space}, [][]float32{at(0)}); len(got) != want {
			t.Errorf("in space %q: %v", space, got)
		}
	}
}

// TestTwoPrincipalsAlone adds the pairs of two principals to random ones. However many these are,
// others get no more than an honest principal supports.
func TestTwoPrincipalsAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	vector := func() []float32 {
		v := make([]float32, 9)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	made := func(n int, principals ...string) (list []learn.Pair) {
		for range n {
			list = append(list, learn.Pair{
				Tool: fmt.Sprint("t", random.IntN(5)), Principal: principals[random.IntN(len(principals))], Vector: vector(), Calls: 1,
			})
		}
		return list
	}
	for range 50 {
		honest := made(random.IntN(20), "ann", "bob")
		before, after := learn.New(honest), learn.New(append(honest, made(1000, "mallory", "trudy")...))
		for range 20 {
			query := [][]float32{vector()}
			who := learn.Caller{Principal: []string{"ann", "bob", "new"}[random.IntN(3)]}
			own := before.Support(who, query)
			for _, got := range after.Support(who, query) {
				// Where an honest principal agrees with both, the weakest of the three counts.
				most := 0.0
				for _, principal := range []string{"ann", "bob"} {
					for _, s := range before.Support(learn.Caller{Principal: principal}, query) {
						if s.Tool == got.Tool {
							most = max(most, 2*s.Score)
						}
					}
				}
				if got.Score > most+1e-6 {
					t.Fatalf("%s gets %v, and had %v; honest principals support %.3f", who.Principal, got, own, most)
				}
			}
		}
	}
}

func BenchmarkSupport(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 6))
	vector := func() []float32 {
		v := make([]float32, 128)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	var list []learn.Pair
	for i := range 10_000 {
		list = append(list, learn.Pair{Tool: fmt.Sprint("t", i%200), Principal: fmt.Sprint("p", i%30), Vector: vector(), Calls: 1})
	}
	m, query := learn.New(list), [][]float32{vector()}
	for b.Loop() {
		m.Support(learn.Caller{Principal: "p1"}, query)
	}
}
