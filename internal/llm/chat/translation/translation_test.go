package translation_test

import (
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/test/sdkfields"
)

// forms are the forms with a table.
var forms = []chat.Form{chat.FormOpenAI, chat.FormResponses, chat.FormAnthropic}

// TestSDKs fails on a field or a variant of an official SDK that the table lacks: decide
// what becomes of it at the providers of the other forms, and add its row.
func TestSDKs(t *testing.T) {
	for _, form := range forms {
		missing := 0
		for _, field := range sdkfields.Of(form) {
			if !translation.Known(form, field) {
				t.Errorf("%s: the table has no row for %s", form, field)
				missing++
			}
		}
		if fields := len(sdkfields.Of(form)); fields < 50 {
			t.Errorf("%s: the SDK has %d fields only", form, fields)
		}
	}
}
