package snapshots

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

func goodManifest() *manifest {
	return &manifest{
		Format: 1, Dataset: "t", Declaration: "d", Created: time.Unix(1e9, 0).UTC(), Refreshed: time.Unix(1e9, 0).UTC(), Rows: 1, Bytes: 1,
		SHA256: strings.Repeat("0", 64),
		Columns: []column{
			{"a", columnType{Name: "DECIMAL", Width: 5, Scale: 2}},
			{`b"`, columnType{Name: "MAP", Fields: []columnField{{"key", columnType{Name: "VARCHAR"}}, {"value", columnType{Name: "ENUM", Values: []string{"it's"}}}}}},
			{"c", columnType{Name: "ARRAY", Size: 3, Of: &columnType{Name: "STRUCT", Fields: []columnField{{"x y", columnType{Name: "JSON"}}}}}},
			{"d", columnType{Name: "HUGEINT"}},
		},
	}
}

func text(t testing.TB, m *manifest) []byte {
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadQuery(t *testing.T) {
	m, err := parseManifest(text(t, goodManifest()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.readQuery("f")
	const want = `SELECT CAST("a" AS DECIMAL(5,2)) AS "a", CAST("b""" AS MAP(VARCHAR, ENUM('it''s'))) AS "b""", CAST("c" AS STRUCT("x y" JSON)[3]) AS "c", CAST("d" AS HUGEINT) AS "d" FROM f`
	if err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestManifestFaults(t *testing.T) {
	deep := columnType{Name: "INTEGER"}
	for range 40 {
		of := deep
		deep = columnType{Name: "LIST", Of: &of}
	}
	for want, change := range map[string]func(*manifest){
		"values that none has":               func(m *manifest) { m.SHA256 = "00" },
		"has 0 columns":                      func(m *manifest) { m.Columns = nil },
		"has 10001 columns":                  func(m *manifest) { m.Columns = make([]column, 10_001) },
		`there is no type "VARCHAR)"`:        func(m *manifest) { m.Columns[0].Type = columnType{Name: "VARCHAR)"} },
		`there is no type "UNION"`:           func(m *manifest) { m.Columns[0].Type = columnType{Name: "UNION"} },
		"there is no DECIMAL(39,0)":          func(m *manifest) { m.Columns[0].Type = columnType{Name: "DECIMAL", Width: 39} },
		"LIST needs a type":                  func(m *manifest) { m.Columns[0].Type = columnType{Name: "LIST"} },
		"ARRAY needs a type":                 func(m *manifest) { m.Columns[2].Type.Size = -1 },
		"STRUCT needs other fields":          func(m *manifest) { m.Columns[0].Type = columnType{Name: "STRUCT"} },
		"MAP needs other fields":             func(m *manifest) { m.Columns[1].Type.Fields = m.Columns[1].Type.Fields[:1] },
		"a type has more than 32 levels":     func(m *manifest) { m.Columns[0].Type = deep },
		"column 2 of the manifest: there is": func(m *manifest) { m.Columns[1].Type.Fields[1].Type.Name = "x" },
	} {
		m := goodManifest()
		change(m)
		if _, err := parseManifest(text(t, m)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	var unusable *unusableError
	if _, err := parseManifest([]byte(`{"format": 7, "columns": 3}`)); !errors.As(err, &unusable) {
		t.Errorf("a later format: got %v", err)
	}
	if _, err := parseManifest(append(text(t, goodManifest()), " {}"...)); err == nil {
		t.Error("two values are one")
	}
}

// FuzzManifest parses what a store may have: SQL is made of names and types only.
func FuzzManifest(f *testing.F) {
	f.Add(text(f, goodManifest()))
	f.Add([]byte(`{"format": 2}`))
	f.Add([]byte(`{"format": 1, "columns": [{"name": "x", "type": {"name": "LIST", "of": {"name": "LIST"}}}]}`))
	db, err := engine.Open(f.Context(), engine.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(db.Close)
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := parseManifest(raw)
		if err != nil {
			return
		}
		query, err := m.readQuery("f")
		if err != nil {
			t.Fatalf("%v, which was parsed", err)
		}
		if strings.Contains(query, "\x00") {
			return // DuckDB takes the text before it, which is in quotes
		}
		st, err := db.Parse(t.Context(), query)
		if err != nil {
			return // such as the name of a field that DuckDB does not have
		}
		if len(st.Relations) != 1 || st.Relations[0].Name != "f" || len(st.Calls) > 0 {
			t.Errorf("%s reads %v and calls %v", query, st.Relations, st.Calls)
		}
	})
}

func TestOutdated(t *testing.T) {
	var objects []objectstore.Object
	add := func(keys ...string) {
		for _, k := range keys {
			objects = append(objects, objectstore.Object{Key: k})
		}
	}
	name := func(day int) string { return fmt.Sprintf("202601%02dT000000.000Z-0000000%d", day, day) }
	for _, day := range []int{1, 2, 4, 5} {
		add(name(day)+".json", name(day)+".parquet")
	}
	add(name(3)+".parquet", name(6)+".parquet", name(1)+".parquet.part", "../"+name(1)+".json", "x/"+name(1)+".json", name(1)+".txt", "x"+name(1)+".json")
	if got := finished(objects); !slices.Equal(got, []string{name(5), name(4), name(2), name(1)}) {
		t.Errorf("got %q", got)
	}
	for keep, want := range map[int][]string{
		2: {name(1) + ".json", name(2) + ".json", name(1) + ".parquet", name(2) + ".parquet", name(3) + ".parquet", name(1) + ".parquet.part"},
		3: {name(1) + ".json", name(1) + ".parquet", name(1) + ".parquet.part"},
		4: nil, 5: nil,
	} {
		if got := outdated(objects, keep); !slices.Equal(got, want) {
			t.Errorf("keep %d: got %q", keep, got)
		}
	}
	a, b := newName(time.Unix(0, 0)), newName(time.Unix(0, 1e6))
	if a >= b || finished([]objectstore.Object{{Key: a + ".json"}}) == nil {
		t.Errorf("%s is not before %s", a, b)
	}
}

// TestIdentity changes values of secrets, which must not matter, and others.
func TestIdentity(t *testing.T) {
	params := []spicepod.Param{{Name: "password", Secret: true}, {Name: "host"}}
	of := func(text string) string {
		pod := podtest.Load(t, "datasets:\n- "+text+"\n")
		return Identity(pod.Datasets[0], params)
	}
	t.Setenv("IDENTITY_A", "hunter2")
	t.Setenv("IDENTITY_B", "other")
	const base = "{name: t, from: 'x://u:hunter2@host/a', params: {password: hunter2, host: '${env:IDENTITY_A}', list: ['https://u:p@h/']}, acceleration: " +
		"{mode: file}}"
	want := of(base)
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{"u:hunter2@host", "u:other@host", true},
		{"password: hunter2", "password: other", true},
		{"https://u:p@h/", "https://h/", true},
		{"mode: file", "mode: memory, refresh_check_interval: 1h, snapshots: enabled", true},
		{"name: t", "name: t, description: x", true},
		{"IDENTITY_A", "IDENTITY_B", false},
		{"/a'", "/b'", false},
		{"name: t", "name: u", false},
		{"mode: file", "refresh_sql: SELECT 1", false},
		{"mode: file", "on_conflict: {id: drop}", false},
	} {
		if got := of(strings.Replace(base, c.old, c.new, 1)); (got == want) != c.same {
			t.Errorf("%s → %s: the same is %v", c.old, c.new, got == want)
		}
	}
	t.Setenv("IDENTITY_A", "changed")
	if of(base) != want {
		t.Error("the value of a reference matters")
	}
}
