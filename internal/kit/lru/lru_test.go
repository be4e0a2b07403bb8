package lru_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/lru"
)

func TestEviction(t *testing.T) {
	var gone []string
	c := lru.New(3, 10, func(key string, value int) { gone = append(gone, fmt.Sprint(key, value)) })
	check := func(step string, length int, weight int64, want ...string) {
		t.Helper()
		if c.Len() != length || c.Weight() != weight || !slices.Equal(gone, want) {
			t.Errorf("%s: %d entries of weight %d, removed %q; want %d of %d, %q", step, c.Len(), c.Weight(), gone, length, weight, want)
		}
		gone = nil
	}
	c.Put("a", 1, 2)
	c.Put("b", 2, 2)
	c.Put("c", 3, 2)
	check("full", 3, 6)
	if v, ok := c.Get("a"); !ok || v != 1 {
		t.Errorf("a is %d, %t", v, ok)
	}
	c.Put("d", 4, 2)
	check("one too many", 3, 6, "b2")
	if _, ok := c.Get("b"); ok {
		t.Error("b is still there")
	}
	if key, value, ok := c.Oldest(); key != "c" || value != 3 || !ok {
		t.Errorf("the oldest is %q", key)
	}
	c.Put("d", 5, 7)
	check("replaced and too heavy", 2, 9, "d4", "c3")
	c.Put("e", 6, 11)
	check("heavier than all", 0, 0, "a1", "d5", "e6")
	if _, _, ok := c.Oldest(); ok {
		t.Error("an empty cache has an oldest entry")
	}
}

func TestRemoval(t *testing.T) {
	removed := 0
	c := lru.New(math.MaxInt, 100, func(int, string) { removed++ })
	for i := range 10 {
		c.Put(i, "", 10)
	}
	c.Delete(3)
	c.Delete(33)
	c.DeleteFunc(func(key int, _ string) bool { return key >= 8 })
	c.SetMaxWeight(20)
	if _, ok := c.Get(7); !ok || c.Len() != 2 || c.Weight() != 20 || removed != 8 {
		t.Errorf("%d entries of weight %d, %d removed", c.Len(), c.Weight(), removed)
	}
	c.SetMaxWeight(0)
	if c.Len() != 0 || removed != 10 {
		t.Errorf("%d entries, %d removed", c.Len(), removed)
	}
}
