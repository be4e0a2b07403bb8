package xmltools

import (
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// opening parses an answer while it may consist only of code blocks of calls:
//
//	```json
//	{"name": "search", "arguments": {"query": "tides"}}
//	```
//
// The zero value is ready to use.
type opening struct {
	seen    []byte // the whole answer
	at      int    // index in blockForm
	matched int    // bytes of the literal
	began   int    // offset of the object in seen
	object  chat.ObjectScanner
	calls   []chat.Call
}

// blockForm is the syntax of a block: white space and a literal, in turn. The object
// continues where its name was found.
var blockForm = []struct{ space, literal string }{
	{" \t\r\n", "```json"},
	{" \t\r", "\n"},
	{" \t\r\n", "{"},
	{" \t\r\n", `"name"`},
	{}, // the rest of the object
	{" \t\r\n", "```"},
}

const (
	blockBrace  = 2
	blockObject = 4
)

// complete reports whether the answer consists of calls.
func (o *opening) complete() bool { return o.at == 0 && o.matched == 0 && len(o.calls) > 0 }

// step parses the next byte and reports whether the answer may still consist of calls
// of known tools. It does not consume a byte that rules it out.
func (o *opening) step(b string, known func(chat.Call) bool) bool {
	ok := len(o.seen) < MaxBlock
	switch {
	case !ok:
	case o.at == blockObject:
		ok = o.inObject(b, known)
	default:
		ok = o.literal(b)
	}
	if ok {
		o.seen = append(o.seen, b...)
	}
	return ok
}

func (o *opening) literal(b string) bool {
	want := blockForm[o.at]
	if o.matched == 0 && strings.Contains(want.space, b) {
		return true
	}
	if want.literal[o.matched] != b[0] {
		return false
	}
	if o.at == blockBrace {
		o.began, o.object = len(o.seen), chat.ObjectScanner{}
		o.object.Write(`{"name"`)
	}
	if o.matched++; o.matched == len(want.literal) {
		o.at, o.matched = (o.at+1)%len(blockForm), 0
	}
	return true
}

// inObject parses a byte of the object and, at its end, the call.
func (o *opening) inObject(b string, known func(chat.Call) bool) bool {
	if o.object.Write(b) < 0 {
		return true
	}
	o.at++
	body := string(o.seen[o.began:]) + b
	c, ok := readCall("", body)
	if !ok || !json.Valid([]byte(body)) || !known(c) {
		return false
	}
	o.calls = append(o.calls, c)
	return true
}
