// Package bodies runs the functions that are not SQL for statements and tools.
//
// A statement calls such a function for a vector of rows at a time, through the one native
// function of its type ([engine.DB.HandleBatches]). The [Set] finds the function by its ID,
// removes rows with equal arguments, of the whole statement, splits the rest into batches, and
// gives each to the [body.Body].
//
//	set := bodies.NewSet()
//	f, err := set.Add(function, pod, b) // b is of one of the packages beside this one
//	db.HandleBatches(set.Call)
package bodies
