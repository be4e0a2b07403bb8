package engine

import (
	"math"
	"testing"
)

// Versions change with the rows of the relations alone, and with each generation.
func TestVersions(t *testing.T) {
	db, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	publish := func(c *Catalog) {
		t.Helper()
		if err := db.Publish(t.Context(), c, func(*Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	a, b := Relation{"public", "A"}, Relation{"s", "b"}
	version := func(of ...Relation) uint64 { return db.Version(of) }
	publish(NewCatalog(Contents{}))
	first := version(a, b)
	if first != db.Current().Serial() || version() != first {
		t.Errorf("the versions of a generation are %d, %d", first, version())
	}
	publish(db.Current().Renew(Relation{"PUBLIC", "a"}))
	if serial := db.Current().Serial(); version(a) != serial || version(b, a) != serial || version(b) != first || version() != first {
		t.Errorf("after a refresh: %d, %d, %d", version(a), version(b, a), version(b))
	}
	publish(db.Current().Renew())
	refreshed := version(a)
	if err := db.Change(b, func() error {
		if version(b) != math.MaxUint64 || version(a, b) != math.MaxUint64 || version(a) != refreshed {
			t.Errorf("during a change: %d, %d, %d", version(b), version(a, b), version(a))
		}
		publish(NewCatalog(Contents{})) // a reload meanwhile
		if version(b) != math.MaxUint64 || version(a) != db.Current().Serial() {
			t.Errorf("during a change, after a reload: %d, %d", version(b), version(a))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if version(b) <= db.Current().Serial() {
		t.Error("after a change, before its publication, statements have the version")
	}
	publish(db.Current().Renew())
	if version(b) > db.Current().Serial() {
		t.Error("after the next publication, statements do not have the version")
	}
}
