package objects

import "testing"

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		glob, key string
		want      bool
	}{
		{"a/*.csv", "a/b.csv", true},
		{"a/*.csv", "a/b/c.csv", false},
		{"a/*.csv", "a/b.json", false},
		{"**/*.csv", "b.csv", true},
		{"**/*.csv", "a/b/c.csv", true},
		{"a/**/*.csv", "a/c.csv", true},
		{"a/**/x=*/*.csv", "a/b/x=1/c.csv", true},
		{"a/**/x=*/*.csv", "a/b/y=1/c.csv", false},
		{"a/**", "a/b/c", true},
		{"a/?[bc]", "a/xb", true},
		{"a/?[bc]", "a/xd", false},
		{"a/[", "a/[", false},
	} {
		if got := matches(c.glob, c.key); got != c.want {
			t.Errorf("%s matches %s: %v", c.glob, c.key, got)
		}
	}
}
