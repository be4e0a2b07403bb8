package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Parse decodes the arguments of a call and returns them with notices of the
// corrections. Nothing, null and empty text mean no arguments; text that holds
// a JSON object is decoded as that object, also in a Markdown code fence. A name
// twice in one object, and text that is not Unicode, are refused: a decoder would
// take one of them, or another text.
//
// Anything else is [errcode.InvalidArguments], and [errcode.Limit] over [MaxArguments]
// bytes or [MaxDepth].
func Parse(raw json.RawMessage) (map[string]any, []string, *Error) {
	if len(raw) > MaxArguments {
		return nil, nil, NewError(errcode.Limit,
			fmt.Sprintf("the arguments have %d bytes; the limit is %d", len(raw), MaxArguments), "")
	}
	var notices []string
	text := string(raw)
	for range 3 { // an object, a string with one, and a string with that string
		bare, fenced := Unfence(text)
		if bare == "" {
			return map[string]any{}, notices, nil
		}
		value, err := Decode([]byte(bare))
		if err != nil {
			return nil, nil, notObject("the arguments are " + err.Error())
		}
		if lost := Losses([]byte(bare)); lost != "" {
			return nil, nil, NewError(errcode.InvalidArguments, "the JSON of the arguments "+lost, "")
		}
		if fenced {
			notices = append(notices, "the arguments were in a Markdown code fence; they were taken out of it")
		}
		switch v := value.(type) {
		case nil:
			return map[string]any{}, notices, nil
		case map[string]any:
			if fault := outOfBounds(v, MaxDepth); fault != nil {
				return nil, nil, NewError(errcode.Limit,
					fmt.Sprintf("the arguments at %q: %s", truncate.Runes(fault.Path, maxClip), fault.Message), "")
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
	return NewError(errcode.InvalidArguments, message, `arguments are one JSON object, such as {"name": "value"}`)
}

// Unfence removes a Markdown code fence around the whole text, with the name of its language.
func Unfence(text string) (bare string, fenced bool) {
	text = strings.TrimSpace(text)
	inner, opened := strings.CutPrefix(text, "```")
	inner, closed := strings.CutSuffix(inner, "```")
	if !opened || !closed {
		return text, false
	}
	inner = strings.TrimLeft(inner, " ")
	for _, language := range []string{"json", "sql", "SQL"} {
		if rest, named := strings.CutPrefix(inner, language); named {
			inner = rest
			break
		}
	}
	return strings.TrimSpace(inner), true
}
