package toolloop

import (
	"encoding/json"
	"fmt"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// Render renders a result for the model, in at most limit bytes: the JSON of a
// successful call, else a sentence that says what went wrong and what would be right.
//
// Rows that were cut off and notices make it {"result":…,"truncated":true,
// "returned":n,"notices":[…]}. A result over the limit becomes
// {"truncated":true,"bytes":n,"limit":n,"preview":"…"}, where everything but the
// preview takes about 60 bytes whatever the limit is.
func Render(c *chat.Call, r tools.Result, limit int) *chat.CallResult {
	text := ""
	if r.OK {
		text = success(r, limit)
	} else {
		text = failure(c.Name, r.Error, limit)
	}
	return &chat.CallResult{ID: c.ID, Name: c.Name, Error: !r.OK, Parts: textParts(text)}
}

func textParts(text string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: text}} }

// success returns the text of a successful result.
func success(r tools.Result, limit int) string {
	value := r.Result
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	if len(value) > limit {
		return string(overview(value, limit))
	}
	truncated := r.Rows != nil && r.Rows.Truncated
	if !truncated && len(r.Notices) == 0 {
		return string(value)
	}
	shown := struct {
		Result    json.RawMessage `json:"result"`
		Truncated bool            `json:"truncated,omitempty"`
		Returned  int             `json:"returned,omitempty"`
		Notices   []string        `json:"notices,omitempty"`
	}{Result: value, Truncated: truncated, Notices: r.Notices}
	if truncated {
		shown.Returned = r.Rows.Returned
	}
	text, err := tools.Encode(shown)
	switch {
	case err == nil && len(text) <= limit:
		return string(text)
	case truncated:
		return string(overview(value, limit))
	}
	return string(value)
}

// overview describes a result that is too large to show.
func overview(value json.RawMessage, limit int) json.RawMessage {
	for size := min(maxPreview, limit, len(value)); ; size /= 2 {
		text, _ := tools.Encode(struct { // its value is JSON already
			Truncated bool   `json:"truncated"`
			Bytes     int    `json:"bytes"`
			Limit     int    `json:"limit"`
			Preview   string `json:"preview"`
		}{true, len(value), limit, truncate.Bytes(string(value[:min(size+1, len(value))]), size)})
		if len(text) <= limit || size == 0 {
			return text
		}
	}
}

// failure returns the text of a failed call, with the prefix that Spice uses.
func failure(tool string, err *tools.Error, limit int) string {
	if err == nil {
		err = tools.NewError(errcode.Internal, "the tool returned neither a result nor an error", "")
	}
	text := fmt.Sprintf("Failed to call the tool %s. An error occurred: %s", truncate.Fit(tool, maxName), err.Explain())
	return truncate.Fit(text, limit)
}
