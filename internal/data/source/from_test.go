package source

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestSecretParts(t *testing.T) {
	t.Setenv("A", "alpha")
	t.Setenv("B", "be/ta")
	for raw, want := range map[string][]string{
		"file:plain.csv":                    nil,
		"${env:A}":                          {"alpha"},
		"https://h/${env:A}":                {"alpha"},
		"https://${env:A}:${env:B}@h/x.csv": {"alpha", "be/ta"},
		"x${ env:B }y${env:A}z":             {"be/ta", "alpha"},
		"${env:A}${env:B}":                  {"alphabe/ta"},
	} {
		from := podtest.Load(t, "datasets: [{name: t, from: '"+raw+"'}]\n").Datasets[0].From
		if got := secretsOf(from); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	kinds := Kinds{{Names: []string{"file"}}, {Names: []string{"duckdb"}}, {Names: []string{"http", "https"}, URL: true}}
	for raw, want := range map[string]From{
		"file:a.csv":             {Connector: "file", Target: "a.csv"},
		"FILE:a.csv":             {Connector: "file", Target: "a.csv"},
		"file:///a.csv":          {Connector: "file", Target: "/a.csv"},
		"duckdb:x.db/t":          {Connector: "duckdb", Target: "x.db/t"},
		"duckdb/main.t":          {Connector: "duckdb", Target: "main.t"},
		"https://h:8/x.csv?a=b:": {Connector: "https", Target: "https://h:8/x.csv?a=b:"},
	} {
		got, err := kinds.Parse(spicepod.Text{Raw: raw}, "/dir")
		want.Dir, want.Shown = "/dir", raw
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
}

// FuzzSplitName reads names of tables back that it writes.
func FuzzSplitName(f *testing.F) {
	for _, s := range []string{"orders", "public.orders", `"a.b"."c""d"`, `"`, ".", `a."b"c`} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		parts, err := SplitName(text)
		if err == nil && len(parts) == 0 {
			t.Errorf("%q has no parts", text)
		}
		if text == "" || other == "" {
			return
		}
		want := []string{text, other}
		quoted := pgx.Identifier(want).Sanitize()
		if strings.ContainsRune(quoted, 0) || strings.ContainsRune(text+other, 0) {
			return
		}
		got, err := SplitName(quoted)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %q, %v", quoted, got, err)
		}
		if got, err := SplitName(QuoteName(want...)); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %q, %v", QuoteName(want...), got, err)
		}
	})
}

// TestUsed: the connector of a dataset is found in each form of `from` that Parse takes.
func TestUsed(t *testing.T) {
	kinds := Kinds{
		{Names: []string{"file"}},
		{Names: []string{"sqlite"}},
		{Names: []string{"postgres"}, Aliases: []string{"pg"}},
		{Names: []string{"spice.ai"}},
	}
	for text, want := range map[string]string{
		"datasets: [{name: t, from: 'sqlite:shop.db/orders'}]":                           "sqlite",
		"datasets: [{name: t, from: SQLite/orders}, {name: u, from: spice.ai/orders}]":   "sqlite spice.ai",
		"datasets: [{name: t, from: 'sqlite://shop.db'}, {name: u, from: 'file:a.csv'}]": "file sqlite",
		"catalogs: [{name: c, from: pg}]":                                                "postgres",
		"catalogs: [{name: c, from: 'postgres:shop'}]":                                   "postgres",
	} {
		var got []string
		for _, k := range kinds.Used(podtest.Load(t, text+"\n")) {
			got = append(got, k.Names...)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %s", text, got, want)
		}
	}
}
