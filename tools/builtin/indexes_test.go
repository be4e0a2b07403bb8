package builtin

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestIndexesForgetThoseUsedLongestAgo(t *testing.T) {
	x := NewIndexes()
	made := 0
	get := func(key string, size int64) {
		t.Helper()
		_, err := x.get(t.Context(), key, time.Time{}, 0, func() (*rowIndex, error) {
			made++
			return &rowIndex{bytes: size}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range MaxIndexes {
		get(fmt.Sprint(i), 1)
	}
	get("0", 1) // used again
	get("new", 1)
	if before := made; before != MaxIndexes+1 {
		t.Errorf("%d indexes made", before)
	}
	get("0", 1)
	get("1", 1)
	if made != MaxIndexes+2 {
		t.Errorf("%d indexes made; 0 was used last and 1 was not", made)
	}
	get("large", MaxIndexedBytes+1)
	if len(x.entries) != 1 {
		t.Errorf("%d indexes next to one that is over the limit of bytes", len(x.entries)-1)
	}
}

func TestIndexesWhoseMakerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewIndexes()
		gone := make(chan struct{})
		failed := errors.New("failed")
		first := make(chan error)
		go func() {
			_, err := x.get(t.Context(), "k", time.Time{}, 0, func() (*rowIndex, error) { <-gone; return nil, failed })
			first <- err
		}()
		synctest.Wait()
		second := make(chan *rowIndex)
		want := &rowIndex{}
		go func() {
			got, _ := x.get(t.Context(), "k", time.Time{}, 0, func() (*rowIndex, error) { return want, nil })
			second <- got
		}()
		ctx, cancel := context.WithCancel(t.Context())
		third := make(chan error)
		for _, key := range []string{"k", "other"} { // waits for the index, waits to make one
			go func() {
				_, err := x.get(ctx, key, time.Time{}, 0, func() (*rowIndex, error) { return want, nil })
				third <- err
			}()
		}
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-third; !errors.Is(err, context.Canceled) {
				t.Errorf("who left: %v", err)
			}
		}
		close(gone)
		if err := <-first; !errors.Is(err, failed) {
			t.Errorf("the maker: %v", err)
		}
		if got := <-second; got != want {
			t.Errorf("who waited: %v", got)
		}
	})
}

// An index of rows that depend on their reader is not shared, not even with
// calls that wait for it.
func TestPersonalIndexesAreNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := NewIndexes()
		read := make(chan struct{})
		got := make(chan bool)
		for range 5 {
			go func() {
				own := &rowIndex{personal: true, bytes: 1}
				index, err := x.get(t.Context(), "k", time.Time{}, 0, func() (*rowIndex, error) { <-read; return own, nil })
				got <- index == own && err == nil
			}()
		}
		synctest.Wait()
		close(read)
		for range 5 {
			if !<-got {
				t.Error("a caller got another's index, or none")
			}
		}
		for _, e := range x.entries {
			if e.index != nil {
				t.Error("it is still cached")
			}
		}
	})
}

func TestIndexesWhoseMakerPanics(t *testing.T) {
	x := NewIndexes()
	func() {
		defer func() { _ = recover() }()
		_, _ = x.get(t.Context(), "k", time.Time{}, 0, func() (*rowIndex, error) { panic("fault") })
	}()
	if got, err := x.get(t.Context(), "k", time.Time{}, 0, func() (*rowIndex, error) { return &rowIndex{}, nil }); err != nil || got == nil {
		t.Errorf("after a panic: %v, %v", got, err)
	}
}

func TestPrimaryKey(t *testing.T) {
	columns := []Column{{Name: "a"}, {Name: "B c"}}
	d := FromDataset(engine.Relation{}, spicepod.Dataset{Acceleration: &spicepod.Acceleration{PrimaryKey: `(a, "b C", missing)`}}, columns)
	if len(d.Key) != 2 || d.Key[1] != "B c" || !d.Columns[1].NotNull || columns[1].NotNull {
		t.Errorf("got %+v from %+v", d, columns)
	}
}
