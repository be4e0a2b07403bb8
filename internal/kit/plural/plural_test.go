package plural

import "testing"

func TestOf(t *testing.T) {
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 2: "2 rows"} {
		if got := Of(n, "row"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
