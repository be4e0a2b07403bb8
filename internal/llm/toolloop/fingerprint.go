package toolloop

import (
	"crypto/sha256"
	"io"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// fingerprint hashes the content of a message. It excludes cache marks, which clients
// move from message to message.
func fingerprint(m chat.Message) (sum [sha256.Size]byte) {
	h := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			_, _ = io.WriteString(h, text) // a hash never fails
			_, _ = h.Write([]byte{0})
		}
	}
	write(string(m.Role))
	media := func(parts []chat.Part) {
		for _, p := range parts {
			if p.Image != nil {
				write(p.Image.URL, p.Image.Data)
			}
			if p.File != nil {
				write(p.File.URL, p.File.ID, p.File.Data)
			}
		}
	}
	for _, p := range m.Parts {
		write(string(p.Kind), p.Text)
		if p.Call != nil {
			write(p.Call.ID, p.Call.Name, canonical(p.Call.Arguments))
		}
		if p.Result != nil {
			write(p.Result.ID, p.Result.Text())
			media(p.Result.Parts)
		}
		media([]chat.Part{p})
	}
	h.Sum(sum[:0])
	return sum
}

// lastFingerprint returns the fingerprint of the last message, zero if there are no
// messages.
func lastFingerprint(messages []chat.Message) [sha256.Size]byte {
	if len(messages) == 0 {
		return [sha256.Size]byte{}
	}
	return fingerprint(messages[len(messages)-1])
}

// size estimates the bytes that a turn takes in memory.
func (t turn) size() int64 {
	n := int64(1 << 10) // the turn itself
	for _, m := range t.before {
		n += size(m.Parts)
	}
	return n + size(t.answer.Parts) + size(t.results)
}

func size(parts []chat.Part) int64 {
	var n int64
	for _, p := range parts {
		n += int64(len(p.Text)+len(p.Raw)) + 200
		if p.Call != nil {
			n += int64(len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Arguments))
		}
		if p.Image != nil {
			n += int64(len(p.Image.URL) + len(p.Image.Data))
		}
		if p.File != nil {
			n += int64(len(p.File.URL) + len(p.File.Data))
		}
		if p.Result != nil {
			n += size(p.Result.Parts)
		}
	}
	return n
}
