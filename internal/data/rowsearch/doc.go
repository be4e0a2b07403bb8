// Package rowsearch keeps the indexes of searched columns of datasets and views, and answers
// searches over them.
//
// Each table with such columns has one [rowindex.Index]. It is built in the background when the
// table is served, and brought up to date after each refresh: rows whose texts are as they were
// keep what the index has of them. A table whose rows may change at any time, since it is not
// accelerated, is read again by the first search that finds its index older than [MaxAge].
//
//	m := rowsearch.New(rowsearch.Options{DB: db, Dir: dir, Log: log})
//	m.Replace(specs, models)   // when a generation is published
//	m.Changed(relation)        // when a refresh is
//	answer, err := m.Search(ctx, db, rowsearch.Request{Tables: …, Text: "shock waves", Limit: 10})
//
// # What a caller finds
//
// The index has all rows of a dataset, also those that a row filter hides. Each search reads the
// keys of the rows that its caller sees, by a statement of that caller, and ranks only these: hidden
// rows change neither results nor scores. What a hit shows is read in the same way. A column with a
// mask is searched only in the rows in which the caller sees what the index has read, see decision
// 0107.
package rowsearch
