package nearest

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"descripton", []string{"name", "description"}, "description"},
		{"DESCRIPTION", []string{"description"}, "description"},
		{"nmae", []string{"name"}, "name"},
		{"abc", []string{"abd", "abe"}, "abd"},
		{"abc", []string{"axx", "abc"}, "abc"},
		{"ab", []string{"ac"}, "ac"},
		{"a", []string{"b"}, ""},
		{"abc", []string{"xyz"}, ""},
		{"größe", []string{"grösse", "große"}, "große"},
		{"", []string{"a"}, ""},
		{"a", nil, ""},
		{strings.Repeat("a", maxLen), []string{strings.Repeat("a", maxLen-1)}, strings.Repeat("a", maxLen-1)},
		{strings.Repeat("a", maxLen+1), []string{strings.Repeat("a", maxLen)}, ""},
		{"abc", []string{strings.Repeat("a", maxLen+1)}, ""},
	} {
		if got := Name(c.name, c.candidates); got != c.want {
			t.Errorf("Name(%.20q, %.40q) = %q, want %q", c.name, c.candidates, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"ca", "abc", 3}} {
		if got := distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	word := func() []rune {
		w := make([]rune, rnd.IntN(8))
		for i := range w {
			w[i] = rune("abcé"[rnd.IntN(4)])
		}
		return w
	}
	for range 5000 {
		a, b := word(), word()
		d := distance(a, b)
		if d != distance(b, a) || d > max(len(a), len(b)) || d < max(len(a)-len(b), len(b)-len(a)) || (d == 0) != (string(a) == string(b)) {
			t.Fatalf("distance(%q, %q) = %d, back %d", string(a), string(b), d, distance(b, a))
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("a", "b,c")
	f.Fuzz(func(t *testing.T, name, candidates string) {
		list := strings.Split(candidates, ",")
		if got := Name(name, list); got != "" && !strings.Contains(candidates, got) {
			t.Errorf("%q is no candidate", got)
		}
	})
}
