package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// shop is a Spicepod whose texts are searched.
var shop = files{
	"spicepod.yaml": `embeddings: [{name: local, from: "builtin:semantic"}]
datasets:
- from: file:docs.csv
  name: docs
  acceleration: {primary_key: id}
  columns:
  - {name: title, full_text_search: {}}
  - {name: body, embeddings: [{from: local}]}
- {from: file:notes.csv, name: notes, columns: [{name: note, full_text_search: {}}]}
- {from: file:notes.csv, name: plain}
- {from: file:odd.csv, name: odd, columns: [{name: t, full_text_search: {}}]}
`,
	"odd.csv": "t,_score\nx,1\n",
	"docs.csv": `id,title,body,year,source
1,Returning goods,You can send goods back within thirty days and get your money refunded.,2024,help
2,Delivery times,Parcels usually arrive within three working days.,2025,help
3,Opening hours,The shop is open from nine to six.,2026,site
`,
	"notes.csv": "key,note\na,parcel one\nb,parcel two\nb,parcel two\nc,\n",
}

// hits are the rows that the tool finds: the dataset, the key and the column.
func (r *rig) hits(scope tools.Scope, args string) string {
	r.t.Helper()
	result := r.Tools().Invoke(r.t.Context(), registry.Call{Name: "search", Arguments: json.RawMessage(args), Scope: scope})
	if !result.OK {
		return "error: " + result.Error.Error()
	}
	var found struct {
		Mode    string
		Notes   []string
		Results []struct {
			Dataset string
			Score   float64
			Key     json.RawMessage `json:"primary_key"`
			Matches map[string][]string
		}
	}
	if err := json.Unmarshal(result.Result, &found); err != nil {
		r.t.Fatalf("%s: %v", result.Result, err)
	}
	list := []string{}
	for i, h := range found.Results {
		for column, texts := range h.Matches {
			list = append(list, strings.TrimPrefix(h.Dataset, "spice.public.")+string(h.Key)+column)
			if len(texts) != 1 || texts[0] == "" {
				r.t.Errorf("%s: no text in %+v", args, h)
			}
		}
		if i > 0 && h.Score > found.Results[i-1].Score {
			r.t.Errorf("%s: not in the order of scores: %s", args, result.Result)
		}
	}
	return strings.Join(append(list, found.Notes...), " ")
}

func TestRowSearch(t *testing.T) {
	r := start(t, shop)
	r.want("SELECT DISTINCT state, rows FROM spiced.search_indexes", "waiting,NULL") // a server builds them at once
	for args, want := range map[string]string{
		`{"text": "goods", "datasets": ["docs"], "mode": "keyword"}`:                                 `docs{"id":1}body`,
		`{"text": "goods", "datasets": ["docs"], "mode": "keyword", "where": "year > 2024"}`:         ``,
		`{"text": "money for what I send back", "datasets": ["docs"], "mode": "vector", "limit": 1}`: `docs{"id":1}body`,
		`{"text": "hours", "datasets": ["docs"], "limit": 1}`:                                        `docs{"id":3}title`,
		`{"text": "parcel", "datasets": ["notes"]}`:                                                  `notesnote notesnote`,
		`{"text": "days", "feeds": ["site"], "mode": "keyword"}`:                                     ``,
		`{"text": "shop", "feeds": ["site"], "mode": "keyword"}`:                                     `docs{"id":3}body`,
		`{"text": "parcel", "datasets": ["notes"], "mode": "vector"}`:                                `error: table notes is not searched by vectors`,
		`{"text": "x", "where": "year >", "datasets": ["docs"]}`:                                     `error: where: `,
		`{"text": "x", "where": "yeer = 1", "datasets": ["docs"]}`:                                   `error: where, over docs: Referenced column "yeer" not found`,
		`{"text": "x", "where": "true) OR (true", "datasets": ["docs"]}`:                             `error: where is more than one condition`,
	} {
		if got := r.hits(tools.Scope{}, args); got != want && (want == "" || !strings.HasPrefix(want, "error") || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
	r.want("SELECT id, title, year FROM text_search(docs, 'parcels')", "2,Delivery times,2025")
	r.want("SELECT id FROM vector_search('public.docs', 'money for what I send back', limit := 1)", "1")
	r.want("SELECT id FROM vector_search(docs, 'goods', 2) WHERE year > 2024 ORDER BY id", "2;3")
	r.want("SELECT d.id FROM text_search(docs, 'days', body, 1) AS d WHERE d.year = 2025 AND d.title LIKE 'Del%'", "2")
	r.want("SELECT count(*) FROM text_search(docs, 'days', limit := 1) WHERE year = 2025 OR year = 2024", "1")
	r.want("SELECT key, note FROM text_search(notes, 'two')", "b,parcel two;b,parcel two") // rows without a key
	r.want("SELECT id, n.note FROM text_search(docs, 'parcels') AS d JOIN plain AS n ON n.key = 'a'", "2,parcel one")
	r.want("SELECT id FROM rrf(text_search(docs, 'goods', title), vector_search(docs, 'goods'), k := 1) ORDER BY fused_score DESC LIMIT 1", "1")
	r.want("SELECT id FROM rrf(text_search(docs, 'days', rank_weight := 1), text_search(docs, 'hours', rank_weight := 9), join_key := 'id') LIMIT 1", "3")
	r.want("SELECT round(fused_score, 4) FROM rrf(text_search(docs, 'hours'), text_search(docs, 'hours'), k := 9)", "0.2")
	r.want("SELECT id FROM rrf(text_search(docs, 'days'), text_search(docs, 'days', body), time_column := 'year', decay_scale_secs := 1) LIMIT 0", "")
	r.want("SELECT column_name FROM (DESCRIBE SELECT * FROM text_search(notes, 'x', include_score := false))", "key;note")
	r.want("SELECT t, _score FROM text_search(odd, 'x', include_score := false)", "x,1")
	r.want("SELECT count(*) FROM vector_search(docs, '')", "0")
	const indexes = `SELECT "table", columns, state, rows, models FROM spiced.search_indexes ORDER BY 1`
	r.want(indexes, "docs,[title, body],ready,3,[local];notes,[note],ready,3,[];odd,[t],ready,1,[]")
	for sql, want := range map[string]string{
		"SELECT * FROM text_search(docs)":                                    `needs the argument "query"`,
		"SELECT * FROM text_search('a b', 'x')":                              `"a b" is not the name of a table`,
		"SELECT * FROM rrf(text_search(dosc, 'x'), text_search(docs, 'x'))":  `did you mean "docs"?`,
		"SELECT * FROM text_search(dosc, 'x')":                               `did you mean "docs"?`,
		"SELECT * FROM text_search(plain, 'x')":                              "these tables have one: docs, notes, odd",
		"SELECT * FROM text_search(docs, 'x', year)":                         `column "year" of table docs is not searched`,
		"SELECT * FROM text_search(docs, ['x', 'y'])":                        "the query of text_search is one text",
		"SELECT * FROM text_search(docs, 'x', body, 3, true)":                "at most 4 without names",
		"SELECT * FROM text_search(docs, 'x', lmit := 3)":                    `did you mean "limit"?`,
		"SELECT * FROM text_search(docs, 'x', query := 'y')":                 `"query" of text_search is given twice`,
		"SELECT * FROM text_search(docs, 'x', rank_weight := 2)":             "no effect outside of rrf",
		"SELECT * FROM vector_search(docs, 'x', distance_metric := 'l2')":    "must be 'cosine'",
		"SELECT * FROM vector_search(docs, 'x', include_score := 3)":         "must be true or false",
		"SELECT * FROM vector_search(notes, 'x')":                            "not searched by vectors",
		"SELECT * FROM text_search(docs, 'x', limit := 1001)":                "must be from 0 to 1000",
		"SELECT * FROM rrf(text_search(docs, 'x'))":                          "it has 1",
		"SELECT * FROM rrf(text_search(docs, 'x'), docs)":                    "argument 2 of rrf is not a search",
		"SELECT * FROM rrf(text_search(docs, 'x'), text_search(notes, 'x'))": "searches of one table",
		"SELECT * FROM text_search(docs, 'x', limit := -1)":                  "limit of text_search is -1; it must be from 0 to 1000",
		"SELECT * FROM text_search(docs, 'x', limit := 'x')":                 "must be a number",
		"WITH d AS (FROM docs) SELECT * FROM text_search(d, 'x')":            "d of text_search is the name of a CTE",
		"SELECT * FROM text_search(odd, 'x')":                                "table odd has a column _score, which a search adds",
		"SELECT text_search(docs, 'x')":                                      "text_search",
	} {
		r.refused(sql, want)
	}
	for args, want := range map[string]string{
		"j := 1":                 "rrf has no argument",
		"join_key := 'title'":    "by row_id",
		"decay_constant := 1":    "without time_column",
		"time_column := 'title'": "name a column of times",
		"time_column := 'year', recency_decay := 'x'": "'exponential' or 'linear'",
		"k := -1": "k of rrf is -1; it must be at least 0",
	} {
		r.refused("SELECT * FROM rrf(text_search(docs, 'x'), text_search(docs, 'y'), "+args+")", want)
	}
	r.refused("SELECT * FROM rrf(text_search(docs, 'x', rank_weight := -1), text_search(docs, 'y'))", "rank_weight of text_search is -1")
	report := r.pod(shop["spicepod.yaml"] + "views: [{name: v, sql: \"SELECT * FROM text_search(docs, 'x')\"}]\n")
	r.problems(report, "text_search(…) is refused in views and functions: a search depends on its caller")
}

// TestReadyWaitsForIndexes checks that a server is ready when its indexes are built.
func TestReadyWaitsForIndexes(t *testing.T) {
	r := start(t, shop, func(o *Options) { o.Serves, o.StateDir = true, t.TempDir() })
	// One that was built may be updated already.
	r.want("SELECT count(*) FROM spiced.search_indexes WHERE state IN ('ready', 'updating')", "3")
}

// TestRowSearchFollowsRows checks that an index is that of the rows after a refresh, a restart and an
// edit of a file.
func TestRowSearchFollowsRows(t *testing.T) {
	state := t.TempDir()
	with := func(o *Options) { o.StateDir = state }
	t.Run("refresh", func(t *testing.T) {
		r := start(t, shop, with)
		r.want("SELECT count(*) FROM text_search(docs, 'umbrella')", "0")
		r.write(files{"docs.csv": shop["docs.csv"] + "4,Umbrella,It rains.,2026,site\n"})
		if err := r.Data().Refreshes().Refresh(t.Context(), "docs", refresh.Override{}); err != nil {
			t.Fatal(err)
		}
		r.untilAnswer("SELECT id FROM text_search(docs, 'umbrella')", "4")
		r.write(files{"docs.csv": strings.Replace(shop["docs.csv"], "Parcels usually", "An umbrella will", 1)})
		if err := r.Data().Refreshes().Refresh(t.Context(), "docs", refresh.Override{}); err != nil {
			t.Fatal(err)
		}
		r.untilAnswer("SELECT id FROM text_search(docs, 'umbrella')", "2")
		r.want("SELECT count(*) FROM text_search(docs, 'parcels')", "0")
	})
	t.Run("restart", func(t *testing.T) {
		r := start(t, shop, with)
		r.untilAnswer("SELECT id FROM text_search(docs, 'parcels')", "2")
	})
	t.Run("dropped", func(t *testing.T) {
		without := files{"spicepod.yaml": "datasets: [{from: file:docs.csv, name: docs}]\n", "docs.csv": shop["docs.csv"]}
		r := start(t, without, with)
		r.refused("SELECT * FROM text_search(docs, 'parcels')", "table docs has no column that is searched")
		wait.Until(t, "the indexes to be removed", func() bool {
			entries, err := os.ReadDir(filepath.Join(state, "search"))
			return err == nil && len(entries) == 0
		})
	})
}

// TestRowSearchIsOfItsCaller compares what two spaces find in one table with what they find in
// tables of their own: rows, scores and counts are the same.
func TestRowSearchIsOfItsCaller(t *testing.T) {
	f := files{"spicepod.yaml": `embeddings: [{name: local, from: "builtin:semantic"}]
datasets:
- from: file:all.csv
  name: docs
  row_filter: space = ctx('space_id')
  column_mask: {secret: "CASE WHEN ctx('user_id') = owner THEN secret END"}
  acceleration: {primary_key: id}
  columns: &columns
  - {name: body, embeddings: [{from: local}]}
  - {name: secret, full_text_search: {}}
- {from: file:a.csv, name: only_a, acceleration: {primary_key: id}, columns: *columns}
- {from: file:b.csv, name: only_b, acceleration: {primary_key: id}, columns: *columns}
views:
- {name: seen, sql: "SELECT * FROM docs", columns: [{name: body, full_text_search: {row_id: id}}]}
`}
	all := map[string][]string{}
	for i := range 120 {
		space := []string{"a", "b"}[i%2]
		owner := []string{"ann", "bob"}[i/2%2]
		body := fmt.Sprintf("wing number %d of the %s plane with %s", i, []string{"red", "blue", "green"}[i%3], strings.Repeat("lift ", i%7))
		if space == "b" {
			body += " and a MARKB shock wave"
		}
		line := fmt.Sprintf("%d,%s,%s,%s,MARK%s%d note of %s", i, space, owner, body, strings.ToUpper(owner), i, owner)
		all[space] = append(all[space], line)
		all["all"] = append(all["all"], line)
	}
	for name, lines := range all {
		f[name+".csv"] = "id,space,owner,body,secret\n" + strings.Join(lines, "\n") + "\n"
	}
	r := start(t, f)
	for _, space := range []string{"a", "b"} {
		scope := tools.Scope{Caller: caller.Caller{UserID: "ann", SpaceID: space}}
		for _, one := range []string{"%s, 'red wing', body", "%s, 'shock wave', body", "%s, 'lift number 7', body", "%s, 'plane', body, limit := 5"} {
			for _, function := range []string{"text_search", "vector_search"} {
				sql := "SELECT id, round(_score, 5) FROM " + function + "(" + one + ")"
				got := answer(t.Context(), r.Runtime, scope, fmt.Sprintf(sql, "docs"))
				if want := answer(t.Context(), r.Runtime, scope, fmt.Sprintf(sql, "only_"+space)); got != want || strings.HasPrefix(got, "error") {
					t.Errorf("%s of %s: %s", sql, space, cmp.Diff(want, got))
				}
			}
		}
	}
	// A masked column is searched in the rows in which the caller sees it.
	for user, other := range map[string]string{"ann": "BOB", "bob": "ANN"} {
		scope := tools.Scope{Caller: caller.Caller{UserID: user, SpaceID: "a"}}
		got := answer(t.Context(), r.Runtime, scope, "SELECT id, secret FROM text_search(docs, 'note', secret)")
		if !strings.HasPrefix(got, "30:") || strings.Contains(got, "MARK"+other) || strings.Contains(got, "null") {
			t.Errorf("%s finds %s", user, got)
		}
		for _, query := range []string{"bob", "ann"} {
			got := answer(t.Context(), r.Runtime, scope, "SELECT count(*) FROM text_search(docs, 'of "+query+"', secret)")
			if want := map[bool]string{true: "1: 30", false: "1: 0"}[query == user]; got != want {
				t.Errorf("%s finds %s rows of %s, want %s", user, got, query, want)
			}
		}
	}
	// Others see nothing, by any entrance, and no numbers of rows.
	strangers := []tools.Scope{{}, {Caller: caller.Caller{SpaceID: "c"}}, {Caller: caller.Caller{UserID: "x' OR 'a'='a", SpaceID: "a' OR 'a'='a"}}}
	for _, scope := range strangers {
		for _, sql := range []string{
			"SELECT count(*) FROM text_search(docs, 'wing')", "SELECT count(*) FROM vector_search(docs, 'wing')",
			"SELECT count(*) FROM rrf(text_search(docs, 'wing'), vector_search(docs, 'wing'))",
			"SELECT count(*) FROM text_search(docs, 'wing') WHERE space = 'a'",
		} {
			if got := answer(t.Context(), r.Runtime, scope, sql); got != "1: 0" {
				t.Errorf("a stranger: %s: %s", sql, got)
			}
		}
		if got := r.hits(scope, `{"text": "wing MARKB", "datasets": ["docs"]}`); got != "" {
			t.Errorf("a stranger finds %s", got)
		}
	}
	got := answer(t.Context(), r.Runtime, strangers[0], `SELECT rows, chunks, bytes FROM spiced.search_indexes WHERE "table" = 'docs'`)
	if got != "1: null null null" {
		t.Errorf("numbers of hidden rows: %s", got)
	}
	// What a request says of itself does not count.
	forged := `{"schema":"public","table":"docs","searches":[{"mode":"keyword","text":"shock"}],"where":"space = ''b'' OR true"}`
	if got := answer(t.Context(), r.Runtime, tools.Scope{Caller: caller.Caller{SpaceID: "a"}}, "SELECT key FROM row_search('"+forged+"')"); got != "0:" {
		t.Errorf("a forged request finds %s", got)
	}
	for _, space := range []string{"a", "b"} { // a view over it has no index
		scope := tools.Scope{Caller: caller.Caller{UserID: "ann", SpaceID: space}}
		for _, query := range []string{"red wing", "shock wave"} {
			const sql = "SELECT id, round(_score, 5) FROM text_search(%s, '%s', body)"
			got, want := answer(t.Context(), r.Runtime, scope, fmt.Sprintf(sql, "seen", query)),
				answer(t.Context(), r.Runtime, scope, fmt.Sprintf(sql, "only_"+space, query))
			if got != want {
				t.Errorf("a view, %s of %s: %s", query, space, cmp.Diff(want, got))
			}
		}
	}
}

// TestRowSearchNeedsKeys searches tables whose row_id is that of several rows, or NULL.
func TestRowSearchNeedsKeys(t *testing.T) {
	r := start(t, files{"spicepod.yaml": `datasets:
- {from: file:n.csv, name: open, columns: [{name: word, full_text_search: {row_id: id}}]}
- {from: file:n.csv, name: filtered, row_filter: space = ctx('space_id'), columns: [{name: word, full_text_search: {row_id: id}}]}
- {from: file:n.csv, name: keyed, row_filter: space = ctx('space_id'), columns: [{name: word, full_text_search: {row_id: [space, id]}}]}
`, "n.csv": "space,id,word\na,1,wing of a\nb,1,secret of b\na,2,wing\na,,nothing\n"})
	scope := tools.Scope{Caller: caller.Caller{SpaceID: "a"}}
	// By the key alone, the secret would be one that a may find.
	if got := answer(t.Context(), r.Runtime, scope, "SELECT id FROM text_search(filtered, 'secret')"); !strings.HasPrefix(got, "error") {
		t.Errorf("an index of rows that share a key: %s", got)
	}
	for _, c := range []struct{ sql, want string }{
		{"SELECT id, word FROM text_search(keyed, 'wing') ORDER BY id", `2: 1 "wing of a"; 2 "wing"`},
		{"SELECT id FROM text_search(keyed, 'secret')", "0:"},
		{"SELECT count(*) FROM text_search(open, 'nothing')", "1: 0"},
		{
			`SELECT message FROM spiced.search_indexes WHERE "table" = 'open'`,
			`1: "1 rows have the row_id of another row and are not found; 1 rows have a NULL in row_id and are not found"`,
		},
		{`SELECT message FROM spiced.search_indexes WHERE "table" = 'keyed'`, `1: "some rows have a NULL in row_id and are not found"`},
		{
			`SELECT state, message FROM spiced.search_indexes WHERE "table" = 'filtered'`,
			`1: "failed" "several rows have one row_id, so that it does not tell which of them a caller may see; ` +
				`declare columns that identify a row, such as row_id: [space, id]"`,
		},
	} {
		if got := answer(t.Context(), r.Runtime, scope, c.sql); strings.TrimSpace(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.sql, got, c.want)
		}
	}
}

// TestRowSearchLosesKeys checks that an index ends when its keys become those of several rows.
func TestRowSearchLosesKeys(t *testing.T) {
	f := files{"spicepod.yaml": `datasets:
- {from: file:n.csv, name: n, row_filter: space = ctx('space_id'), acceleration: {},
  columns: [{name: word, full_text_search: {row_id: id}}]}
`, "n.csv": "space,id,word\na,1,apple\nb,2,secret\n"}
	r := start(t, f)
	a := tools.Scope{Caller: caller.Caller{SpaceID: "a"}}
	const sql = "SELECT count(*) FROM text_search(n, 'apple secret')"
	if got := answer(t.Context(), r.Runtime, a, sql); got != "1: 1" {
		t.Fatal(got)
	}
	r.write(files{"n.csv": "space,id,word\na,1,apple\nb,2,secret\na,2,pear\n"})
	if err := r.Data().Refreshes().Refresh(t.Context(), "n", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the index to end", func() bool {
		return strings.Contains(answer(t.Context(), r.Runtime, a, "SELECT message FROM spiced.search_indexes"), "one row_id")
	})
	if got := answer(t.Context(), r.Runtime, a, sql); !strings.HasPrefix(got, "error") {
		t.Errorf("it still answers: %s", got)
	}
	r.write(files{"n.csv": "space,id,word\na,1,apple\nb,2,secret\na,3,pear\n"})
	if err := r.Data().Refreshes().Refresh(t.Context(), "n", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the index to be back", func() bool { return answer(t.Context(), r.Runtime, a, sql) == "1: 1" })
}

// TestRowSearchCannotWrite has a file in place of the folder that an update writes into,
// as a full disk has no room: the state tells, the rows from before are found, and later the new ones.
func TestRowSearchCannotWrite(t *testing.T) {
	state := t.TempDir()
	r := start(t, shop, func(o *Options) { o.StateDir = state })
	r.untilAnswer("SELECT id FROM text_search(docs, 'parcels')", "2")
	folders, err := filepath.Glob(filepath.Join(state, "search", "*"))
	if err != nil || len(folders) == 0 {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		if err := errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	r.write(files{"docs.csv": shop["docs.csv"] + "4,Umbrella,It rains.,2026,site\n"})
	if err := r.Data().Refreshes().Refresh(t.Context(), "docs", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	r.untilAnswer(`SELECT message LIKE 'write the search index: %not a directory' FROM spiced.search_indexes WHERE "table" = 'docs'`, "true")
	r.want("SELECT id FROM text_search(docs, 'parcels')", "2")
	for _, folder := range folders {
		if err := errors.Join(os.Remove(folder), os.Mkdir(folder, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	r.untilAnswer("SELECT id FROM text_search(docs, 'umbrella')", "4")
}

// TestRowSearchWhileRowsChange searches a table that is refreshed all the time: each answer is that
// of one state of the rows.
func TestRowSearchWhileRowsChange(t *testing.T) {
	f := files{"spicepod.yaml": `datasets: [{from: file:n.csv, name: n, acceleration: {primary_key: id}, columns: [{name: word, full_text_search: {}}]}]
`, "n.csv": "id,word\n"}
	state := func(n int) string {
		var b strings.Builder
		b.WriteString("id,word\n")
		for i := range 50 {
			fmt.Fprintf(&b, "%d,state word%c\n", i, 'a'+n)
		}
		return b.String()
	}
	f["n.csv"] = state(0)
	r := start(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			rows, err := r.DB().Query(ctx, engine.Request{SQL: "SELECT count(*) FROM text_search(n, 'state')"})
			if err == nil {
				for _, err = range rows.Chunks() {
					if err != nil {
						break
					}
				}
				rows.Close()
			}
			if err != nil && ctx.Err() == nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for n := 1; n <= 10; n++ {
		r.write(files{"n.csv": state(n)})
		if err := r.Data().Refreshes().Refresh(t.Context(), "n", refresh.Override{}); err != nil {
			t.Fatal(err)
		}
		r.untilAnswer(fmt.Sprintf("SELECT count(*) FROM text_search(n, 'word%c')", 'a'+n), "50")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	var counts []string
	for n := range 10 {
		got, err := r.ask(fmt.Sprintf("SELECT count(*) FROM text_search(n, 'word%c')", 'a'+n))
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, got)
	}
	if slices.ContainsFunc(counts, func(n string) bool { return n != "0" }) {
		t.Errorf("rows of earlier states are found: %s", counts)
	}
}

// TestRowSearchWithoutModel searches a column whose model cannot be loaded, by words.
func TestRowSearchWithoutModel(t *testing.T) {
	f := files{"docs.csv": shop["docs.csv"], "spicepod.yaml": `embeddings: [{name: broken, from: "file:nowhere"}]
datasets:
- {from: file:docs.csv, name: docs, acceleration: {primary_key: id}, columns: [{name: body, embeddings: [{from: broken}]}]}
`}
	r := start(t, f)
	r.want("SELECT id FROM text_search(docs, 'parcels')", "2")
	const message = `embedding model "broken" was not loaded, so that column body is searched only by words`
	r.want("SELECT message FROM spiced.search_indexes", message)
	if got := r.hits(tools.Scope{}, `{"text": "parcels"}`); got != `docs{"id":2}body table docs: `+message {
		t.Errorf("finds %s", got)
	}
	r.refused("SELECT id FROM vector_search(docs, 'parcels')", message)
	r.write(files{"spicepod.yaml": f["spicepod.yaml"] + `- {from: file:docs.csv, name: own, row_filter: "ctx('space_id') = 'a'"}
views: [{name: seen, sql: FROM own, columns: [{name: body, embeddings: [{from: broken, row_id: id}]}]}]
`})
	r.reload()
	scope := tools.Scope{Caller: caller.Caller{SpaceID: "a"}} // a view of rows of the caller has no index of its own
	if got := r.hits(scope, `{"text": "parcels", "datasets": ["seen"]}`); got != `seen{"id":2}body table seen: `+message {
		t.Errorf("finds %s in rows of the caller", got)
	}
}

// TestRowSearchTellsLongTexts has a row with a text that is too long to be searched as a whole. What
// tells so stays when another row is added and after a restart, and goes with the text.
func TestRowSearchTellsLongTexts(t *testing.T) {
	const message = "of the texts of 1 rows only the beginning is searched: they are longer than 4194304 bytes or have more " +
		"than 16384 chunks"
	long := "id,body\n1,parcels" + strings.Repeat(" and", 1<<20) + " umbrella\n2,short\n"
	f := files{"docs.csv": long, "spicepod.yaml": `datasets:
- from: file:docs.csv
  name: docs
  params: {max_line_size: 9000000}
  acceleration: {primary_key: id}
  columns: [{name: body, full_text_search: {}}]
`}
	state := t.TempDir()
	with := func(o *Options) { o.StateDir = state }
	check := func(t *testing.T, r *rig, want string) {
		t.Helper()
		r.want("SELECT message FROM spiced.search_indexes", want)
	}
	t.Run("refreshes", func(t *testing.T) {
		r := start(t, f, with)
		r.untilAnswer("SELECT id FROM text_search(docs, 'parcels')", "1")
		r.want("SELECT count(*) FROM text_search(docs, 'umbrella')", "0")
		check(t, r, message)
		r.write(files{"docs.csv": long + "3,late\n"})
		if err := r.Data().Refreshes().Refresh(t.Context(), "docs", refresh.Override{}); err != nil {
			t.Fatal(err)
		}
		r.untilAnswer("SELECT id FROM text_search(docs, 'late')", "3")
		check(t, r, message)
	})
	f["docs.csv"] = long + "3,late\n"
	t.Run("restart", func(t *testing.T) {
		r := start(t, f, with)
		r.untilAnswer("SELECT id FROM text_search(docs, 'late')", "3")
		check(t, r, message)
		r.write(files{"docs.csv": "id,body\n1,parcels\n4,brief\n"})
		if err := r.Data().Refreshes().Refresh(t.Context(), "docs", refresh.Override{}); err != nil {
			t.Fatal(err)
		}
		r.untilAnswer("SELECT id FROM text_search(docs, 'brief')", "4")
		check(t, r, "NULL")
	})
}

// TestRerank has a scripted model score what a search found.
func TestRerank(t *testing.T) {
	f := files{"docs.csv": shop["docs.csv"], "notes.csv": shop["notes.csv"], "odd.csv": shop["odd.csv"]}
	f["spicepod.yaml"] = shop["spicepod.yaml"] + `models:
- name: judge
  from: scripted:judge
  params: {tools: disabled}
  script:
  - {user: 'query":"within', say: "<think>[1]</think> Here: [{\"n\":1,\"score\":0.2},{\"n\":2,\"score\":7}]"}
  - {user: 'query":"twice', say: "[{\"n\":1,\"score\":1},{\"n\":1,\"score\":1}]"}
  - {user: 'query":"some', say: "[{\"n\":1,\"score\":1}]"}
  - {user: 'query":"overloaded', error: {code: rate_limited, message: too many}}
  - {say: "I would rather not."}
`
	r := start(t, f)
	const found = "text_search(docs, 'within shop parcels goods', limit := 2)"
	before, err := r.ask("SELECT string_agg(id, '-') FROM " + found)
	if err != nil || len(before) != 3 {
		t.Fatal(before, err)
	}
	after := before[2:] + "-" + before[:1]
	r.want("SELECT string_agg(id, '-'), string_agg(rerank_score, '-') FROM rerank("+found+", document := 'body')", after+",1.0-0.2")
	r.want("SELECT id FROM rerank("+found+", document := body, model := 'judge', limit := 1)", after[:1])
	r.want("SELECT count(*) FROM rerank(rrf("+found+", "+found+", limit := 2), document := 'body')", "2")
	r.want("SELECT note, rerank_score FROM rerank(plain, query := 'shop', document := 'note', limit := 0)", "")
	r.want("SELECT count(*) FROM rerank(text_search(docs, 'umbrella'), document := 'body')", "0") // asks no model
	for sql, want := range map[string]string{
		"SELECT * FROM rerank()":                                                          "rerank needs an input",
		"SELECT * FROM rerank(" + found + ")":                                             `needs the argument "document"`,
		"SELECT * FROM rerank(plain, document := 'note')":                                 `rerank of a table needs the argument "query"`,
		"SELECT * FROM rerank(plain, plain, document := 'note')":                          "argument 2 is another",
		"SELECT * FROM rerank(nothing, query := 'x', document := 'note')":                 "nothing",
		"SELECT * FROM rerank(" + found + ", document := 'nope')":                         "nope",
		"SELECT * FROM rerank(" + found + ", document := 'body', model := 'jugde')":       "judge",
		"SELECT * FROM rerank(" + found + ", document := 'body', strategy := 'listwise')": "strategy of rerank is not supported",
		"SELECT * FROM rerank(" + found + ", document := 'body', prompt_template := 'x')": "prompt_template of rerank is not supported",
		"SELECT * FROM rerank(" + found + ", documnt := 'body')":                          `did you mean "document"?`,
		"SELECT * FROM rerank(" + found + ", document := 'body', query := 'twice')":       "two of one",
		"SELECT * FROM rerank(" + found + ", document := 'body', query := 'some')":        "no score of document 2 of 2",
		"SELECT * FROM rerank(" + found + ", document := 'body', query := 'x')":           "its answer is not a list of scores",
		"SELECT * FROM rerank(" + found + ", document := 'body', query := 'overloaded')":  "too many",
		"SELECT * FROM rerank(" + "range(200)" + ", document := 'range', query := 'x')":   "the input of rerank is not a search",
	} {
		r.refused(sql, want)
	}
}
