package source

import (
	"reflect"
	"testing"

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
		if got := Secrets(from); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for raw, want := range map[string]From{
		"file:a.csv":             {Connector: "file", Target: "a.csv"},
		"FILE:a.csv":             {Connector: "file", Target: "a.csv"},
		"file:///a.csv":          {Connector: "file", Target: "/a.csv"},
		"duckdb:x.db/t":          {Connector: "duckdb", Target: "x.db/t"},
		"duckdb/main.t":          {Connector: "duckdb", Target: "main.t"},
		"https://h:8/x.csv?a=b:": {Connector: "https", Target: "https://h:8/x.csv?a=b:"},
	} {
		got, err := Parse(spicepod.Text{Raw: raw}, "/dir", []string{"file", "duckdb", "http", "https"})
		want.Dir, want.Shown = "/dir", raw
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
}
