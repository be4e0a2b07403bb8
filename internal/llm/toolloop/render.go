package toolloop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
//
// A result with content becomes its texts, which have at most limit bytes together, and its
// images and PDFs; without them, the model reads what was left out.
func Render(c *chat.Call, r tools.Result, limit int) *chat.CallResult {
	return render(c, r, limit, &album{})
}

func render(c *chat.Call, r tools.Result, limit int, images *album) *chat.CallResult {
	result := &chat.CallResult{ID: c.ID, Name: c.Name, Error: !r.OK}
	switch {
	case !r.OK:
		result.Parts = textParts(failure(c.Name, r.Error, limit))
	case r.Content != nil:
		result.Parts = contents(r, limit, images)
	default:
		result.Parts = textParts(success(r, limit))
	}
	return result
}

// contents returns the parts of a result with content. Texts begin a line: some APIs join
// them.
func contents(r tools.Result, limit int, images *album) []chat.Part {
	var parts []chat.Part
	list := r.Content
	if len(r.Notices) > 0 {
		list = append(list[:len(list):len(list)], tools.Content{Text: strings.Join(r.Notices, "\n")})
	}
	for _, c := range list {
		part := chat.Part{Kind: chat.PartText, Text: c.Text}
		if c.Media() {
			part = images.part(c)
		}
		if part.Kind == chat.PartText && len(parts) > 0 {
			part.Text = "\n" + part.Text
		}
		parts = append(parts, part)
	}
	text := chat.Message{Parts: parts}.Text()
	if len(text) <= limit {
		return parts
	}
	parts = slices.DeleteFunc(parts, func(p chat.Part) bool { return p.Kind == chat.PartText })
	return append(textParts(string(overview(json.RawMessage(text), limit))), parts...)
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
