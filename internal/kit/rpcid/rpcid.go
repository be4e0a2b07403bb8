// Package rpcid carries the ids of JSON-RPC messages byte for byte through a library that decodes
// numbers as float64, as the MCP SDK does: 1764208000000000001 would come back as
// 1764208000000000000, 1.5 as 1 and "\ud800" as "\ufffd".
//
//	message, err := rpcid.Protect(received) // before the library decodes it
//	send(rpcid.Restore(encoded))            // what the library encoded
//
// Protect replaces an id that the library would change by a string from which Restore makes the
// id again. The string begins with a random prefix that never leaves the process: Restore replaces
// it everywhere in a message, in error texts too. So no peer can write such a string itself, and
// Restore need not know the places where the library repeats ids.
package rpcid

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
)

// MaxID is the maximum size of an id, as JSON.
const MaxID = 16 << 10

// prefix begins the strings that replace ids, and end ends them.
var prefix = []byte("rpcid-" + rand.Text() + "-")

const end = '.'

// plain matches the ids that a library with float64 and UTF-8 strings does not change, whether or
// not it escapes HTML.
var plain = regexp.MustCompile(`^(?:0|-?[1-9][0-9]{0,14}|"[ !#-%'-;=?-\[\]-~]*")$`)

var hexDigits = regexp.MustCompile(`^[0-9a-f]*`)

// Protect replaces the ids in a message or a batch of messages: the id of a request, the
// requestId of a cancellation and the progressToken in _meta. A response is not changed: its id is
// that of a request that this process sent. Text that is not JSON is returned unchanged. The error names an id that is
// neither a string nor a number, or is longer than [MaxID] (MCP 2025-11-25, basic, "Requests").
func Protect(message []byte) ([]byte, error) {
	message = bytes.TrimSpace(message)
	if len(message) > 0 && message[0] == '[' {
		var batch []json.RawMessage
		if json.Unmarshal(message, &batch) != nil {
			return message, nil
		}
		for i, one := range batch {
			protected, err := Protect(one)
			if err != nil {
				return nil, err
			}
			batch[i] = protected
		}
		return slicesOf(batch), nil
	}
	fields := members(message)
	if fields.find("method") == nil {
		return message, nil
	}
	edits := fields.named("id")
	for _, params := range fields.named("params") {
		inner := members(params.value)
		places := inner.named("requestId")
		for _, meta := range inner.named("_meta") {
			places = append(places, members(meta.value).named("progressToken").moved(meta.at)...)
		}
		edits = append(edits, places.moved(params.at)...)
	}
	return replace(message, edits)
}

// slicesOf is a batch as JSON. It is written here since [json.Marshal] would escape HTML in it.
func slicesOf(batch []json.RawMessage) []byte {
	list := make([][]byte, len(batch))
	for i, one := range batch {
		list[i] = one
	}
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
}

// replace protects the ids at the given places, which are in no order.
func replace(message []byte, places list) ([]byte, error) {
	changed := message
	places.sort()
	for i := len(places) - 1; i >= 0; i-- {
		p := places[i]
		id, err := ID(p.value)
		if err != nil {
			return nil, fmt.Errorf("%s %w", p.key, err)
		}
		if !bytes.Equal(id, p.value) {
			changed = append(append(bytes.Clone(changed[:p.at]), id...), changed[p.at+len(p.value):]...)
		}
	}
	return changed, nil
}

// ID returns the JSON that replaces an id: the id itself if the library does not change it.
func ID(id []byte) ([]byte, error) {
	switch {
	case len(id) > MaxID:
		return nil, fmt.Errorf("has %d bytes; the limit is %d", len(id), MaxID)
	case len(id) == 0 || bytes.IndexByte([]byte(`"-0123456789`), id[0]) < 0:
		return nil, fmt.Errorf("must be a string or a number, got %s", kind(id))
	case plain.Match(id) && !bytes.Contains(id, prefix):
		return id, nil
	}
	text := append([]byte{'"'}, prefix...)
	text = hex.AppendEncode(text, id)
	return append(text, end, '"'), nil
}

// kind names the type of a JSON value.
func kind(value []byte) string {
	switch {
	case len(value) == 0:
		return "nothing"
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "an array"
	}
	return string(value) // null, true or false
}

// Restore puts the ids back that Protect replaced, in text of any form with JSON in it, such as
// server-sent events. A replacement that was truncated becomes an ellipsis.
func Restore(text []byte) []byte {
	if !bytes.Contains(text, prefix) {
		return text
	}
	restored := make([]byte, 0, len(text))
	for {
		at := bytes.Index(text, prefix)
		if at < 0 {
			return append(restored, text...)
		}
		before, digits := text[:at], hexDigits.Find(text[at+len(prefix):])
		rest := text[at+len(prefix)+len(digits):]
		id, err := hex.DecodeString(string(digits))
		if err != nil || len(rest) == 0 || rest[0] != end {
			restored, text = append(append(restored, before...), "…"...), rest // truncated with the text around it
			continue
		}
		rest = rest[1:]
		if whole := bytes.HasSuffix(before, []byte{'"'}) && !bytes.HasSuffix(before, []byte(`\"`)) &&
			bytes.HasPrefix(rest, []byte{'"'}); whole {
			restored = append(append(restored, before[:len(before)-1]...), id...)
			text = rest[1:]
			continue
		}
		quoted, _ := json.Marshal(string(id)) // a string
		restored = append(append(restored, before...), quoted[1:len(quoted)-1]...)
		text = rest
	}
}
