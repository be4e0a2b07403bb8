package tools

// Content is a piece of a result as a model reads it: a text, or media such as an image.
// Clients get [Output.Value], which has all of it as JSON.
type Content struct {
	Text string // of a text

	// Of media:
	MediaType string // as the tool says: image/png, audio/wav …
	Data      []byte
	Name      string // a URI or name; "" if it has none
}

// Media reports whether c is no text.
func (c Content) Media() bool { return c.Data != nil }

// contentSize is the memory that contents take, in bytes.
func contentSize(contents []Content) (n int) {
	for _, c := range contents {
		n += len(c.Text) + len(c.MediaType) + len(c.Data) + len(c.Name)
	}
	return n
}

// Size is the memory that an output takes, in bytes.
func (o Output) Size() int { return len(o.Value) + contentSize(o.Content) }
