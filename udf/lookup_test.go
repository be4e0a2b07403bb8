package udf

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

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
	joined := map[string]*lookup{}
	for _, f := range r.set.All() {
		if f.Name == "sampled" { // only shows that it is not a look-up
			continue
		}
		tool := r.tool(f.Name).(*scalarTool)
		alone, err := tool.results(t.Context(), false, each)
		if err != nil {
			t.Fatal(f.Name, err)
		}
		joined[f.Name] = tool.joined
		shared, err := tool.results(t.Context(), true, each)
		if err != nil {
			t.Fatal(f.Name, err)
		}
		for i := range each {
			if alone[i] != shared[i] {
				t.Errorf("%s(%v): %s alone, %s shared\n%s", f.Name, each[i], alone[i], shared[i], tool.many)
				break
			}
		}
	}
	for _, f := range r.set.All() {
		_, key, _, ok := f.Key()
		if ok == isScan(f.Name) {
			t.Errorf("%s: key %q %v", f.Name, key, ok)
		}
	}
	for name, want := range map[string]bool{"by_key": true, "reversed": true, "whole": true, "how_many": false, "first_of": false, "doubles": false, "ranked": false} {
		if joined[name].indexed != want {
			t.Errorf("%s: joined %v, want %v\n%s", name, joined[name].indexed, want, joined[name].sql)
		}
	}
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
	tool.queues[0].resolve(t.Context(), calls)
	if !tool.joined.indexed {
		t.Errorf("the calls share no join: %s", tool.joined.sql)
	}
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

// A call that reads its arguments from a table, so that its plan is kept, returns what one
// with parameters returns.
func TestKeptPlans(t *testing.T) {
	r := startItems(t, 5000, lookups+joins)
	kept := map[string]bool{}
	for _, f := range r.set.All() {
		tool := r.tool(f.Name).(*scalarTool)
		given := func(v any) map[string]any {
			return map[string]any{"k": v, "g": v, "least": json.Number("0"), "n": "n5", "s": map[string]any{"k": v}, "k2": v}
		}
		for i, v := range []any{json.Number("5"), json.Number("4999"), nil, json.Number("-1"), json.Number("5"), json.Number("100000")} {
			if f.Name == "by_text" && v != nil {
				v = "n" + v.(json.Number).String()
			}
			got, gotErr := tool.Call(t.Context(), tools.Input{Arguments: given(v)})
			if i == 0 {
				kept[f.Name] = tool.lookup.indexed
			}
			use := tool.lookup
			tool.lookup = &lookup{}
			want, wantErr := tool.Call(t.Context(), tools.Input{Arguments: given(v)})
			tool.lookup = use
			if string(got.Value) != string(want.Value) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				t.Errorf("%s(%v): %s %v, with parameters %s %v\n%s", f.Name, v, got.Value, gotErr, want.Value, wantErr, tool.lookup.sql)
			}
		}
	}
	for name, want := range map[string]bool{
		"by_key": true, "reversed": true, "whole": true, "padded": true, "twice_used": true, "counted": true, "doubled": true, "summed": true,
		"how_many": false, "or_none": false, "by_struct": false, "all_columns": false, "grouped": false, "nested": false,
	} {
		if kept[name] != want {
			t.Errorf("%s: kept %v, want %v", name, kept[name], want)
		}
	}
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
