package functions

import (
	"fmt"
	"strings"
	"testing"
)

// one declares a function of int64 in one line.
func one(name, args, body string) string {
	var list []string
	for _, a := range strings.Fields(args) {
		list = append(list, "{ name: "+a+", type: int64 }")
	}
	return fmt.Sprintf("- { name: %s, from: sql, signature: { args: [%s], returns: int64 }, body: %q }\n", name, strings.Join(list, ", "), body)
}

func names(fs []*Function) string {
	var list []string
	for _, f := range fs {
		list = append(list, f.Name)
	}
	return strings.Join(list, " ")
}

func TestOrder(t *testing.T) {
	db := open(t)
	pod := load(t, one("c", "x", "b(x) + a(x)")+one("b", "x", "a(x) + 1")+one("a", "x", "x * 2")+
		"- { name: off, from: sql, enabled: false, signature: { returns: nope }, body: '!' }\n")
	set, problems := publish(t, db, pod, nil)
	if len(problems) > 0 || names(set.All()) != "a b c" || names(set.Declared()) != "c b a" {
		t.Fatal(problems, names(set.All()), names(set.Declared()))
	}
	if got, err := query(t, db, "SELECT c(3)"); got != "13" || err != nil {
		t.Error(got, err)
	}
	if uses := set.Get("C").Uses.Functions; fmt.Sprint(uses) != "[b a]" {
		t.Error(uses)
	}
}

func TestCircles(t *testing.T) {
	db := open(t)
	pod := load(t, one("a", "x", "b(x)")+one("b", "x", "c(x)")+one("c", "x", "a(x) + x")+one("d", "x", "a(x)")+one("e", "x", "x"))
	set, problems := publish(t, db, pod, nil)
	want := strings.Join([]string{
		"5:97 function a: dependency cycle: a → b → c → a",
		"6:97 function b: dependency cycle: b → c → a → b",
		"7:97 function c: dependency cycle: c → a → b → c",
		"8:97 function d: waits for function a, which it calls (fix that first)",
	}, "\n")
	got := strings.ReplaceAll(show(problems), " (a function cannot call itself, directly or through others; write WITH RECURSIVE inside one function)", "")
	if got != want || names(set.All()) != "e" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOneFaultDoesNotStopOthers(t *testing.T) {
	db := open(t)
	pod := load(t, one("bad", "x", "x +")+one("caller", "x", "bad(x)")+one("good", "x", "x")+one("late", "x", "good(x) || 'a'")+one("later", "x", "late(x)"))
	set, problems := publish(t, db, pod, nil)
	if names(set.All()) != "good" || len(problems) != 4 {
		t.Errorf("%s\n%s", names(set.All()), show(problems))
	}
	if got := show(problems); !strings.Contains(got, "function later: waits for function late, which it calls") {
		t.Error(got)
	}
}

func TestReuse(t *testing.T) {
	db := open(t)
	base := one("a", "x", "x + 1") + one("b", "x", "a(x) * 2") + one("c", "x", "x")
	first, _ := publish(t, db, load(t, base), nil)

	same, problems := Compile(t.Context(), db, load(t, base), relations, first)
	for _, f := range same.All() {
		if f != first.Get(f.Name) {
			t.Errorf("%s was built again", f.Name)
		}
	}
	if len(problems) > 0 || len(same.Changed(first)) > 0 {
		t.Error(problems, names(same.Changed(first)))
	}

	moved, _ := Compile(t.Context(), db, load(t, one("new", "x", "x")+base), relations, first)
	if f := moved.Get("a"); f.Path != "functions[1]" || f.Position.Line != 6 || f.Checksum != first.Get("a").Checksum {
		t.Error(f.Path, f.Position)
	}
	if got := names(moved.Changed(first)); got != "new" {
		t.Error("changed:", got)
	}

	edited, problems := publish(t, db, load(t, strings.Replace(base, "x + 1", "x + 100", 1)), first)
	if got := names(edited.Changed(first)); got != "a b" || len(problems) > 0 {
		t.Error("changed:", got, problems)
	}
	if got, err := query(t, db, "SELECT b(1)"); got != "202" || err != nil {
		t.Error(got, err)
	}
	if edited.Get("b").Checksum == first.Get("b").Checksum {
		t.Error("the checksum of a caller did not change with its callee")
	}

	broken, problems := publish(t, db, load(t, strings.Replace(base, "x + 1", "x +", 1)), edited)
	if got, _ := query(t, db, "SELECT b(1)"); got != "202" || len(problems) != 1 || broken.Get("a") != edited.Get("a") {
		t.Errorf("the last good version is gone: %s, %v", got, problems)
	}

	removed, problems := publish(t, db, load(t, one("b", "x", "a(x) * 2")+one("c", "x", "x")), edited)
	if want := `function a: function a was removed but is still called by b`; !strings.Contains(show(problems), want) || removed.Get("a") == nil {
		t.Errorf("got %s\nwant %s", show(problems), want)
	}
	if got := names(removed.Removed(edited)); got != "" {
		t.Error(got)
	}
}

func TestUsedColumns(t *testing.T) {
	db := open(t)
	set, _ := publish(t, db, load(t, one("a", "x", "(SELECT max(amount) FROM public.orders o WHERE o.customer = x)")+one("b", "x", "x")), nil)
	if got := fmt.Sprint(set.Get("a").Uses.Columns); got != "[{{public orders} amount 12} {{public orders} customer 47}]" {
		t.Error(got)
	}
}

func TestExpansionIsBounded(t *testing.T) {
	db := open(t)
	var b strings.Builder
	b.WriteString(one("f0", "x", "x + x"))
	for i := range 40 {
		b.WriteString(one(fmt.Sprintf("f%d", i+1), "x", fmt.Sprintf("f%d(x) + f%d(x)", i, i)))
	}
	set, problems := Compile(t.Context(), db, load(t, b.String()), relations, nil)
	if set.Len() > 12 || !strings.Contains(show(problems), "expands to more than 2000 calls") {
		t.Error(set.Len(), show(problems))
	}
}

func TestReplacedFormsGo(t *testing.T) {
	db := open(t)
	bound, _ := publish(t, db, load(t, one("f", "x", "(SELECT max(id) FROM orders WHERE id < x)")), nil)
	plain, _ := Compile(t.Context(), db, load(t, one("f", "x", "x")), relations, bound)
	if got := plain.Get("f").DropStale(bound.Get("f")); len(got) != 2 || !strings.Contains(got[0], `spice."core"."f"`) ||
		!strings.Contains(got[1], `TABLE IF EXISTS spice."core"."f:direct"`) {
		t.Error(got)
	}
}

func TestVolatilityWarning(t *testing.T) {
	db := open(t)
	pod := load(t, "- { name: dice, from: sql, volatility: immutable, signature: { args: [], returns: float64 }, body: random() }\n")
	set, problems := publish(t, db, pod, nil)
	if set.Len() != 1 || len(problems) != 1 || problems.HasErrors() || !strings.Contains(problems[0].Message, "declared immutable") {
		t.Error(set.Len(), problems)
	}
}
