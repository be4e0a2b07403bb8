package translation

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Known reports whether the table of a form has a row for a field, or one for what the
// field is in. path is written as in [Row]; a row * counts for no field.
func Known(form chat.Form, path string) bool {
	n := trees[form]
	for segment := range strings.SplitSeq(path, ".") {
		name, variant, union := strings.Cut(strings.TrimSuffix(segment, "]"), "[")
		if n = n.fields[name]; n == nil {
			return false
		}
		if n.leaf() {
			return true
		}
		if !union {
			continue
		}
		if n = n.variant(variant, ""); n == nil {
			return false
		}
		if n.leaf() {
			return true
		}
	}
	return n.row != nil
}
