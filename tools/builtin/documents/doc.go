// Package documents has the tools of the toolset `documents`: twelve tools with which models find,
// read and analyse the documents that are the rows of a dataset, each as its caller sees them.
//
// What a tool is called, does and takes is data, in definitions.yaml, with the statement of those
// that are SQL; handlers of the other ones are in Go. See docs/documents.md and decision 0106.
//
//	config := documents.Read(entry) // the params of the toolset
//	list, err := documents.New(env, config)
//	…
//	missing := config.Missing(dataset) // the tools for which the dataset lacks a column
package documents

import "time"

// Limits of a call, in addition to those of the definitions.
const (
	// MaxEntries limits the rows of list_sources, and the folders of folder_tree.
	MaxEntries = 1000
	// MaxSearched is how many characters of a document grep_documents searches.
	MaxSearched = 16 << 20
	// MaxLine limits the characters of a line in a match of grep_documents.
	MaxLine = 500
	// MaxMatches limits the bytes of the lines that grep_documents shows.
	MaxMatches = 1 << 20
	// MaxOther limits the characters of a text in the further columns of document_info.
	MaxOther = 1000
	// MaxPassage limits the characters of the passage that search_documents shows.
	MaxPassage = 1000
	// MaxFields limits the columns of the table that query_documents makes of records.
	MaxFields = 200
	// MaxAnswer limits the rows of an answer of query_documents.
	MaxAnswer = 200
	// analysisMargin is added to the time limit of an analyst, whose own error says more.
	analysisMargin = 2 * time.Second
)
