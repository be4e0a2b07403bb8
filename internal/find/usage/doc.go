// Package usage owns what became of tool calls and tool searches: the latest
// of each, and counts by tool, owner, caller and day.
//
// It imports nothing of ours. Recording touches memory only; one goroutine
// writes what changed to a folder, so that a restart goes on counting and a
// killed process loses its last moments at most.
//
//	r, err := usage.Open(usage.Options{Dir: filepath.Join(state, "usage"), Log: log})
//	defer r.Close()
//	r.Search(usage.Search{Caller: "hawken", Query: "distance", Tools: []string{"haversine_km"}})
//	r.Call(usage.Call{Tool: "haversine_km", Owner: "geo", Caller: "hawken", OK: true, Latency: took})
//	r.Calls()                  // spiced.tool_calls: the latest first
//	r.Usage()                  // spiced.tool_usage: a row for each tool, owner, caller and day
//	r.Totals("haversine_km")   // of all time
//	r.Window(monthAgo)         // by tool; Totals.Verdict tells why a tool is dead
//
// Texts come from callers that may be hostile. Each is cut to a length, and
// what does not print is replaced, before anything is kept.
//
// # Files
//
// usage.snapshot holds all that was known at one moment; usage.journal holds
// what changed since. Each line of both is a record: the CRC-32C of the rest,
// a space, and JSON. A record carries counts as they then were, not what to
// add, so that none is counted twice. Both begin with a generation; a journal
// older than its snapshot is part of that already and is not read.
package usage
