// Package rowindex finds rows of a table by the texts in their columns: by words, by the vectors
// of an embedding model, or by both.
//
// An [Index] is an immutable state of the rows. Its contents are in files, which are mapped into
// memory: a [Store] has a folder with them, and makes the next index from the current one and the
// rows of the table as they are now. It analyses only the rows that changed.
//
//	store, damaged, err := rowindex.Open(folder, columns, identity)
//	update, analyser := store.Update(), rowindex.NewAnalyser(columns)
//	for row := range rows {
//		if !update.Known(row.Key, row.Hashes) {
//			err = update.Add(analyser.Analyse(row))
//		}
//	}
//	err = update.Commit(version, readAt, rowindex.Missing{})
//	index := store.Current()
//	hits := index.Search(rowindex.Query{Text: "shock waves", Limit: 10})
//
// # Segments
//
// A segment has up to [MaxSegmentChunks] chunks of the rows that one update added. Its file is
// written once. Later updates mark rows as gone; when a third of the rows of a segment are, or
// there are many small ones, an update writes their rows into new segments, with the vectors that
// they have.
//
// # Ranking
//
// Words are ranked by BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
// and Beyond", 2009) over the chunks of each column. A row's score is the sum over its columns of
// that of its best chunk. The best rows are ranked again with pairs of adjacent words, and with the
// words that the best of them share (pseudo relevance feedback, RM3: Abdul-Jaleel et al., "UMass at
// TREC 2004"). Vectors are compared exactly, as 8-bit integers. The ranks of both are fused as
// those of tools are ([search.Fuse]).
//
// # Visibility
//
// A query may name the rows that its caller may see. All figures that a score depends on, such as
// how many chunks have a word, are counted over those rows alone, so that an answer is the one that
// an index without the others gives.
package rowindex
