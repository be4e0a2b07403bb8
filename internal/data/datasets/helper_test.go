package datasets

import "github.com/spiced-sql/spiced/internal/sql/engine"

// chunkText returns a function that sets out to the first value of a result.
func chunkText(out *string) func(*engine.Chunk) {
	return func(c *engine.Chunk) {
		if c.Len() > 0 {
			*out = string(c.Column(0).Bytes(0))
		}
	}
}
