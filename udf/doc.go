// Package udf is the SQL catalogue of functions: the prelude, list_udfs() and
// the tables that describe the functions of a generation. It holds nothing of
// its own between two generations.
//
//	err := db.Publish(ctx, engine.NewCatalog(0, udf.Relations(), udf.Functions()), func(tx *engine.Tx) error {
//		return udf.Setup(tx, db.Builtins()) // once at start
//	})
//	set, problems := functions.Compile(ctx, db, pod, relations, running)
//	catalog := engine.NewCatalog(n, append(relations, udf.Relations()...), append(set.Engine(), udf.Functions()...))
//	err = db.Publish(ctx, catalog, func(tx *engine.Tx) error {
//		… // f.Create for every function that changed
//		return udf.Fill(tx, pod, set, running)
//	})
//
// Users read the catalogue as list_udfs(), Spice's table function, and as the
// tables functions, function_args and lineage of schema spiced.
package udf
