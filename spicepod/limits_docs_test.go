package spicepod

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/doctable"
)

// TestDocsOfLimits compares docs/limits.md with the settings of `runtime:` that are
// numbers, sizes and durations.
func TestDocsOfLimits(t *testing.T) {
	rows := doctable.Read(t, "../docs/limits.md", "Setting")
	types := describer{}
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		info := types.describe(typ)
		for i := range info.fields {
			f := &info.fields[i]
			path := path + "." + f.name
			inside, suffix := structInside(f.typ)
			switch {
			case f.service != served || strings.HasSuffix(path, ".search"):
			case inside != nil && suffix == "":
				walk(path, inside)
			case f.shape == shapeInt || f.shape == shapeSize || f.shape == shapeDuration || strings.HasSuffix(path, "requests_per_second"):
				row := rows[path]
				if row == nil {
					t.Errorf("%s is not in docs/limits.md", path)
				} else if row["Default"] != f.fallback {
					t.Errorf("%s: the default %q is documented; it is %q", path, row["Default"], f.fallback)
				}
				delete(rows, path)
			}
		}
	}
	walk("runtime", reflect.TypeFor[Runtime]())
	for path := range rows {
		t.Errorf("docs/limits.md has %s, which is no number, size or duration of the Spicepod", path)
	}
}
