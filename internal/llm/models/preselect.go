package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// Limits of preselection.
const (
	maxOpenings = 4       // messages of the user for which tools are searched in a conversation
	maxOpening  = 4 << 10 // bytes of such a message that are searched for
	maxSampled  = 100     // tools whose definitions estimate the cost of one
)

// preselected returns the tools that a model whose tools are searched is sent next to
// tool_search: at most params.preselect, found for what the user asks, so that the model can
// call them without a search. They are those that the caller sees and the model has.
//
// The definitions of tools precede the conversation in a prompt, and a provider's prompt cache
// holds until the first byte that differs. So the tools depend on how the conversation begins,
// and not on its last message: the first message of the user with a good match decides, among
// the first maxOpenings. Until there is one, no tool is sent. Every later request of the
// conversation begins with the same messages and gets the same tools in the same order.
//
// A search need not return the same twice: vectors may be unavailable, and results may depend
// on use. So what was found is pinned like the list of a session, to the session and to the
// beginning of the conversation, for as long as the model's set of tools is unchanged.
// Decision 0101 has the alternatives.
func (m *Model) preselected(ctx context.Context, r *chat.Request, scope tools.Scope,
	sent []toolloop.Tool,
) []toolloop.Tool {
	if m.info.Preselect == 0 || r.Choice.Mode == chat.ChoiceNone {
		return nil
	}
	session := m.sessionOf(r, scope)
	if session != "" {
		session = "preselected\x00" + session
		if list, known := m.opts.Pins.find(session, m.opts.SessionPin); known {
			return list
		}
	}
	beginning := sha256.New()
	fmt.Fprintf(beginning, "%q %q %x", scope.Owner(), m.info.Name, m.setSum)
	for text := range openings(r.Messages) {
		if list := m.preselect(ctx, beginning, text, scope, sent); len(list) > 0 {
			m.pinTools(session, list)
			return list
		}
	}
	return nil
}

// preselect returns the tools for the next message of the user, which it adds to the beginning
// of the conversation; none without a good match.
func (m *Model) preselect(ctx context.Context, beginning hash.Hash, text string, scope tools.Scope,
	sent []toolloop.Tool,
) []toolloop.Tool {
	fmt.Fprintf(beginning, " %q", text)
	key := ""
	if m.opts.Pins != nil && m.opts.SessionPin > 0 {
		key = "preselected\x00" + hex.EncodeToString(beginning.Sum(nil))
		if list, known := m.opts.Pins.find(key, m.opts.SessionPin); known {
			return list
		}
	}
	scope.Protocol = caller.Preselect
	scope.Visible = func(name string) bool {
		return m.visible(name) && !slices.ContainsFunc(sent, func(t toolloop.Tool) bool { return t.Name == name })
	}
	found, err := m.opts.Registry.Search(ctx, registry.SearchRequest{
		Query: text, Limit: m.info.Preselect, Scope: scope,
		EmbeddingModel: m.info.EmbeddingModel, Catalog: m.opts.Catalog,
	})
	if err != nil {
		if ctx.Err() == nil {
			m.opts.Log.Warn("cannot preselect tools for a model", "model", m.info.Name, "error", err)
		}
		return nil
	}
	var defs []*tools.Definition
	if !found.NoGoodMatch {
		for _, t := range found.Tools {
			defs = append(defs, t.Definition)
		}
	}
	list := m.settings.said(plain(defs))
	slices.SortFunc(list, func(a, b toolloop.Tool) int { return strings.Compare(a.Name, b.Name) })
	m.pinTools(key, list)
	return list
}

// current adds to the tools that exist those of a list that the caller may call now.
func (m *Model) current(there map[string]toolloop.Tool, list []toolloop.Tool, scope tools.Scope) {
	if len(list) == 0 {
		return
	}
	visible := m.opts.Catalog.Visible(scope)
	for _, t := range list {
		at, found := slices.BinarySearchFunc(visible, t.Name, func(d *tools.Definition, name string) int {
			return strings.Compare(d.Name, name)
		})
		if found && m.visible(t.Name) {
			there[t.Name] = plain(visible[at : at+1])[0]
		}
	}
}

// pinTools pins a list, unless there is no key or the catalog still grows.
func (m *Model) pinTools(key string, list []toolloop.Tool) {
	if key != "" {
		m.opts.Pins.list(key, m.opts.SessionPin, list, !m.opts.Catalog.Growing())
	}
}

// openings yields the texts of the first messages of the user, shortened.
func openings(messages []chat.Message) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		n := 0
		for _, message := range messages {
			if message.Role != chat.RoleUser || n == maxOpenings {
				continue
			}
			text := strings.TrimSpace(truncate.Bytes(message.Text(), maxOpening))
			if text == "" || text == registry.ListAll {
				continue
			}
			if n++; !yield(text) {
				return
			}
		}
	}
}

// setPreselect sets what the description of the model says of preselection: of tools that
// every caller sees.
func (m *Model) setPreselect(p *plan, hidden func(name string) bool) {
	if p.mode != ModeRegistry || m.settings.wish.preselect == 0 {
		return
	}
	sum := sha256.New()
	for _, d := range p.set {
		io.WriteString(sum, d.Name+" "+d.Checksum+"\n") //nolint:errcheck // a hash
	}
	m.setSum = sum.Sum(nil)
	m.info.Preselect = m.settings.wish.preselect
	shown := 0
	for _, d := range p.set {
		if !hidden(d.Name) {
			shown++
		}
	}
	m.info.DefinitionTokens += min(m.info.Preselect, shown) * m.info.DirectTokens / max(shown, 1)
}
