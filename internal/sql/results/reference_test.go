package results_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// returned is the output of Keep.
type returned struct {
	Ref     string
	Rows    int64
	Columns []struct{ Name, Type string }
	Note    string
	Preview []map[string]any
	Stats   []map[string]any
}

// saved stores a statement's result after the first chunk, whose rows are shown.
func (w *world) saved(owner, sql string, shown ...string) (returned, results.Summary, error) {
	w.t.Helper()
	return w.savedBy(as(owner), sql, shown...)
}

func (w *world) savedBy(ctx context.Context, sql string, shown ...string) (returned, results.Summary, error) {
	w.t.Helper()
	rows, err := w.db.Query(ctx, engine.Request{SQL: sql})
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	var first []*engine.Chunk
	for chunk, err := range rows.Chunks() {
		if err != nil {
			w.t.Fatal(err)
		}
		first = append(first, chunk.Detach())
		break
	}
	lines := make([]json.RawMessage, len(shown))
	for i, line := range shown {
		lines[i] = json.RawMessage(line)
	}
	out, err := w.store.Save(ctx, first, rows, lines)
	if err != nil {
		return returned{}, out, err
	}
	var got returned
	if err := json.Unmarshal(out.Value, &got); err != nil {
		w.t.Fatalf("%v: %s", err, out.Value)
	}
	schema, err := tools.Compile(w.store.Schema())
	if err != nil {
		w.t.Fatal(err)
	}
	value, err := tools.Decode(out.Value)
	if err != nil {
		w.t.Fatal(err)
	}
	if faults := schema.Check(value); len(faults) > 0 {
		w.t.Errorf("%s: %v", out.Value, faults)
	}
	return got, out, nil
}

func TestALargeResultIsToldInLittle(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	const sql = `SELECT i AS order_id, 'customer ' || i % 1000 AS customer, DATE '2020-01-01' + (i % 1000)::INT AS day,
		(i % 7919) / 100 AS amount, CASE WHEN i % 4 > 0 THEN 'a note about order ' || i END AS note FROM range(1000000) r(i)`
	var shown []string
	for i := range 20 {
		shown = append(shown, fmt.Sprintf(`{"order_id":%d,"customer":"customer %d","day":"2020-01-01","amount":%d.0,"note":"a note about order %[1]d"}`, i, i, i))
	}
	got, out, err := w.saved("ada", sql, shown...)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Value) > 2048 || len(got.Preview) != 10 || out.Rows != 10 || *out.More != 999_990 {
		t.Errorf("%d bytes, %d rows shown, %+v: %s", len(out.Value), len(got.Preview), out.Rows, out.Value)
	}
	w.expect("ada", "SELECT count(*) AS n, sum(order_id) AS s FROM ref('"+got.Ref+"')", `{"n":1000000,"s":499999500000}`)
	for i, want := range []string{
		"map[approx_distinct:* max:999999 min:0 name:order_id nulls:0]",
		"map[approx_distinct:* max:customer 999 min:customer 0 name:customer nulls:0]",
		"map[approx_distinct:* max:2022-09-26 min:2020-01-01 name:day nulls:0]",
		"map[approx_distinct:* max:79.18 min:0 name:amount nulls:0]",
		"map[approx_distinct:* max:a note about order 999999 min:a note about order 1 name:note nulls:250000]",
	} {
		got.Stats[i]["approx_distinct"], got.Stats[i]["max"] = "*", plain(got.Stats[i]["max"])
		if s := fmt.Sprint(got.Stats[i]); s != want {
			t.Errorf("stats %d: %s, want %s", i, s, want)
		}
	}
}

// plain is a JSON number as it is written.
func plain(value any) any {
	if f, ok := value.(float64); ok {
		return strings.TrimSuffix(fmt.Sprintf("%.2f", f), ".00")
	}
	return value
}

func TestLongValuesAreCutInAPreview(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	row := `{"text":"` + strings.Repeat("ä", 500) + `","list":[` + strings.Repeat("1.5,", 2000) + `1],"short \"x\"":{"a":[1]},"n":12345678901234567890}`
	got, out, err := w.saved("ada", `SELECT 1 AS text, 2 AS list, 3 AS "short ""x""", 4 AS n`, row, row, row)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"text": `"` + strings.Repeat("ä", 38) + `…"`, "list": `"[` + strings.Repeat("1.5,", 19) + `…"`, `short "x"`: `{"a":[1]}`,
		"n": `12345678901234567890`,
	}
	var raw struct{ Preview []map[string]json.RawMessage }
	if err := json.Unmarshal(out.Value, &raw); err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if s := string(raw.Preview[0][name]); s != value {
			t.Errorf("%s: %s, want %s", name, s, value)
		}
	}
	if len(got.Preview) != 3 {
		t.Errorf("%d rows", len(got.Preview))
	}
	if got, _, _ = w.saved("ada", "SELECT 1 AS a, 2 AS a", `{"a":1,"a":2}`); fmt.Sprint(got.Preview) != "[map[a:1 a_1:2]]" {
		t.Errorf("names: %v", got.Preview)
	}
}

func TestWideAndStrangeColumns(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	got, _, err := w.saved("ada", `SELECT 'x'::ENUM('x','y') AS e, [1] AS l, {'a': 1} AS s, MAP {'a': 1} AS m, '{}'::JSON AS j, NULL AS n, 'NaN'::DOUBLE AS nan,
		union_value(n := 3) AS u, '1'::BIT AS b, 'x'::BLOB AS bl, uuid() AS id, now() AS at, INTERVAL 1 DAY AS iv, [1,2]::INT[2] AS a, 1 AS "o'clock ""x""", repeat('x', 500) AS t`)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Stats) != 16 || got.Stats[14]["name"] != `o'clock "x"` || got.Stats[14]["max"] != 1.0 || got.Stats[15]["max"] != strings.Repeat("x", 40) {
		t.Errorf("%v", got.Stats)
	}
	var wide []string
	for i := range 300 {
		wide = append(wide, fmt.Sprintf("%d AS c%d", i, i))
	}
	got, _, err = w.saved("ada", "SELECT "+strings.Join(wide, ", "), `{"c0":0}`)
	if err != nil || got.Stats != nil || len(got.Columns) != 300 || len(got.Preview) != 1 {
		t.Errorf("wide: %+v, %v", got.Stats, err)
	}
}

func TestWhatCannotBeStoredIsCutOff(t *testing.T) {
	w := newWorld(t, spicepod.Results{MaxResult: 1 << 20})
	got, out, err := w.saved("ada", "SELECT i FROM range(10000000) r(i)", `{"i":0}`, `{"i":1}`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Ref != "" || len(got.Preview) != 2 || out.Rows != 2 || out.More != nil || !strings.Contains(got.Note, "more than 1048576 bytes") {
		t.Errorf("%s, %+v", out.Value, out.Rows)
	}
	if len(w.files()) != 0 {
		t.Errorf("files %q", w.files())
	}
}

func TestWhatTakesTooLongIsCutOff(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	ctx, cancel := context.WithTimeout(as("ada"), 2*time.Second)
	defer cancel()
	got, _, err := w.savedBy(ctx, "SELECT i FROM range(1000000000000) r(i) WHERE i < 1000000 OR hash(i) = 1", `{"i":0}`)
	if err != nil || got.Ref != "" || len(got.Preview) != 1 || !strings.Contains(got.Note, "too long") || ctx.Err() != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, _, err = w.savedBy(as("ada"), "SELECT i FROM range(100000) r(i)", `{"i":0}`); err != nil {
		t.Error(err)
	}
}

func TestAStatementThatFailsLaterFails(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	_, _, err := w.saved("ada", "SELECT CASE WHEN i < 2900000 THEN i ELSE error('at last') END AS x FROM range(3000000) r(i)", `{"x":0}`)
	wantCode(t, "a statement that fails later", err, errcode.Execution)
	if len(w.files()) != 0 {
		t.Errorf("files %q", w.files())
	}
}
