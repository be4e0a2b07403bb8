// Package podtest loads Spicepods that tests write.
//
//	pod := podtest.Load(t, "datasets:\n- {name: d, from: 'file:d.csv'}\n")
package podtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

// Load returns the Spicepod with the given sections, in a folder of its own.
func Load(t testing.TB, sections string, bodies ...spicepod.BodyKind) *spicepod.Pod {
	t.Helper()
	return LoadIn(t, t.TempDir(), sections, bodies...)
}

// LoadIn writes the Spicepod with the given sections into a folder and loads it.
func LoadIn(t testing.TB, dir, sections string, bodies ...spicepod.BodyKind) *spicepod.Pod {
	t.Helper()
	text := "version: v1\nkind: Spicepod\nname: test\n" + sections
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	pod, err := spicepod.Load(dir, bodies...)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return pod
}
