// Package bodies runs the functions that are not SQL for statements and tools.
//
// A statement calls such a function for a vector of rows at a time, through the one native
// function of its type ([engine.Options].Batch). The [Set] finds the function by its ID,
// removes rows with equal arguments, of the whole statement, splits the rest into batches, and
// gives each to the [body.Body].
//
//	set := bodies.NewSet()
//	db, err := engine.Open(ctx, engine.Options{Batch: set.Call})
//	f, err := set.Add(function, pod, b) // b is of one of the packages in this folder
package bodies
