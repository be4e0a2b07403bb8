package wire

import (
	"mime"
	"path"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// FileData returns the media type and the base64 of a file that a request has as base64
// or as a data: URL (RFC 2397). Without a type in the URL, the file's name and the
// signature of PDF decide; "" means unknown.
func FileData(text, name string) (media, data string) {
	data = text
	if rest, ok := strings.CutPrefix(text, "data:"); ok {
		head, after, _ := strings.Cut(rest, ",")
		media, _, _ = strings.Cut(head, ";")
		data = after
	}
	switch {
	case media != "" && media != "application/octet-stream":
	case strings.HasPrefix(data, "JVBERi0"): // %PDF-
		media = "application/pdf"
	default:
		media, _, _ = strings.Cut(mime.TypeByExtension(path.Ext(name)), ";")
	}
	return media, data
}

// FileName returns the name of a file, which OpenAI's APIs require with its data.
func FileName(f *chat.File) string {
	switch {
	case f.Name != "" || f.Data == "":
		return f.Name
	case f.MediaType == "application/pdf":
		return "document.pdf"
	case strings.HasPrefix(f.MediaType, "text/"):
		return "document.txt"
	}
	return "document"
}

// DataURL returns the data of a file as OpenAI's APIs have it: a data: URL, or base64 if
// the type is unknown.
func DataURL(f *chat.File) string {
	if f.Data == "" || f.MediaType == "" {
		return f.Data
	}
	return "data:" + f.MediaType + ";base64," + f.Data
}
