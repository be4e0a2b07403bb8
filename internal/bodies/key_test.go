package bodies

import (
	"math/rand/v2"
	"testing"
)

// TestRowTable compares a table with a map: the same numbers for the same keys, in the order
// in which they were new.
func TestRowTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var table rowTable
	for range 3 {
		table.reset()
		want := map[string]int{}
		for range 50_000 {
			key := make([]byte, random.IntN(4))
			for i := range key {
				key[i] = byte(random.IntN(20))
			}
			number, known := want[string(key)]
			if !known {
				number = len(want)
				want[string(key)] = number
			}
			if got, added := table.add(key); got != number || added == known {
				t.Fatalf("add(%v) = %d, %t, want %d, %t", key, got, added, number, !known)
			}
		}
		if len(want) < 4000 {
			t.Fatalf("%d keys, too few to make the table grow", len(want))
		}
	}
}
