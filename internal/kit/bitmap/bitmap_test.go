package bitmap_test

import (
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/bitmap"
)

func TestBitmap(t *testing.T) {
	for _, size := range []int{0, 1, 63, 64, 65, 1000} {
		full, some := bitmap.Full(size), bitmap.New(size)
		if full.Count() != size || some.Count() != 0 || full.Size() != size {
			t.Errorf("size %d: a full set has %d, an empty one %d", size, full.Count(), some.Count())
		}
		for i := range size {
			some.Add(i)
		}
		if some.Key() != full.Key() {
			t.Errorf("size %d: the sets differ", size)
		}
		if size == 0 {
			continue
		}
		before := some.Clone()
		some.Remove(size - 1)
		if some.Has(size-1) || !before.Has(size-1) || some.Count() != size-1 || some.Key() == full.Key() {
			t.Errorf("size %d: the last number is still there", size)
		}
	}
}
