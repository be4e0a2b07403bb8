// Package functions compiles the functions a Spicepod declares into functions
// that are proven to work.
//
// It owns the language of types (types.go), what a body may contain, the order
// in which functions need each other, the DuckDB statements that create them,
// and the tests that a declaration brings. A body never runs through Go: a
// scalar function becomes a typed DuckDB macro, a table function a table macro.
//
//	set, problems := functions.Compile(ctx, db, pod, relations, nil)
//	for _, f := range set.All() { // callees come before callers
//		fmt.Println(f.Signature(), f.Checksum)
//	}
//	err := db.Publish(ctx, engine.NewCatalog(1, relations, set.Engine()), func(tx *engine.Tx) error {
//		for _, f := range set.All() {
//			if p := f.Create(tx, pod, functions.Published()); p != nil { … }
//		}
//	})
//
// A function has one or two forms: `public`, the one callers name, and `core`,
// the bare body of a function whose body has a subquery, or of a table
// function. Where an argument must be evaluated once although the body uses it
// more often, the engine binds it in the text of the call ([engine.Function]).
package functions
