// Package udf is the SQL catalogue of functions: it makes the functions of a
// generation in DuckDB, keeps the tables that list them, and holds nothing of
// its own between two generations.
//
//	err := db.Publish(ctx, engine.NewCatalog(0, udf.Relations(), udf.Functions()), func(tx *engine.Tx) error {
//		return udf.Setup(tx, db.Builtins()) // once at start
//	})
//	set, problems := functions.Compile(ctx, db, pod, relations, running)
//	catalog := engine.NewCatalog(n, append(relations, udf.Relations()...), append(set.Engine(), udf.Functions()...))
//	err = db.Publish(ctx, catalog, func(tx *engine.Tx) error {
//		failed, err := udf.Install(tx, pod, set, running)
//		…
//	})
//
// Users read the catalogue as list_udfs(), Spice's table function, and as the
// tables functions, function_args and lineage of schema spiced.
package udf
