package portable

import (
	"math/rand/v2"
	"slices"
)

// Choices are the decisions from which a statement is made: random ones, or those of a
// statement before, whose end is followed by zeros. So every list of numbers makes a
// statement, and a shorter one with smaller numbers makes a simpler one.
type Choices struct {
	r     *rand.Rand // nil: given
	given []int
	made  []int
}

// Random makes random choices.
func Random(r *rand.Rand) *Choices { return &Choices{r: r} }

func (c *Choices) next(of int) int {
	v := 0
	switch {
	case c.r != nil:
		v = c.r.IntN(of)
	case len(c.made) < len(c.given):
		v = min(c.given[len(c.made)], of-1)
	}
	c.made = append(c.made, v)
	return v
}

// mostTries limits how many statements a search for the smallest one tries.
const mostTries = 600

// Shrink returns the smallest statement that it finds for which fails is still true. It
// leaves out parts of the choices, shorter ones each time, and lowers single ones.
func (c *Catalog) Shrink(s Statement, fails func(Statement) bool) Statement {
	tries := 0
	try := func(given []int) bool {
		if tries++; tries > mostTries {
			return false
		}
		next := c.Statement(&Choices{given: given})
		if !smaller(next, s) || !fails(next) {
			return false
		}
		s = next
		return true
	}
	for before := ""; before != s.SQL && tries <= mostTries; {
		before = s.SQL
		for size := max(1, len(s.choices)/2); size > 0; size /= 2 {
			for at := 0; at+size <= len(s.choices); {
				if !try(slices.Delete(slices.Clone(s.choices), at, at+size)) {
					at += max(1, size/2)
				}
			}
		}
		for at := 0; at < len(s.choices); at++ {
			for v := range s.choices[at] {
				given := slices.Clone(s.choices)
				given[at] = v
				if try(given) {
					break
				}
			}
		}
	}
	return s
}

// smaller compares by the lengths of the texts first.
func smaller(a, b Statement) bool {
	if len(a.SQL) != len(b.SQL) {
		return len(a.SQL) < len(b.SQL)
	}
	return slices.Compare(a.choices, b.choices) < 0
}
