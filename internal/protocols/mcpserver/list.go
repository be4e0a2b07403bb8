package mcpserver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// mode selects the tools that a session lists.
func (s *Server) mode(sess *session) spicepod.MCPMode {
	return cmp.Or(sess.mode, s.opts.Settings().Mode, spicepod.MCPDirect)
}

// listDatasets is also listed in mode registry: the available data decides
// which tool to search for.
const listDatasets = "list_datasets"

// listed returns the tools that a session lists, sorted by name.
func (s *Server) listed(f *rendered, sess *session) []*tools.Definition {
	if s.mode(sess) == spicepod.MCPRegistry {
		return s.few(f, sess)
	}
	visible := f.catalog.Visible(sess.scope)
	if len(visible) == f.catalog.Len() {
		visible = f.all()
	}
	if sess.scope.Visible == nil {
		return visible
	}
	return slices.DeleteFunc(slices.Clone(visible), func(d *tools.Definition) bool { return !sess.scope.Visible(d.Name) })
}

// few are the tools of mode registry.
func (s *Server) few(f *rendered, sess *session) []*tools.Definition {
	list := s.opts.Registry.MetaTools()
	wanted := map[*tools.Definition]bool{}
	for _, name := range append([]string{listDatasets}, s.opts.Settings().Pinned...) {
		wanted[f.catalog.Get(name)] = true
	}
	for _, def := range f.catalog.Visible(sess.scope) {
		if wanted[def] && !registry.Reserved(def.Name) && s.sees(sess, def.Name) {
			list = append(list, def)
		}
	}
	slices.SortFunc(list, byName)
	return list
}

func byName(a, b *tools.Definition) int { return strings.Compare(a.Name, b.Name) }

// sees reports whether the named tool is visible in the session's scope.
func (s *Server) sees(sess *session, name string) bool {
	if sess.scope.Visible == nil || registry.Reserved(name) {
		return true
	}
	def := s.opts.Registry.Current().View(sess.scope).Get(name)
	return def != nil && sess.scope.Visible(def.Name)
}

// toolsSum is the checksum of a session's list of tools.
func (s *Server) toolsSum(sess *session) string {
	f := s.current()
	list := s.listed(f, sess)
	if all := f.all(); len(list) > 0 && len(list) == len(all) && &list[0] == &all[0] {
		return f.sum()
	}
	return fingerprint(list)
}

// toolsPage is a page of tools/list. Its encoded tools replace those of the
// SDK's result.
type toolsPage struct {
	mcp.ListToolsResult
	Tools []json.RawMessage `json:"tools"`
}

// private marks a list that depends on the session's scope.
var private = mcp.Cacheable{CacheScope: "private"}

// listTools answers tools/list.
func (s *Server) listTools(sess *session, req *mcp.ListToolsRequest) (mcp.Result, error) {
	cursor := ""
	if req.Params != nil {
		cursor = req.Params.Cursor
	}
	f := s.current()
	list, next, err := page("tools", s.listed(f, sess), cursor, func(d *tools.Definition) string { return d.Name })
	if err != nil {
		return nil, err
	}
	result := &toolsPage{Tools: make([]json.RawMessage, len(list))}
	result.NextCursor, result.Cacheable = next, private
	views := showsViews(req.ClientCapabilities())
	for i, def := range list {
		if shown := f.show(def); views {
			result.Tools[i] = shown.viewed()
		} else {
			result.Tools[i] = shown.tool
		}
	}
	return result, nil
}

// page returns one page of a list sorted by key. A cursor names the last entry
// of the previous page, so a list that changes in between neither repeats nor
// skips the entries that remain.
func page[T any](of string, list []T, cursor string, key func(T) string) (out []T, next string, err error) {
	start := 0
	if cursor != "" {
		after, err := readCursor(of, cursor)
		if err != nil {
			return nil, "", err
		}
		start, _ = slices.BinarySearchFunc(list, after, func(e T, after string) int {
			if key(e) <= after {
				return -1
			}
			return 1
		})
	}
	out = list[start:]
	if len(out) > maxPage {
		out = out[:maxPage]
		next = base64.RawURLEncoding.EncodeToString([]byte(of + ":" + key(out[maxPage-1])))
	}
	return out, next, nil
}

func readCursor(of, cursor string) (after string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	after, ok := strings.CutPrefix(string(text), of+":")
	if err != nil || !ok {
		return "", invalid("the cursor %q is not in this list; omit it to start from the beginning",
			truncate.Ellipsis(cursor, maxShown))
	}
	return after, nil
}
