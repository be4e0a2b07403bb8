// Package search finds documents that have a name, a description and a JSON Schema:
// usually tools, but also rows of a dataset.
//
//	docs := []*search.Analysis{
//		search.Analyse(search.Document{Name: "get_weather", Description: "Current weather of a city."}),
//		search.Analyse(search.Document{Name: "send_email", Description: "Sends a mail."}),
//	}
//	index := search.New(docs, search.Default())
//	text := "will it rain in Paris"
//	answer := index.Search(search.Query{Text: text, Limit: 5, Vector: index.NGrams(text)})
//
// Channels rank the documents: full_text, vector, agreement, learned, ngrams, keyword and schema.
// [Fuse] combines ranks, not scores. Everything is pure computation on an immutable [Index];
// vectors of an embedding model are passed in as a [Dense].
//
// internal/find/eval/MEASURED.md has the effect of each rule, and how it was measured.
package search
