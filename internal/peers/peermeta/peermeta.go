// Package peermeta owns what runtimes tell each other over MCP beyond the protocol: the keys
// of _meta, and the limits that keep runtimes that use each other from doing so forever. They
// are the same in every version of the runtime.
//
//	tool.Meta[peermeta.Via] = peermeta.Extend(def.Via, id)
//	if peermeta.Cycle(via, id) { … } // it is our own tool, or has passed too many runtimes
package peermeta

import (
	"encoding/json"
	"slices"
)

// Keys of a tool in a list.
const (
	Checksum = "spiced/checksum" // changes with its definition and implementation
	Source   = "spiced/source"
	Owner    = "spiced/owner"
	Tags     = "spiced/tags"
	Via      = "spiced/via" // the runtimes that pass it on, the nearest first
)

// Keys of a call.
const (
	Trace = "spiced/trace" // the request id
	Flow  = "spiced/flow"
	Step  = "spiced/step"
	Hops  = "spiced/hops" // runtimes that the call has passed
)

// Keys of a result.
const (
	Error = "spiced/error" // a tools.Error
	Rows  = "spiced/rows"  // a tools.Rows, if rows are missing

	Content = "spiced/content" // true: the value is a list of MCP's contents, for models to read as such
)

// Limits.
const (
	// MaxHops is how many runtimes a call or a tool may pass.
	MaxHops = 5
	// MaxTags and MaxWord bound what a list says of a tool.
	MaxTags = 50
	MaxWord = 128
)

// Extend is via with the runtime that passes a tool on.
func Extend(via []string, id string) []string {
	return append([]string{id}, via...)
}

// Cycle reports whether a runtime must not take a tool that comes this way: because the tool
// is its own, or has passed too many runtimes.
func Cycle(via []string, id string) bool {
	return len(via) > MaxHops || id != "" && slices.Contains(via, id)
}

// Words are the texts of a list, bounded; nil if the value is something else.
func Words(value any, most int) []string {
	list, ok := value.([]any)
	if !ok {
		return nil
	}
	var words []string
	for _, v := range list[:min(len(list), most)] {
		if word, ok := v.(string); ok && word != "" && len(word) <= MaxWord {
			words = append(words, word)
		}
	}
	return words
}

// Number is a count of hops: the limit where the value is no such count.
func Number(value any) int {
	switch n := value.(type) {
	case nil:
		return 0
	case float64:
		if n >= 0 && n <= MaxHops {
			return int(n)
		}
	case int:
		if n >= 0 && n <= MaxHops {
			return n
		}
	}
	return MaxHops
}

// Decode fills in a value of _meta that the SDK decoded; false if it does not fit.
func Decode(value, into any) bool {
	text, err := json.Marshal(value)
	return value != nil && err == nil && json.Unmarshal(text, into) == nil
}
