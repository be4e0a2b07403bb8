// Package registry owns the tools of the runtime: one catalog, one search over
// it, and one door through which every call goes, whoever makes it.
//
// A [Catalog] is an immutable list of tools, sorted by name; [Registry] holds
// the current one with what outlives it: vectors, remembered results, limits
// on calls at once, usage.
//
//	r := registry.New(registry.Options{Usage: recorder, Log: log})
//	catalog, problems := registry.NewCatalog(r.Current(), registry.Contents{Tools: list})
//	r.Publish(catalog)
//	found, err := r.Search(ctx, registry.SearchRequest{Query: "distance between two points"})
//	result := r.Invoke(ctx, registry.Call{Name: "haversine_km", Arguments: args, Scope: scope})
//
// The path of a call: name, availability, arguments, remembered result, limits,
// the tool itself, its result, the record of it. tool_search and tool_invoke,
// which models get in place of all definitions, are tools that lead back here.
package registry
