// Package functions compiles the functions that a Spicepod declares and proves that
// they work.
//
// It owns the type language (types.go), the rules for bodies, the dependency order,
// the DuckDB statements that create the functions, and the tests of declarations. A
// body never runs in Go: a scalar function becomes a typed DuckDB macro, a table
// function a table macro.
//
//	set, problems := functions.Compile(ctx, db, pod, relations, nil)
//	for _, f := range set.All() { // callees come before callers
//		fmt.Println(f.Signature(), f.Checksum)
//	}
//	catalog := engine.NewCatalog(engine.Contents{Generation: 1, Relations: relations, Functions: set.Engine()})
//	err := db.Publish(ctx, catalog, func(tx *engine.Tx) error {
//		for _, f := range set.All() {
//			if p := f.Create(tx, pod, functions.Published()); p != nil { … }
//		}
//	})
//
// A function has one or two forms: `public`, which callers name, and `core`, the bare
// body of a table function or of a function whose body has a subquery. If an argument
// must be evaluated once although the body uses it more often, the engine binds it in
// the text of the call ([engine.Function]).
package functions
