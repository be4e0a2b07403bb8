// Package usage records tool calls and tool searches: the latest of each, and counts by
// tool, owner, caller and day.
//
// It imports no other package of this module. Recording only changes memory; one
// goroutine writes changes to a folder, so that counts survive a restart, and a killed
// process loses only its last moments.
//
//	r, err := usage.Open(usage.Options{Dir: filepath.Join(state, "usage"), Log: log})
//	defer r.Close()
//	r.Search(usage.Search{Caller: "hawken", Query: "distance", Tools: []string{"haversine_km"}})
//	r.Call(usage.Call{Tool: "haversine_km", Owner: "geo", Caller: "hawken", OK: true, Latency: took})
//	r.Calls()                  // spiced.tool_calls: latest first
//	r.Usage()                  // spiced.tool_usage: a row per tool, owner, caller and day
//	r.Totals("haversine_km")   // since counting began
//	r.Window(monthAgo)         // by tool; Totals.Verdict explains why a tool is unused
//
// Texts come from untrusted callers. Each is shortened, and unprintable characters are
// replaced, before it is stored.
//
// # Files
//
// usage.snapshot has the whole state at one moment; usage.journal has the changes
// since. Each line of both is a record: the CRC-32C of the rest, a space, and JSON. A
// record has absolute counts, not increments, so that none is counted twice. Both files
// begin with a generation; a journal older than its snapshot is included in that
// already and is ignored.
package usage
