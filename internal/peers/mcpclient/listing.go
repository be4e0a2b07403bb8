package mcpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/peers/peermeta"
	"github.com/spiced-sql/spiced/tools"
)

// listing is a server's list of tools.
type listing struct {
	tools   []*mcp.Tool // sorted by name, at most MaxTools
	total   int         // before the limit was applied
	damaged []string    // names of tools that cannot be decoded
	sum     string      // checksum of the tools
}

// list requests all pages of the server's tools.
func (s *session) list(ctx context.Context) (*listing, error) {
	if c := s.cs.InitializeResult().Capabilities; c == nil || c.Tools == nil {
		return newListing(nil, nil), nil
	}
	var damaged []string
	var all []*mcp.Tool
	size, cursors := 0, map[string]bool{}
	for cursor := ""; ; {
		page, err := s.page(ctx, cursor)
		if err != nil {
			return nil, s.ended(fmt.Errorf("its tools cannot be listed: %w", err))
		}
		list, wrong, next, err := decodePage(page)
		if err != nil {
			return nil, fmt.Errorf("its tools cannot be listed: %w", err)
		}
		size += len(page)
		all, damaged = append(all, list...), append(damaged, wrong...)
		switch cursor = next; {
		case cursor == "":
			return newListing(all, damaged), nil
		case cursors[cursor]:
			return nil, errors.New("its list of tools has no end: a page comes twice")
		case len(cursors) == maxPages, size > maxListing:
			return nil, fmt.Errorf("its list of tools is too long: at most %d pages and %d MiB", maxPages, maxListing>>20)
		}
		cursors[cursor] = true
	}
}

// page requests a page of tools.
func (s *session) page(ctx context.Context, cursor string) (json.RawMessage, error) {
	ctx, request := s.exchange.begin(ctx, emptyList)
	_, err := s.cs.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	page, cause := s.exchange.end(request)
	return page, cmp.Or(cause, err)
}

// ended is the cause of the session's end, if it has ended, else err.
func (s *session) ended(err error) error {
	if cause := context.Cause(s.life); cause != nil {
		return cause
	}
	return err
}

func newListing(all []*mcp.Tool, damaged []string) *listing {
	slices.SortStableFunc(all, func(a, b *mcp.Tool) int { return cmp.Compare(a.Name, b.Name) })
	l := &listing{tools: all[:min(len(all), MaxTools)], total: len(all), damaged: damaged}
	text, _ := json.Marshal(l.tools) // the tools were decoded from JSON
	l.sum = digest(text)
	return l
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Checksum is what an approval of a tool pins: 40 hex digits over everything that a person
// reads of it and that decides what a call may do: the name, title and description, the schemas
// of arguments and result, the annotations, from which its risk follows, and the tags of another
// runtime, which expressions of available trust. It is computed of what the server sends; the
// order of keys does not matter.
func Checksum(t *mcp.Tool) string {
	text, _ := json.Marshal([]any{ // the tool was decoded from JSON
		t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations, t.Meta[peermeta.Tags],
	})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:20])
}

// textChecksum is the [Checksum] of earlier versions, 32 hex digits: without annotations and
// tags, so that a pinned server could add readOnlyHint and pass for a tool that only reads.
func textChecksum(t *mcp.Tool) string {
	text, _ := json.Marshal([]any{t.Name, describe(t), t.InputSchema, t.OutputSchema}) // the tool was decoded from JSON
	return digest(text)
}

// describe is a tool's description, or else its title.
func describe(t *mcp.Tool) string {
	text := cmp.Or(strings.TrimSpace(t.Description), strings.TrimSpace(t.Title))
	if text == "" && t.Annotations != nil {
		text = strings.TrimSpace(t.Annotations.Title)
	}
	return text
}

// annotations converts a server's hints, with the defaults of the specification
// (2025-11-25, ToolAnnotations). They are untrusted and grant no permission:
// they order calls and inform users. A tool marked as read-only is not
// destructive.
func annotations(hints *mcp.ToolAnnotations) tools.Annotations {
	if hints == nil {
		return tools.Annotations{Destructive: true, OpenWorld: true}
	}
	return tools.Annotations{
		ReadOnly:    hints.ReadOnlyHint,
		Idempotent:  hints.IdempotentHint,
		Destructive: !hints.ReadOnlyHint && (hints.DestructiveHint == nil || *hints.DestructiveHint),
		OpenWorld:   hints.OpenWorldHint == nil || *hints.OpenWorldHint,
	}
}
