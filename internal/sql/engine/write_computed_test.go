package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// TestCostlyParts: what a text is known to compute cheaply, and what not.
func TestCostlyParts(t *testing.T) {
	db := open(t)
	s, err := db.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for expression, want := range map[string]string{
		"a + 1, -b, upper(a) || 'x', a IN (1, 2), CASE WHEN a THEN b END, coalesce(a, b), a::DECIMAL(9,2), [a, b], {'a': a}, count(*), now()": "",
		"lpad(a, 5, '0'), repeat('ab', 4096), replace(a, 'bc', 'd'), a LIKE '%x_', regexp_matches(a, '^[a-z]+$'), a AT TIME ZONE 'UTC'":       "",
		"a[1], a.b, a['x'], extract(year FROM d), INTERVAL 5 DAY, d + INTERVAL (n) DAY, date_trunc('day', d), json_extract(j, '$.a')":         "",
		"lpad(a, n, '0'), repeat(a, 5000), replace(a, 'b', 'cc'), a LIKE b, regexp_matches(a, '(x{50}){50}'), a AT TIME ZONE b": "lpad regexp_matches " +
			"repeat replace timezone ~~",
		"json_structure(j), list_transform(l, lambda x: x), range(n), format(a, b), levenshtein(a, b), nosuch(a), s.f(a)": "f format " +
			"json_structure levenshtein list_transform nosuch range",
		"a::VARIANT, b::STRUCT(x VARIANT[]), c::BIGNUM, " +
			"a::JSON::INTEGER[]": "BIGNUM VARIANT VARIANT",
		"(SELECT 1), EXISTS (FROM range(5)), " +
			"row_number() OVER ()": "(query) (query) (query) (query)",
	} {
		st, err := parse(s.c, "SELECT "+expression, NewCatalog(Contents{}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range st.Costly {
			if c.What == "" {
				c.What = "(query)"
			}
			got = append(got, c.What)
			if c.Offset < 0 {
				t.Errorf("%s: %s has no place", expression, c.What)
			}
		}
		slices.Sort(got)
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: got %q, want %q", expression, got, want)
		}
	}
}

// TestBoundedFunctionsExist: the list of bounded functions has those of the linked DuckDB, and none
// that is known to do harm.
func TestBoundedFunctionsExist(t *testing.T) {
	b, _ := parseBuiltins(builtinsList)
	operators := set("-> ! ctx")
	for _, name := range sqltree.BoundedCalls() {
		if !b.Has(name) && !operators[name] {
			t.Errorf("there is no function %q", name)
		}
		if classes := b.Unsafe(name); slices.Contains(classes, UnsafeCrash) || slices.Contains(classes, UnsafeHang) || slices.Contains(classes, UnsafeInvalidates) {
			t.Errorf("%s is %s", name, classes)
		}
	}
}
