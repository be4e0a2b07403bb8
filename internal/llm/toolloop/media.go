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
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// Limits on the images and PDFs of a chat: the strictest that providers have. One that a
// provider refuses would end the chat, since every later request has it again.
const (
	maxImage = 5 << 20  // bytes of one in base64 (Anthropic)
	maxMedia = 20 << 20 // bytes of all in base64, of the 32 MB of a request (Anthropic)
	maxSide  = 8000     // pixels (Anthropic, Gemini)
)

// imageTypes are the types that Anthropic and OpenAI take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// album counts the images and the PDFs that a chat has.
type album struct {
	images, pdfs int // that it may have

	mu         sync.Mutex
	hasImages  int
	hasPDFs    int
	mediaBytes int // of all, in base64
}

// newAlbum returns the album of a chat with the messages.
func newAlbum(l Limits, messages []chat.Message) *album {
	a := &album{images: l.Images, pdfs: l.PDFs}
	for _, m := range messages {
		a.add(m.Parts)
	}
	return a
}

func (a *album) add(parts []chat.Part) {
	for _, p := range parts {
		switch {
		case p.Image != nil:
			a.hasImages++
			a.mediaBytes += len(p.Image.Data)
		case p.File != nil:
			a.hasPDFs++
			a.mediaBytes += len(p.File.Data)
		case p.Result != nil:
			a.add(p.Result.Parts)
		}
	}
}

// part returns the part of media for the model: an image, a PDF, or a text that names what was
// left out and why.
func (a *album) part(c tools.Content) chat.Part {
	part, why := a.take(c)
	if why == "" {
		return part
	}
	name := ""
	if c.Name != "" {
		name = truncate.Line(c.Name, maxName) + ", "
	}
	text := fmt.Sprintf("[left out: %s%s, %d bytes: %s]", name, truncate.Line(c.MediaType, maxName), len(c.Data), why)
	return chat.Part{Kind: chat.PartText, Text: text}
}

// take adds an image or a PDF to the album, or returns why it cannot be sent. Its bytes decide
// what it is: providers refuse an image whose type is another than the one named.
func (a *album) take(c tools.Content) (chat.Part, string) {
	mediaType := http.DetectContentType(c.Data)
	if mediaType == pdfType {
		return a.takePDF(c)
	}
	why := a.unfit(c, mediaType)
	if why == "" {
		why = a.fit(c, &a.hasImages, a.images, "image")
	}
	if why != "" {
		return chat.Part{}, why
	}
	return chat.Part{
		Kind:  chat.PartImage,
		Image: &chat.Image{MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(c.Data)},
	}, ""
}

const pdfType = "application/pdf"

func (a *album) takePDF(c tools.Content) (chat.Part, string) {
	if a.pdfs == 0 {
		return chat.Part{}, "this model is not sent PDFs (tool_result_pdfs)"
	}
	if why := a.fit(c, &a.hasPDFs, a.pdfs, "PDF"); why != "" {
		return chat.Part{}, why
	}
	name := truncate.Line(path.Base("/"+c.Name), maxName)
	if !strings.HasSuffix(strings.ToLower(name), ".pdf") {
		name = "result.pdf"
	}
	return chat.Part{
		Kind: chat.PartFile,
		File: &chat.File{Name: name, MediaType: pdfType, Data: base64.StdEncoding.EncodeToString(c.Data)},
	}, ""
}

// unfit returns why an image cannot be sent whatever else the chat has, or "".
func (a *album) unfit(c tools.Content, mediaType string) string {
	switch config, _, err := image.DecodeConfig(bytes.NewReader(c.Data)); {
	case !slices.Contains(imageTypes, mediaType):
		return "only PNG, JPEG, GIF and WebP images, and PDFs, can be shown"
	case a.images == 0:
		return "this model is not sent images"
	case base64.StdEncoding.EncodedLen(len(c.Data)) > maxImage:
		return fmt.Sprintf("an image can have %d bytes", maxImage/4*3)
	case err != nil && mediaType != "image/webp": // the library does not read the dimensions of WebP
		return "the image is damaged"
	case config.Width > maxSide || config.Height > maxSide:
		return fmt.Sprintf("it has %d × %d pixels; a side can have %d", config.Width, config.Height, maxSide)
	}
	return ""
}

// fit counts media in the album, or returns why there is no room for it.
func (a *album) fit(c tools.Content, has *int, most int, what string) string {
	size := base64.StdEncoding.EncodedLen(len(c.Data))
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case *has >= most:
		return fmt.Sprintf("the chat has %s already", plural.Of(*has, what))
	case a.mediaBytes+size > maxMedia:
		return fmt.Sprintf("the images and PDFs of the chat would exceed %d bytes", maxMedia/4*3)
	}
	*has++
	a.mediaBytes += size
	return ""
}
