// Package search finds documents that have a name, a description and a JSON
// Schema: tools, mostly, but rows of a dataset as well.
//
//	docs := []*search.Analysis{
//		search.Analyse(search.Document{Name: "get_weather", Description: "Current weather of a city."}),
//		search.Analyse(search.Document{Name: "send_email", Description: "Sends a mail."}),
//	}
//	index := search.New(docs, search.Default())
//	text := "will it rain in Paris"
//	answer := index.Search(search.Query{Text: text, Limit: 5, Vector: index.NGrams(text)})
//
// Four channels each make a ranked list: full_text, keyword, schema and
// vector. [Fuse] combines the ranks, not the scores. Everything is pure
// computation on an immutable [Index]; vectors of an embedding model come in
// from outside, as a [Dense].
//
// docs/retrieval.md says what each rule is worth, and how it was measured.
package search
