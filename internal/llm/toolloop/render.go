package toolloop

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// Render is a result as the model sees it, in at most limit bytes: of a call
// that is OK its JSON, else a sentence that says what went wrong and what
// would be right.
//
// Rows that were cut off and notices make it {"result":…,"truncated":true,
// "returned":n,"notices":[…]}. What is over the limit becomes
// {"truncated":true,"bytes":n,"limit":n,"preview":"…"}, which has about 60 bytes
// besides the preview whatever the limit is.
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

// success is the text of a result that is OK.
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

// overview tells of a result that is too large to be shown.
func overview(value json.RawMessage, limit int) json.RawMessage {
	for size := min(maxPreview, limit, len(value)); ; size /= 2 {
		text, _ := tools.Encode(struct { // it has nothing that JSON has not
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

// failure is the text of a call that failed, with Spice's opening words.
func failure(tool string, err *tools.Error, limit int) string {
	if err == nil {
		err = tools.NewError(tools.CodeInternal, "the tool gave neither a result nor an error", "")
	}
	text := fmt.Sprintf("Failed to call the tool %s. An error occurred: %s", truncate.Fit(tool, maxName), explain(err))
	return truncate.Fit(text, limit)
}

// explain is the message with all that helps to do better.
func explain(err *tools.Error) string {
	text := err.Error()
	var names []string // that the hint does not have
	for _, name := range err.DidYouMean {
		if quoted := strconv.Quote(name); !strings.Contains(err.Hint, quoted) {
			names = append(names, quoted)
		}
	}
	if len(names) > 0 {
		text += "; did you mean " + strings.Join(names, " or ") + "?"
	}
	if len(err.Example) > 0 {
		text += "; for example " + string(err.Example)
	}
	return text
}
