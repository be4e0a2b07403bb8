package spicepod

// FullTextSearch is `columns[].full_text_search`.
type FullTextSearch struct {
	Enabled bool  `yaml:"enabled" default:"true" doc:"Search the column by words."`
	RowID   Names `yaml:"row_id" doc:"Columns that identify a row. Without them: the primary_key of the acceleration, or else the searched texts themselves."`

	Engine         any `yaml:"engine" served:"no" instead:"nothing: the index is in the state directory" doc:"Entry of search_engines."`
	IndexStore     any `yaml:"index_store" served:"no" instead:"nothing: the index is in the state directory" doc:"Where the index is."`
	IndexDirectory any `yaml:"index_directory" served:"no" instead:"'--state-dir' of 'spiced serve', which the index is below" doc:"Folder of the index."`
}

// ColumnEmbedding is one entry of `columns[].embeddings`.
type ColumnEmbedding struct {
	From     string   `yaml:"from" required:"true" doc:"Embedding model."`
	RowID    Names    `yaml:"row_id" doc:"Columns that identify a row. Without them: the primary_key of the acceleration, or else the searched texts themselves."`
	Chunking Chunking `yaml:"chunking" doc:"How long texts are split, so that each part has a vector."`

	VectorSize  any `yaml:"vector_size" served:"no" instead:"the dimensions of the model" doc:"Number of dimensions."`
	Aggregation any `yaml:"aggregation" served:"no" instead:"nothing: a row has the score of its best chunk" doc:"How the vectors of a list become one score."`
	MaxElements any `yaml:"max_elements_per_row" served:"no" instead:"nothing: a list is searched as one text" doc:"How many elements of a list are embedded."`
}

// Chunking is `columns[].embeddings[].chunking`.
type Chunking struct {
	Enabled    bool       `yaml:"enabled" doc:"Split texts into chunks. Without it, only those are split that are longer than 512 tokens."`
	Target     int        `yaml:"target_chunk_size" default:"512" min:"8" max:"8192" doc:"Tokens of a chunk at most. A chunk ends with a sentence or a paragraph."`
	Overlap    int        `yaml:"overlap_size" min:"0" max:"4096" doc:"Tokens at the end of a chunk that the next one repeats, at most half of target_chunk_size."`
	Trim       bool       `yaml:"trim_whitespace" default:"true" doc:"Leave out white space at both ends of a chunk."`
	FileFormat FileFormat `yaml:"file_format" enum:"md,txt" doc:"md: a heading of Markdown begins a chunk, and is part of the chunks below it. Without it: md for datasets of documents, else txt."`
}

// FileFormat is the format of a text that is split into chunks.
type FileFormat string

// Formats of texts.
const (
	FormatMarkdown FileFormat = "md"
	FormatText     FileFormat = "txt"
)

// Searchable reports whether searches look into the column.
func (c DatasetColumn) Searchable() bool { return len(c.Embeddings) > 0 || c.ByWords() }

// ByWords reports whether the column is searched by words. One with embeddings is, so that a search
// also finds names and numbers, which no model knows; full_text_search: {enabled: false} prevents
// it.
func (c DatasetColumn) ByWords() bool {
	if c.FullTextSearch == nil {
		return len(c.Embeddings) > 0
	}
	return c.FullTextSearch.Enabled
}

// RowIDs are the columns that identify a row in search results.
func (c DatasetColumn) RowIDs() []string {
	if c.FullTextSearch != nil && len(c.FullTextSearch.RowID) > 0 {
		return c.FullTextSearch.RowID
	}
	for _, e := range c.Embeddings {
		if len(e.RowID) > 0 {
			return e.RowID
		}
	}
	return nil
}
