package documents

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/tools"
)

// infoResult is the answer of document_info.
type infoResult struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Folder     string          `json:"folder"`
	Source     string          `json:"source"`
	Characters *int64          `json:"characters"` // null: it has no text
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Other      json.RawMessage `json:"other,omitempty"`
}

// info answers document_info.
func (t *toolset) info(ctx context.Context, d *definition, in tools.Input) (any, error) {
	r, err := one[infoResult](ctx, t, d, in)
	if err != nil {
		return nil, err
	}
	for _, value := range []*json.RawMessage{&r.Metadata, &r.Other} {
		if string(*value) == "null" {
			*value = nil
		}
	}
	return r, nil
}

// readResult is the answer of read_document.
type readResult struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Content    string `json:"content"`
	Offset     int64  `json:"offset"`
	Length     int64  `json:"length"`
	Characters int64  `json:"characters"` // of the whole document
	More       bool   `json:"more"`
	Next       *int64 `json:"next_offset,omitempty"`
	Error      string `json:"error,omitempty"` // why the document has no text
}

// read answers read_document. Offsets are in characters, as DuckDB and grep_documents count them: those
// of Unicode, so that none is split.
func (t *toolset) read(ctx context.Context, d *definition, in tools.Input) (any, error) {
	r, err := one[readResult](ctx, t, d, in)
	if err != nil {
		return nil, err
	}
	r.page(in)
	return r, nil
}

// page completes a part of a text.
func (r *readResult) page(in tools.Input) {
	r.Offset = number(in, "offset", 0)
	r.Length = int64(utf8.RuneCountInString(r.Content))
	if next := r.Offset + r.Length; next < r.Characters {
		r.More, r.Next = true, &next
	}
}
