// Package udf publishes functions: in SQL, as a catalogue, and to models, as tools. The
// catalogue is the prelude, list_udfs() and the tables that describe the functions of a
// generation.
//
//	own := engine.Contents{Relations: udf.Relations(), Functions: udf.Functions()}
//	err := db.Publish(ctx, engine.NewCatalog(own), func(tx *engine.Tx) error {
//		return udf.Setup(tx, db.Builtins()) // once at start
//	})
//	set, problems := functions.Compile(ctx, db, pod, relations, running)
//	own.Relations, own.Functions = append(own.Relations, relations...), append(own.Functions, set.Engine()...)
//	err = db.Publish(ctx, engine.NewCatalog(own), func(tx *engine.Tx) error {
//		… // f.Create for every function that changed
//		return udf.Fill(tx, pod, set, running, udf.Loading{})
//	})
//
// It also makes the tools of functions, which models call: see [NewToolSet]. Concurrent
// calls of a function share a statement.
//
//	offered := udf.NewToolSet(db, set, udf.ToolOptions{}, before)
//	out, err := offered.Tools[0].Call(ctx, tools.Input{Arguments: map[string]any{"x": json.Number("2")}})
//
// Users read the catalogue as list_udfs(), Spice's table function, and as the
// tables functions, function_args and lineage of schema spiced.
package udf
