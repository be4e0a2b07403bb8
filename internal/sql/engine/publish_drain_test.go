package engine

import (
	"errors"
	"testing"
)

func TestDrain(t *testing.T) {
	var d drain
	ran := 0
	note := func() { ran++ }
	d.add(1)
	d.wait(note)
	if ran != 1 {
		t.Fatal("nothing older is live, and yet it waits")
	}
	d.add(2) // a statement still sees 1
	d.wait(note)
	d.add(3)
	d.remove(2)
	if ran != 1 {
		t.Fatal("it did not wait for catalog 1")
	}
	d.remove(1)
	if ran != 2 {
		t.Fatal("it waits for what is gone")
	}
}

func TestCommittedRunsOnlyAfterACommit(t *testing.T) {
	db, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var ran []string
	try := func(name, sql string) error {
		return db.Publish(t.Context(), NewCatalog(Contents{Generation: 1}), func(tx *Tx) error {
			tx.Committed(func() { ran = append(ran, name) })
			_ = tx.Exec(sql) // the error is ignored: the transaction may be aborted
			return nil
		})
	}
	if err := try("good", "CREATE VIEW spice.public.v AS SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if err := try("aborted", "CREATE VIEW spice.public.w AS SELECT * FROM read_csv('/nowhere.csv')"); err == nil {
		t.Error("an aborted transaction was published")
	}
	failed := errors.New("build failed")
	err = db.Publish(t.Context(), NewCatalog(Contents{Generation: 1}), func(tx *Tx) error {
		tx.Committed(func() { ran = append(ran, "failed") })
		return failed
	})
	if !errors.Is(err, failed) || len(ran) != 1 || ran[0] != "good" {
		t.Errorf("ran %v, error %v", ran, err)
	}
}
