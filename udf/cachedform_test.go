package udf

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

const risky = `
- { name: number_of, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT amount FROM items WHERE id = k AND CAST(note AS BIGINT) > 0)" }
- { name: noted, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT CAST(note AS BIGINT) FROM items WHERE id = k)" }
- { name: several, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT amount FROM items WHERE kind = k)" }
- { name: slow, from: sql, signature: { args: [{ name: k, type: int64 }], returns: int64 }, body: "(SELECT sum(hash(i.amount + r.range + k)) % 7 FROM items i, range(100000000000) r WHERE i.id = k)::BIGINT" }
- { name: now_of, from: sql, volatility: stable, signature: { args: [{ name: k, type: int64 }], returns: utf8 }, body: "(SELECT note || random() FROM items WHERE id = k)" }
- { name: kind_rows, from: sql, kind: table, as_tool: true, signature: { args: [{ name: k, type: int64 }], returns: [{ name: id, type: int64 }, { name: k, type: int64 }] }, body: "SELECT i.id, args.k FROM items i, args WHERE i.kind = args.k ORDER BY i.id" }
- { name: rows_of, from: sql, kind: table, as_tool: true, signature: { args: [{ name: k, type: int64 }], returns: [{ name: note, type: utf8 }] }, body: "SELECT note FROM items WHERE id = (SELECT k FROM args)" }
`

// TestErrorsOfCachedForms: an error is that of the statement with parameters, which evaluates other
// rows.
func TestErrorsOfCachedForms(t *testing.T) {
	r := startItems(t, 5000, risky)
	for _, c := range []struct {
		name string
		k    any
		want string
	}{
		{"number_of", json.Number("5"), "Could not convert string 'n5'"},
		{"number_of", json.Number("-5"), "null"},
		{"noted", json.Number("5"), "Could not convert string 'n5'"},
		{"noted", json.Number("-5"), "null"},
		{"several", json.Number("5"), "More than one row"},
		{"several", json.Number("-5"), "null"},
		{"several", nil, "null"},
	} {
		tool := r.tool(c.name).(*scalarTool)
		for _, form := range tool.forms(tool.choice) {
			tool.choice.fix(form)
			out, err := tool.Call(t.Context(), tools.Input{Arguments: map[string]any{"k": c.k}})
			if got := string(out.Value) + fmt.Sprint(err); !strings.Contains(got, c.want) {
				t.Errorf("%s(%v): %s, want %s\n%v", c.name, c.k, got, c.want, form)
			}
		}
	}
	if tool := r.tool("now_of").(*scalarTool); len(tool.forms(tool.choice)) > 1 {
		t.Error("a statement that calls random() is tried")
	}
}

// TestLimitsOfCachedForms: time limits and cancellation end such a statement, which does not run
// again.
func TestLimitsOfCachedForms(t *testing.T) {
	r := startItems(t, 5000, risky)
	g := &gate{DB: r.db}
	made, err := Tool(g, r.set.Get("slow"), ToolOptions{Functions: r.set})
	if err != nil {
		t.Fatal(err)
	}
	tool := made.(*scalarTool)
	for i, form := range tool.forms(tool.choice)[1:] {
		tool.choice.fix(form)
		in := tools.Input{Arguments: map[string]any{"k": json.Number("5")}, Limits: tools.Limits{Timeout: 30 * time.Millisecond}}
		if _, err := tool.Call(t.Context(), in); tools.AsError(err).Code != errcode.Timeout {
			t.Errorf("over its time limit: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		g.arrived, g.open = make(chan struct{}), make(chan struct{})
		go func() {
			<-g.arrived
			g.open <- struct{}{}
			cancel()
		}()
		in.Limits.Timeout = 0
		if _, err := tool.Call(ctx, in); tools.AsError(err).Code != errcode.Cancelled {
			t.Errorf("cancelled: %v", err)
		}
		g.arrived, g.open = nil, nil
		if n := g.statements.Load(); n != int64(2*i+2) {
			t.Errorf("%d statements for %d calls", n, 2*i+2)
		}
	}
}

// TestRowsOfCachedForms calls table functions.
func TestRowsOfCachedForms(t *testing.T) {
	r := startItems(t, 5000, risky)
	for _, name := range []string{"kind_rows", "rows_of"} {
		tool := r.tool(name).(*tableTool)
		forms := tool.choice.forms()
		if len(forms) != 1 {
			t.Fatal(name, forms)
		}
		for _, k := range []any{json.Number("5"), nil, json.Number("-1"), json.Number("99")} {
			for _, limit := range []int{0, 3} {
				in := tools.Input{Arguments: map[string]any{"k": k}, Limits: tools.Limits{MaxRows: limit}}
				tool.choice.fix(nil)
				want, wantErr := tool.Call(t.Context(), in)
				tool.choice.fix(&forms[0])
				got, gotErr := tool.Call(t.Context(), in)
				if string(got.Value) != string(want.Value) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || *got.Rows != *want.Rows {
					t.Errorf("%s(%v), at most %d: %s %v, with parameters %s %v", name, k, limit, got.Value, gotErr, want.Value, wantErr)
				}
			}
		}
	}
	tool := r.tool("rows_of").(*tableTool)
	plan, err := Explain(t.Context(), r.db, engine.Request{SQL: "EXPLAIN ANALYZE " + tool.choice.forms()[0].SQL, Input: &engine.Input{Rows: [][]any{{int64(5)}}}})
	if err != nil || !strings.Contains(plan, indexScan) {
		t.Errorf("%v\n%s", err, plan)
	}
}

// TestChoice tries statements: the fastest is used, one that fails never.
func TestChoice(t *testing.T) {
	r := start(t)
	slow := functions.CachedForm{SQL: "SELECT sum(hash(range))::BIGINT FROM range(3000000)"}
	fast, wrong := functions.CachedForm{SQL: "SELECT 1::BIGINT"}, functions.CachedForm{SQL: "SELECT error('no')"}
	for _, c := range []struct {
		base string
		list []functions.CachedForm
		want string
	}{
		{slow.SQL, []functions.CachedForm{wrong, slow, fast}, fast.SQL},
		{fast.SQL, []functions.CachedForm{slow, wrong}, ""},
		{fast.SQL, nil, ""},
	} {
		ch := newFormChoice(nil, func() []functions.CachedForm { return c.list })
		if len(c.list) > 0 {
			ch.try(t.Context(), r.db, engine.Request{SQL: c.base}, [][]any{{}})
		}
		used := functions.CachedForm{}
		if k := ch.form(); k != nil {
			used = *k
		}
		if used.SQL != c.want {
			t.Errorf("%s of %v: %q is used", c.base, c.list, used.SQL)
		}
	}
}

// TestTrialsHaveAnOwner: a call starts a trial in the background, Close waits for it, and after
// that none starts.
func TestTrialsHaveAnOwner(t *testing.T) {
	r := startItems(t, 5000, risky)
	trials := &Trials{}
	tool, err := Tool(r.db, r.set.Get("noted"), ToolOptions{Functions: r.set, Trials: trials})
	if err != nil {
		t.Fatal(err)
	}
	choice := tool.(*scalarTool).choice
	call := func() time.Time {
		t.Helper()
		if _, err := tool.Call(t.Context(), tools.Input{Arguments: map[string]any{"k": json.Number("-5")}}); err != nil {
			t.Fatal(err)
		}
		trials.Close()
		return choice.tried
	}
	tried := call()
	if tried.IsZero() || choice.trying {
		t.Error("Close did not wait for the trial, or there was none")
	}
	choice.tried = time.Time{}
	if tried = call(); !tried.IsZero() {
		t.Error("a trial ran after Close")
	}
}

// TestKeysOfEveryType looks rows up by keys of each type.
func TestKeysOfEveryType(t *testing.T) {
	r := start(t)
	var yaml strings.Builder
	cases := []struct{ typ, column, key, given, other string }{
		{"int8", "TINYINT", "(i % 100)::TINYINT", "7", "-1"},
		{"int16", "SMALLINT", "i", "7", "-1"},
		{"int32", "INTEGER", "i", "7", "-1"},
		{"int64", "BIGINT", "i", "7", "-1"},
		{"uint8", "UTINYINT", "i", "7", "255"},
		{"uint16", "USMALLINT", "i", "7", "999"},
		{"uint32", "UINTEGER", "i", "7", "999"},
		{"uint64", "UBIGINT", "i", "7", "18446744073709551615"},
		{"float32", "FLOAT", "i / 4", "1.75", "1.7"},
		{"float64", "DOUBLE", "i / 4", "1.75", "1.7"},
		{"utf8", "VARCHAR", "'key ' || i", `"key 7"`, `""`},
		{"binary", "BLOB", "encode('k' || i)", `"azc="`, `""`},
		{"decimal(10,2)", "DECIMAL(10,2)", "i / 4", "1.75", "1.7"},
		{"decimal(30,2)", "DECIMAL(30,2)", "i / 4", `"1.75"`, `"9999999999999999999999999.5"`},
		{"date32", "DATE", "DATE '2020-01-01' + i::INTEGER", `"2020-01-08"`, `"1999-01-01"`},
		{"timestamp(s)", "TIMESTAMP_S", "TIMESTAMP '2020-01-01' + to_hours(i)", `"2020-01-01T07:00:00Z"`, `"1999-01-01T00:00:00Z"`},
		{"timestamp(ms)", "TIMESTAMP_MS", "TIMESTAMP '2020-01-01' + to_hours(i)", `"2020-01-01T07:00:00Z"`, `"1999-01-01T00:00:00Z"`},
		{"timestamp(us)", "TIMESTAMP", "TIMESTAMP '2020-01-01' + to_hours(i)", `"2020-01-01T07:00:00Z"`, `"1999-01-01T00:00:00Z"`},
		{"timestamp(ns)", "TIMESTAMP_NS", "TIMESTAMP '2020-01-01' + to_hours(i)", `"2020-01-01T07:00:00Z"`, `"1999-01-01T00:00:00Z"`},
		{"timestamp(us, 'UTC')", "TIMESTAMPTZ", "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_hours(i)", `"2020-01-01T07:00:00Z"`, `"1999-01-01T00:00:00Z"`},
		{
			"utf8", "UUID", "('00000000-0000-0000-0000-0000000000' || (i % 90 + 10))::UUID", `"00000000-0000-0000-0000-000000000017"`,
			`"00000000-0000-0000-0000-000000000001"`,
		},
	}
	for i, c := range cases {
		name := fmt.Sprintf("t%d", i)
		r.relations = append(r.relations, engine.Relation{Schema: "public", Name: name})
		for _, sql := range []string{
			"CREATE TABLE spice.public." + name + " (key " + c.column + " PRIMARY KEY, v BIGINT)",
			"INSERT INTO spice.public." + name + " SELECT " + c.key + ", i FROM range(90) t(i)",
		} {
			if err := r.db.Exec(t.Context(), sql); err != nil {
				t.Fatal(c.typ, err)
			}
		}
		cast := strings.Repeat("::UUID", strings.Count(c.column, "UUID"))
		fmt.Fprintf(&yaml, "- { name: f%d, from: sql, signature: { args: [{ name: k, type: \"%s\" }], returns: int64 }, body: \"(SELECT v FROM %s WHERE "+
			"key = k%s)\" }\n", i, c.typ, name, cast)
	}
	r.must(yaml.String())
	for i, c := range cases {
		tool := r.tool(fmt.Sprint("f", i)).(*scalarTool)
		for _, form := range tool.forms(tool.choice) {
			tool.choice.fix(form)
			for given, want := range map[string]string{c.given: "7", c.other: "null", "null": "null"} {
				var v any
				d := json.NewDecoder(strings.NewReader(given))
				if d.UseNumber(); d.Decode(&v) != nil {
					t.Fatal(given)
				}
				out, err := tool.Call(t.Context(), tools.Input{Arguments: map[string]any{"k": v}})
				if err != nil || string(out.Value) != want {
					t.Errorf("%s(%s): %s %v, want %s\n%v", c.column, given, out.Value, err, want, form)
				}
				if form != nil && given == c.given {
					args, err := convertAll(tool.args, map[string]any{"k": v})
					if err != nil {
						t.Fatal(err)
					}
					if got := tool.scans(t, formRequest(engine.Request{}, *form, [][]any{args})); got != "1/0" {
						t.Errorf("%s: scans %s\n%s", c.column, got, form.SQL)
					}
				}
			}
		}
		if forms := len(tool.forms(tool.choice)); forms < 3 {
			t.Errorf("%s: %d statements", c.column, forms)
		}
	}
}
