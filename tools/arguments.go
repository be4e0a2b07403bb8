package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Parse reads the arguments of a call as they arrive and returns them with
// notices of what was not as it should be. Nothing, null and empty text are no
// arguments; text that holds a JSON object is read as that object, and so is
// one in a Markdown code fence. Of equal names the last one wins.
//
// Anything else is [CodeInvalidArguments], and [CodeLimit] over [MaxArguments]
// bytes or [MaxDepth].
func Parse(raw json.RawMessage) (map[string]any, []string, *Error) {
	if len(raw) > MaxArguments {
		return nil, nil, NewError(CodeLimit, fmt.Sprintf("the arguments have %d bytes; the limit is %d", len(raw), MaxArguments), "")
	}
	var notices []string
	text := string(raw)
	for range 3 { // an object, text of it, and text of that
		bare, fenced := unfence(text)
		if bare == "" {
			return map[string]any{}, notices, nil
		}
		value, err := Decode([]byte(bare))
		if err != nil {
			return nil, nil, notObject("the arguments are " + err.Error())
		}
		if fenced {
			notices = append(notices, "the arguments were in a Markdown code fence; they were taken out of it")
		}
		switch v := value.(type) {
		case nil:
			return map[string]any{}, notices, nil
		case map[string]any:
			if fault := outOfBounds(v, MaxDepth); fault != nil {
				return nil, nil, NewError(CodeLimit, fmt.Sprintf("the arguments at %q: %s", truncate.Runes(fault.Path, maxClip), fault.Message), "")
			}
			return v, notices, nil
		case string:
			text = v
			if len(notices) == 0 || fenced {
				notices = append(notices, "the arguments were text that holds JSON; they were read as the object")
			}
		default:
			return nil, nil, notObject(fmt.Sprintf("the arguments are %s; an object is needed", phrase(typeName(v))))
		}
	}
	return nil, nil, notObject("the arguments are text within text; an object is needed")
}

func notObject(message string) *Error {
	return NewError(CodeInvalidArguments, message, `arguments are one JSON object, such as {"name": "value"}`)
}

// unfence takes text out of a Markdown code fence around all of it.
func unfence(text string) (bare string, fenced bool) {
	text = strings.TrimSpace(text)
	inner, opened := strings.CutPrefix(text, "```")
	inner, closed := strings.CutSuffix(inner, "```")
	if !opened || !closed {
		return text, false
	}
	inner = strings.TrimPrefix(strings.TrimLeft(inner, " "), "json")
	return strings.TrimSpace(inner), true
}
