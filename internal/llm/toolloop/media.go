package toolloop

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // dimensions
	_ "image/jpeg" // dimensions
	_ "image/png"  // dimensions
	"net/http"
	"slices"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// Limits on the images of a chat: the strictest that providers have. An image that a
// provider refuses would end the chat, since every later request has it again.
const (
	maxImage  = 5 << 20  // bytes of one in base64 (Anthropic)
	maxImages = 20 << 20 // bytes of all in base64, of the 32 MB of a request (Anthropic)
	maxSide   = 8000     // pixels (Anthropic, Gemini)
)

// imageTypes are the types that Anthropic and OpenAI take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// album counts the images that a chat has.
type album struct {
	most int // images; 0: none

	mu    sync.Mutex
	count int
	bytes int // in base64
}

// newAlbum returns the album of a chat with the messages.
func newAlbum(most int, messages []chat.Message) *album {
	a := &album{most: most}
	for _, m := range messages {
		a.add(m.Parts)
	}
	return a
}

func (a *album) add(parts []chat.Part) {
	for _, p := range parts {
		switch {
		case p.Image != nil:
			a.count++
			a.bytes += len(p.Image.Data)
		case p.Result != nil:
			a.add(p.Result.Parts)
		}
	}
}

// part returns the part of media for the model: an image, or a text that names what was
// left out and why.
func (a *album) part(c tools.Content) chat.Part {
	picture, why := a.take(c)
	if why == "" {
		return chat.Part{Kind: chat.PartImage, Image: picture}
	}
	name := ""
	if c.Name != "" {
		name = truncate.Line(c.Name, maxName) + ", "
	}
	text := fmt.Sprintf("[left out: %s%s, %d bytes: %s]", name, truncate.Line(c.MediaType, maxName), len(c.Data), why)
	return chat.Part{Kind: chat.PartText, Text: text}
}

// take adds an image to the album, or returns why it cannot be sent. Its bytes decide what
// it is: providers refuse an image whose type is another than the one named.
func (a *album) take(c tools.Content) (*chat.Image, string) {
	mediaType := http.DetectContentType(c.Data)
	size := base64.StdEncoding.EncodedLen(len(c.Data))
	switch config, _, err := image.DecodeConfig(bytes.NewReader(c.Data)); {
	case !slices.Contains(imageTypes, mediaType):
		return nil, "only PNG, JPEG, GIF and WebP images can be shown"
	case a.most == 0:
		return nil, "this model is not sent images"
	case size > maxImage:
		return nil, fmt.Sprintf("an image can have %d bytes", maxImage/4*3)
	case err != nil && mediaType != "image/webp": // of which the library reads no dimensions
		return nil, "the image is damaged"
	case config.Width > maxSide || config.Height > maxSide:
		return nil, fmt.Sprintf("it has %d × %d pixels; a side can have %d", config.Width, config.Height, maxSide)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.count >= a.most:
		return nil, fmt.Sprintf("the chat has %d images already", a.count)
	case a.bytes+size > maxImages:
		return nil, fmt.Sprintf("the images of the chat would exceed %d bytes", maxImages/4*3)
	}
	a.count++
	a.bytes += size
	return &chat.Image{MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(c.Data)}, ""
}
