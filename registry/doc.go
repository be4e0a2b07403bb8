// Package registry owns the tools of the runtime: one catalog, one search over
// it, and one function, [Registry.Invoke], for every call.
//
// A [Catalog] is an immutable list of tools, sorted by name; [Registry] holds
// the current one and the state that outlives it: vectors, cached results,
// concurrency limits, usage.
//
//	r := registry.New(registry.Options{Usage: recorder, Log: log})
//	catalog, problems := registry.NewCatalog(r.Current(), registry.Contents{Tools: list})
//	r.Publish(catalog)
//	found, err := r.Search(ctx, registry.SearchRequest{Query: "distance between two points"})
//	result := r.Invoke(ctx, registry.Call{Name: "haversine_km", Arguments: args, Scope: scope})
//
// A call resolves the name, checks availability and arguments, looks up the
// cached result, applies the limits, runs the tool, checks its result and
// records the call. tool_search and tool_invoke, which models get in place of
// all definitions, call this package.
package registry
