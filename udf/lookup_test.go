package udf

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// startItems is a fixture with the table items, with a primary key.
func startItems(t testing.TB, rows int, functions string, more ...string) *fixture {
	t.Helper()
	r := start(t)
	r.relations = append(r.relations, engine.Relation{Schema: "public", Name: "items"}, engine.Relation{Schema: "public", Name: "codes"})
	for _, sql := range append([]string{
		"CREATE TABLE spice.core.items (id BIGINT PRIMARY KEY, kind BIGINT, amount BIGINT, note VARCHAR)",
		fmt.Sprintf("INSERT INTO spice.core.items SELECT i, i %% 100, i * 10, 'n' || i FROM range(%d) t(i)", rows),
		"CREATE VIEW spice.public.items AS SELECT * FROM spice.core.items",
	}, more...) {
		if err := r.db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	r.must(functions)
	return r
}

// results runs calls with these arguments as one statement, or one after another.
func (t *scalarTool) results(ctx context.Context, shared bool, each []map[string]any) (out []string, err error) {
	calls := make([]*call, len(each))
	for i, given := range each {
		args, err := convertAll(t.args, given)
		if err != nil {
			return nil, err
		}
		calls[i] = &call{args: args}
	}
	if shared {
		t.indexed.Store(true)
		err = t.run(ctx, calls)
	} else {
		for _, c := range calls {
			if err == nil {
				err = t.run(ctx, []*call{c})
			}
		}
	}
	for _, c := range calls {
		out = append(out, string(c.value))
	}
	return out, err
}

const lookups = `
- { name: by_key, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT note FROM items WHERE id = k)" }
- { name: reversed, from: sql, signature: { args: [{ name: k, type: int32 }], returns: utf8 }, body: "(select i.note from items as i where k = i.id)" }
- { name: with_filter, from: sql, signature: { args: [{ name: k, type: int64 }, { name: least, type: int64 }], returns: utf8 }, body: "(SELECT note FROM items WHERE amount >= least AND id = k AND kind < 50)" }
- { name: how_many, from: sql, signature: { args: [{ name: g, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE kind = g)" }
- { name: first_of, from: sql, signature: { args: [{ name: g, type: int64 }], returns: utf8 }, body: "(SELECT note FROM items WHERE kind = g ORDER BY id LIMIT 1)" }
- { name: joined, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT o.amount + i.amount FROM items i JOIN orders o ON o.id = i.kind WHERE i.id = k)" }
- { name: padded, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT coalesce(o.amount, -1) FROM items i LEFT JOIN orders o ON o.id = i.kind WHERE i.id = k)" }
- { name: or_none, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "coalesce((SELECT note FROM items WHERE id = k), 'none of ' || k)" }
- { name: whole, from: sql, signature: { args: [{ name: k, type: int64 }], returns: 'struct<id:int64, note:utf8>' }, body: "(SELECT named_struct('id', id, 'note', note) FROM items WHERE id = k)" }
- { name: doubles, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT DISTINCT note FROM items WHERE id = k)" }
- { name: ranked, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT row_number() OVER () FROM items WHERE id = k)" }
- { name: row_text, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT i::VARCHAR FROM items AS i WHERE i.id = k)" }
- { name: row_of, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT a0::VARCHAR FROM items AS a0 WHERE a0.id = k)" }
- { name: by_note, from: sql, signature: { args: [{ name: n, type: utf8 }], returns: int64 }, body: "(SELECT sum(items.amount) FROM items WHERE items.note = n)" }
- { name: by_struct, from: sql, signature: { args: [{ name: s, type: 'struct<k:int64>' }, { name: k2, type: int64 }], returns: utf8 }, body: "(SELECT note || k2 FROM items WHERE id = k2)" }
`

const scans = `
- { name: either, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE id = k OR kind = 3)" }
- { name: between, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE amount BETWEEN 1 AND 20 AND id = k)" }
- { name: computed, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE id = k + 1)" }
- { name: casted, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE id = k::DOUBLE)" }
- { name: beyond, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE id > k)" }
- { name: sampled, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items TABLESAMPLE 100% WHERE id = k)" }
- { name: united, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT sum(n) FROM (SELECT count(*) AS n FROM items WHERE id > k UNION ALL SELECT 1 AS n))" }
- { name: latest, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT sum(o.amount) FROM orders o ASOF JOIN items i ON o.id >= i.id WHERE i.kind = k)" }
- { name: beside, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT sum(o.amount) FROM orders o POSITIONAL JOIN items i WHERE i.kind = k)" }
- { name: outer_or, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE id = k AND kind = 1 OR kind = 3)" }
`

// What calls return does not depend on whether they share a statement.
func TestSharedLookups(t *testing.T) {
	r := startItems(t, 5000, lookups+scans)
	each := make([]map[string]any, 0, maxKeys)
	for i := range maxKeys {
		number := func(n int) any { return json.Number(fmt.Sprint(n)) }
		v := number(i * 137 % 6000)
		if i == 7 {
			v = nil
		}
		each = append(each, map[string]any{"k": v, "g": v, "least": number(i * 100), "n": fmt.Sprint("n", i), "s": map[string]any{"k": number(1)}, "k2": number(i)})
	}
	for _, f := range r.set.All() {
		if f.Name == "sampled" { // only shows that it is not a look-up
			continue
		}
		tool := r.tool(f.Name).(*scalarTool)
		tool.choice.fix(nil)
		alone, err := tool.results(t.Context(), false, each)
		if err != nil {
			t.Fatal(f.Name, err)
		}
		forms := tool.forms(tool.joined)
		if want := slices.Contains([]string{"by_key", "reversed", "whole", "with_filter", "joined", "padded", "row_text", "row_of", "by_note", "how_many"},
			f.Name); len(forms) != 2 && want || len(forms) != 1 && !want {
			t.Errorf("%s: %d statements of several calls", f.Name, len(forms))
		}
		for _, form := range forms {
			tool.joined.fix(form)
			shared, err := tool.results(t.Context(), true, each)
			if form != nil && slices.Contains([]string{"by_note", "how_many"}, f.Name) { // DuckDB refuses them
				if err == nil {
					t.Errorf("%s: %s runs", f.Name, form.SQL)
				}
				continue
			}
			if err != nil {
				t.Fatal(f.Name, err)
			}
			for i := range each {
				if alone[i] != shared[i] {
					t.Errorf("%s(%v): %s alone, %s shared\n%v", f.Name, each[i], alone[i], shared[i], form)
					break
				}
			}
		}
	}
	for _, f := range r.set.All() {
		_, key, _, ok := f.Key()
		if ok == isScan(f.Name) {
			t.Errorf("%s: key %q %v", f.Name, key, ok)
		}
	}
}

// fix makes a choice, which then stays.
func (c *formChoice) fix(k *functions.CachedForm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used, c.trying = k, true
}

// forms are the statements of a choice; nil is the one with parameters.
func (t *scalarTool) forms(c *formChoice) []*functions.CachedForm {
	forms := []*functions.CachedForm{nil}
	for i := range c.forms() {
		forms = append(forms, &c.forms()[i])
	}
	return forms
}

// TestSharedLookupOfSeveralRows: the error is of the call whose key has two rows.
func TestSharedLookupOfSeveralRows(t *testing.T) {
	r := startItems(t, 5000, `
- { name: by_code, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT note FROM codes WHERE code = k)" }
`, "CREATE TABLE spice.core.codes AS SELECT i // (CASE WHEN i IN (20, 21) THEN 20 ELSE 1 END) AS code, 'n' || i AS note FROM range(5000) t(i)",
		"CREATE INDEX codes_code ON spice.core.codes (code)", "CREATE VIEW spice.public.codes AS SELECT * FROM spice.core.codes")
	tool := r.tool("by_code").(*scalarTool)
	tool.indexed.Store(true)
	calls := make([]*call, 4)
	b := &batch{calls: calls, live: len(calls), cancel: func() {}}
	for i, k := range []int64{4, 1, 9000, 7} {
		calls[i] = &call{args: []any{k}, done: make(chan struct{}), batch: b}
	}
	tool.joined.fix(tool.forms(tool.joined)[1])
	tool.queues[0].resolve(t.Context(), calls)
	for i, want := range []string{`"n4"`, "", "null", `"n7"`} {
		if c := calls[i]; string(c.value) != want && want != "" || (c.err != nil) != (want == "") {
			t.Errorf("%v gives %s, %v; want %s", c.args, c.value, c.err, want)
		}
	}
	if err := calls[1].err; err == nil || !strings.Contains(err.Error(), "More than one row returned") {
		t.Errorf("got %v", err)
	}
}

func isScan(name string) bool {
	switch name {
	case "either", "between", "computed", "casted", "beyond", "sampled", "united", "outer_or", "latest", "beside":
		return true
	}
	return false
}

// TestCachedPlans: each statement that reads the arguments from a table, so that its plan is
// cached, returns what the one with parameters returns. It pins which of them exist and scan
// tables by an index only.
func TestCachedPlans(t *testing.T) {
	r := startItems(t, 5000, lookups+joins,
		"CREATE TABLE spice.core.codes (code BIGINT PRIMARY KEY, name VARCHAR)", "INSERT INTO spice.core.codes SELECT i, 'c' || i FROM range(5000) t(i)",
		"CREATE VIEW spice.public.codes AS SELECT * FROM spice.core.codes")
	indexed := map[string]string{}
	for _, f := range r.set.All() {
		tool := r.tool(f.Name).(*scalarTool)
		given := func(v any) map[string]any {
			return map[string]any{"k": v, "g": v, "least": json.Number("0"), "n": "n5", "s": map[string]any{"k": v}, "k2": v, "a0": json.Number("1")}
		}
		for n, form := range tool.forms(tool.choice)[1:] {
			shown := "-" // refused
			for _, v := range []any{json.Number("5"), json.Number("4999"), nil, json.Number("-1"), json.Number("5"), json.Number("100000")} {
				args, err := convertAll(tool.args, given(v))
				if err != nil {
					t.Fatal(f.Name, err)
				}
				base, _, rows := tool.request([]*call{{args: args}})
				want, got := &call{}, &call{}
				wantErr := tool.execute(t.Context(), base, []*call{want})
				gotErr := tool.execute(t.Context(), formRequest(base, *form, rows), []*call{got})
				if gotErr != nil && engine.AsError(gotErr).Code == errcode.Argument {
					break
				}
				if string(got.value) != string(want.value) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
					t.Errorf("%s(%v): %s %v, with parameters %s %v\n%s", f.Name, v, got.value, gotErr, want.value, wantErr, form.SQL)
				}
				if v == json.Number("5") {
					shown = tool.scans(t, formRequest(base, *form, rows))
				}
			}
			indexed[f.Name] += strings.Repeat(" ", min(n, 1)) + shown
		}
	}
	for name, want := range keptPlans {
		if indexed[name] != want {
			t.Errorf("%s: %q, want %q", name, indexed[name], want)
		}
		delete(indexed, name)
	}
	if len(indexed) > 0 {
		t.Error("not pinned:", indexed)
	}
}

// scans counts the scans of tables by an index, and the others.
func (t *scalarTool) scans(tb testing.TB, req engine.Request) string {
	tb.Helper()
	req.SQL, req.Input.Alone, req.Limits = "EXPLAIN ANALYZE "+req.SQL, false, engine.Limits{}
	plan, err := Explain(tb.Context(), t.db, req)
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("%d/%d", strings.Count(plan, indexScan), strings.Count(plan, "Sequential Scan"))
}

// keptPlans are the scans by an index and the others of the statements of each body.
var keptPlans = map[string]string{
	"all_columns": "1/0 1/0",
	"by_group":    "1/0 1/0 1/0",
	"by_key":      "1/0 1/0 1/0",
	"by_note":     "0/1 0/1 0/1",
	"by_text":     "1/0 1/0",
	"counted":     "1/0 1/0 1/0",
	"doubled":     "1/0 1/0 1/0",
	"doubles":     "1/0 1/0 1/0",
	"first_of":    "0/1 0/1 0/1",
	"grouped":     "1/0 1/0",
	"how_many":    "0/1 0/1 0/1",
	"in_full":     "1/1 1/1",
	"in_list":     "0/1 0/1",
	"in_range":    "0/1 0/1",
	"joined":      "0/2 0/2 1/1",
	"known":       "1/0 1/0",
	"many":        "0/1 0/1 0/1",
	"named":       "1/0 1/0 1/0",
	"nested":      "1/1 1/1",
	"or_none":     "1/0 1/0",
	"padded":      "1/1 1/1 1/1",
	"plus":        "0/1 1/0",
	"ranked":      "1/0 1/0 1/0",
	"reversed":    "1/0 1/0 1/0",
	"right_side":  "0/2 0/2 1/1",
	"row_of":      "1/0 1/0 1/0",
	"row_text":    "1/0 1/0 1/0",
	"summed":      "1/0 1/0 1/0",
	"twice_used":  "1/0 1/0 1/0",
	"two_tables":  "1/1 1/1 2/0",
	"unioned":     "1/0",
	"whole":       "1/0 1/0 1/0",
	"with_cte":    "0/1",
	"with_filter": "0/1 0/1 1/0",
}

const joins = `
- { name: twice_used, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT amount + k FROM items WHERE id = k)" }
- { name: counted, from: sql, signature: { args: [{ name: k, type: int32 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE id = k)" }
- { name: doubled, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT amount*2 FROM items WHERE id = k)" }
- { name: all_columns, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT to_json(struct_pack(*COLUMNS(*)))::VARCHAR FROM items WHERE id = k)" }
- { name: grouped, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE id = k GROUP BY ALL)" }
- { name: nested, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT (SELECT count(*) FROM orders WHERE orders.id = k) FROM items WHERE items.id = k)" }
- { name: summed, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT sum(amount + k) FROM items WHERE id = k)" }
- { name: many, from: sql, signature: { args: [{ name: g, type: int64 }], returns: int64 }, body: "(SELECT id FROM items WHERE kind = g)" }
- { name: named, from: sql, signature: { args: [{ name: a0, type: int64 }, { name: k, type: int64 }], returns: int64 }, body: "(SELECT amount + coalesce(a0, 0) FROM items WHERE id = k)" }
- { name: known, from: sql, signature: { args: [{ name: k, type: int64 }], returns: bool }, body: "(SELECT id FROM items WHERE id = k) IS NOT NULL" }
- { name: packed, from: sql, signature: { args: [{ name: k, type: int64 }], returns: 'struct<n:utf8, k:int64>' }, body: "struct_pack(n := (SELECT note FROM items WHERE id = k), k := k)" }
- { name: plus, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT amount FROM items WHERE id = k AND kind < 50) + k * 2" }
- { name: two_tables, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT c.name FROM items i JOIN codes c ON c.code = i.kind WHERE i.id = k)" }
- { name: right_side, from: sql, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT c.name FROM codes c LEFT JOIN items i ON i.amount = c.code * 10 AND i.kind < 50 WHERE i.id = k)" }
- { name: in_full, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items i FULL JOIN codes c ON c.code = i.id + 10 WHERE i.id = k)" }
- { name: in_range, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT sum(amount) FROM items WHERE id BETWEEN k AND k + 5)" }
- { name: in_list, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT count(*) FROM items WHERE kind IN (k, 7) AND (id < k OR amount > 100))" }
- { name: unioned, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT sum(n) FROM (SELECT count(*) AS n FROM items WHERE id < k UNION ALL SELECT k))" }
- { name: by_group, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT sum(amount) + k FROM items WHERE id = k GROUP BY k HAVING count(*) > 0 ORDER BY k)" }
- { name: with_cte, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(WITH c AS (SELECT id, amount FROM items WHERE id = k) SELECT sum(amount) FROM c WHERE id = k)" }
- { name: by_text, from: sql, signature: { args: [{ name: n, type: utf8 }], returns: int64 }, body: "(SELECT id FROM items WHERE id = try_cast(n[2:] AS BIGINT))" }
`

func BenchmarkLookup(b *testing.B) {
	r := startItems(b, 100_000, lookups)
	tool := r.tool("by_key").(*scalarTool)
	one := func(i int) {
		if _, err := tool.Call(context.Background(), tools.Input{Arguments: map[string]any{"k": json.Number(fmt.Sprint(i * 7919 % 100_000))}}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("one", func(b *testing.B) {
		for i := range b.N {
			one(i)
		}
	})
	b.Run("32", func(b *testing.B) {
		var wg sync.WaitGroup
		for w := range 32 {
			wg.Go(func() {
				for i := w; i < b.N; i += 32 {
					one(i)
				}
			})
		}
		wg.Wait()
		b.Logf("%+v", tool.queues[0].pace)
	})
	for _, n := range []int{2, 8, 32, 50} {
		each := make([]map[string]any, n)
		b.Run(fmt.Sprint("shared ", n), func(b *testing.B) {
			for i := range b.N {
				for j := range each {
					each[j] = map[string]any{"k": json.Number(fmt.Sprint((i*7919 + j*1801) % 100_000))}
				}
				if _, err := tool.results(b.Context(), true, each); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
