package mcpclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/peers/peermeta"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// Approvals are the approved tools: see pin in the Spicepod.
type Approvals interface {
	// Check compares a server's tools, by name with the [Checksum] of each,
	// with the approved ones, and returns the names of tools that changed since
	// and of tools that were never approved.
	Check(server string, sums map[string]string) (changed, unknown []string)
}

// Server is an MCP server in one generation. It is immutable.
type Server struct {
	link   *link
	tools  []*tool
	listed []Listed
}

// Listed is a tool as the server lists it.
type Listed struct {
	Name        string // the server's name for it
	Description string
	Checksum    string // see [Checksum]
}

// Name is the server's name in the Spicepod.
func (s *Server) Name() string { return s.link.target.name }

// Connecting reports whether the first attempt to connect runs.
func (s *Server) Connecting() bool { return s.link.status().State == Initializing }

// Unavailable returns "", or the reason why the server is unavailable.
func (s *Server) Unavailable() string { return s.link.unavailable() }

// Tools returns the offered tools, sorted by name. An unavailable server has
// the tools of the last session, which are unavailable.
func (s *Server) Tools() []tools.Tool {
	list := make([]tools.Tool, len(s.tools))
	for i, t := range s.tools {
		list[i] = t
	}
	return list
}

// Listed returns the tools that the server lists under a valid name, offered or
// not, sorted by name.
func (s *Server) Listed() []Listed { return slices.Clone(s.listed) }

// maker builds a server from a link and an entry.
type maker struct {
	*entry
	link  *link
	id    string              // of this runtime
	left  map[string][]string // names of tools by fault
	texts map[string]bool     // tools with approval for their texts only: see [textChecksum]
}

// Faults of tools.
const (
	wrongName    = "are left out: a name has 1 to 300 characters"
	wrongTwice   = "are left out: the server lists several tools under that name"
	wrongForm    = "are left out: their fields are of other types than MCP says"
	wrongMade    = "are left out: they cannot be described"
	wrongChanged = "are left out: they changed since they were approved"
	wrongUnknown = "are left out: they were never approved"
	wrongTexts   = "count as destructive and have no tags: an earlier version pinned them without their annotations"
	wrongSchema  = "take any arguments: their schemas are too large, or no JSON objects"
	wrongDialect = "have schemas that model providers refuse; models are sent others, and descriptions say what these " +
		"lack (`spiced lint` says what is wrong)"
	wrongText = "have descriptions that are too long, which are cut"
)

func newMaker(e *entry, l *link, id string) *maker {
	return &maker{entry: e, link: l, id: id, left: map[string][]string{}, texts: map[string]bool{}}
}

// server builds the tools of a listing.
func (m *maker) server(l *listing, approved func(dir string) (Approvals, error)) *Server {
	s, sums := &Server{link: m.link}, map[string]string{}
	if l == nil {
		return s
	}
	m.left[wrongForm] = l.damaged
	listed := m.known(l.tools)
	for _, t := range listed {
		sums[t.Name] = Checksum(t)
		if validName(t.Name) {
			s.listed = append(s.listed, Listed{t.Name, t.Description, sums[t.Name]})
		}
	}
	slices.SortFunc(s.listed, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	refused := m.refused(listed, sums, approved)
	at := m.Pod.At(m.Path)
	declared := fmt.Sprintf("%s:%d", at.File, at.Line)
	for _, t := range listed {
		if refused[t.Name] || peermeta.Cycle(viaOf(t), m.id) {
			continue // it is refused, or it is a tool of this runtime that comes back
		}
		if made := m.tool(t, declared); made != nil {
			s.tools = append(s.tools, made)
		}
	}
	slices.SortFunc(s.tools, func(a, b *tool) int { return strings.Compare(a.def.Name, b.def.Name) })
	if l.total > len(l.tools) {
		m.warn("", fmt.Sprintf("the server has %d tools; the first %d by name are taken", l.total, len(l.tools)))
	}
	m.unknownDocuments(listed)
	m.report()
	return s
}

// known returns the tools of a listing without those whose name does not say which is meant:
// one that is listed twice is taken if both are the same, else neither is. Otherwise the order
// of a list would decide what runs, or a pinned checksum would let another tool through.
func (m *maker) known(all []*mcp.Tool) []*mcp.Tool {
	first, ambiguous := map[string]string{}, map[string]bool{}
	one := make([]*mcp.Tool, 0, len(all))
	for _, t := range all {
		name, text := toolName(m.declared.Name, t.Name), encoded(t)
		switch was, listed := first[name]; {
		case !listed:
			first[name] = text
			one = append(one, t)
		case was != text:
			ambiguous[name] = true
		}
	}
	return slices.DeleteFunc(one, func(t *mcp.Tool) bool {
		twice := ambiguous[toolName(m.declared.Name, t.Name)]
		if twice {
			m.leave(wrongTwice, t.Name)
		}
		return twice
	})
}

// encoded is a tool as canonical JSON.
func encoded(t *mcp.Tool) string {
	text, _ := json.Marshal(t) // the tool was decoded from JSON
	return string(text)
}

// refused returns the tools that pin excludes.
func (m *maker) refused(listed []*mcp.Tool, sums map[string]string,
	approved func(dir string) (Approvals, error),
) map[string]bool {
	refused := map[string]bool{}
	if m.declared.Pin != "checksum" {
		return refused
	}
	changed, unknown, err := m.check(listed, sums, approved)
	if err != nil {
		m.Fail(".pin", "run `spiced mcp pin`", "the approved tools cannot be read, so none is taken: %s", err)
		for name := range sums {
			refused[name] = true
		}
	}
	m.left[wrongChanged], m.left[wrongUnknown] = changed, unknown
	for _, name := range slices.Concat(changed, unknown) {
		refused[name] = true
	}
	return refused
}

// check compares tools with the approved ones. Those whose texts an earlier version
// approved are approved with the highest risk: what they say of it may be new.
func (m *maker) check(listed []*mcp.Tool, sums map[string]string,
	approved func(dir string) (Approvals, error),
) (changed, unknown []string, err error) {
	if approved == nil {
		return nil, nil, errors.New("there is no list of them")
	}
	list, err := approved(m.Pod.Dir)
	if err != nil {
		return nil, nil, err
	}
	changed, unknown = list.Check(m.declared.Name, sums)
	texts := map[string]string{}
	for _, t := range listed {
		if slices.Contains(changed, t.Name) {
			texts[t.Name] = textChecksum(t)
		}
	}
	changed, _ = list.Check(m.declared.Name, texts)
	for name := range texts {
		if !slices.Contains(changed, name) {
			m.texts[name] = true
			m.leave(wrongTexts, name)
		}
	}
	return changed, unknown, nil
}

// tool builds one tool, or records why it is left out.
func (m *maker) tool(t *mcp.Tool, declared string) *tool {
	if !validName(t.Name) {
		return m.leave(wrongName, t.Name)
	}
	returns, wrapped := unwrapped(t.OutputSchema)
	via, document := viaOf(t), m.documentOf(t.Name)
	def, err := tools.Define(tools.Definition{
		Name: toolName(m.declared.Name, t.Name), Description: cmp.Or(m.declaredDescription(document), m.description(t)),
		Document:   m.document(document),
		Parameters: m.schema(t, t.InputSchema, anyObject), Returns: m.schema(t, returns, ""),
		Source: "mcp:" + m.declared.Name, Owner: m.declared.Owner, Declared: declared,
		Annotations: m.annotations(t).Of(m.declared.Risk), Limits: tools.DeclaredLimits(m.declared.Limits),
		Dispatch: tools.Dispatch(m.declared.Dispatch), Parallel: m.declared.Parallel,
		Tags: m.tags(t), Via: via,
		Implementation: strings.Join(append([]string{m.link.target.key, t.Name, checksumOf(t)}, via...), "\x00"),
	})
	if err != nil {
		return m.leave(wrongMade, t.Name)
	}
	if len(dialect.Say(def.Parameters, dialect.Anthropic).Faults) > 0 {
		m.leave(wrongDialect, t.Name)
	}
	m.checkExamples(def, document)
	return &tool{def: def, name: t.Name, link: m.link, wrapped: wrapped}
}

// viaOf are the runtimes that pass a tool on.
func viaOf(t *mcp.Tool) []string { return peermeta.Words(t.Meta[peermeta.Via], peermeta.MaxHops+1) }

// tags are those of another runtime's tool; a server that is no spiced runtime could choose
// tags that expressions of available trust.
func (m *maker) tags(t *mcp.Tool) []string {
	if !m.link.target.peer || m.texts[t.Name] {
		return nil
	}
	return peermeta.Words(t.Meta[peermeta.Tags], peermeta.MaxTags)
}

func (m *maker) annotations(t *mcp.Tool) tools.Annotations {
	if m.texts[t.Name] {
		return annotations(nil)
	}
	return annotations(t.Annotations)
}

// checksumOf is another runtime's checksum of a tool, or "".
func checksumOf(t *mcp.Tool) string {
	sum, _ := t.Meta[peermeta.Checksum].(string)
	return sum
}

func (m *maker) leave(why, name string) *tool {
	m.left[why] = append(m.left[why], name)
	return nil
}

// description is the tool's description, bounded.
func (m *maker) description(t *mcp.Tool) string {
	text := describe(t)
	if len(text) > tools.MaxDescription {
		m.leave(wrongText, t.Name)
		text = truncate.Fit(text, tools.MaxDescription)
	}
	return text
}

// anyObject is the schema of unknown arguments.
const anyObject = `{"type":"object"}`

// schema is a tool's schema, or the fallback if it is missing or too large.
// Whether it compiles is checked on use.
func (m *maker) schema(t *mcp.Tool, schema any, fallback string) []byte {
	object, ok := schema.(map[string]any)
	if ok {
		if text, err := tools.Encode(object); err == nil && len(text) <= tools.MaxSchema {
			return text
		}
	}
	if schema != nil {
		m.leave(wrongSchema, t.Name)
	}
	return []byte(fallback)
}

// validName reports whether a server's tool name is usable.
func validName(name string) bool { return name != "" && utf8.RuneCountInString(name) <= MaxToolName }

// report makes one problem of all tools with the same fault.
func (m *maker) report() {
	for _, why := range []string{wrongName, wrongTwice, wrongForm, wrongMade, wrongSchema, wrongDialect, wrongText} {
		if names := m.left[why]; len(names) > 0 {
			m.warn("", fmt.Sprintf("tools of the server %s: %s", why, named(names)))
		}
	}
	if names := m.left[wrongTexts]; len(names) > 0 {
		m.Problems = append(m.Problems, m.Remark(".pin", "read them, then run `spiced mcp pin`",
			fmt.Sprintf("tools of the server %s: %s", wrongTexts, named(names))))
	}
	for _, why := range []string{wrongChanged, wrongUnknown} {
		if names := m.left[why]; len(names) > 0 {
			m.Fail(".pin", "read them, then run `spiced mcp pin`", "tools of the server %s: %s", why, named(names))
		}
	}
}

// named lists the first few names.
func named(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	shown := make([]string, 0, maxNamed)
	for _, name := range names[:min(len(names), maxNamed)] {
		shown = append(shown, fmt.Sprintf("%q", truncate.Line(name, 80)))
	}
	text := strings.Join(shown, ", ")
	if rest := len(names) - len(shown); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}
