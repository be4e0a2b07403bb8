package mcpserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// Resources are the resources that clients may read. It is safe for concurrent
// use.
type Resources interface {
	// List returns the resources of the scope, in any order.
	List(tools.Scope) []Resource
	// Read renders a resource as Markdown. The error is [ErrNoResource] if it
	// does not exist, or no longer exists.
	Read(ctx context.Context, scope tools.Scope, kind Kind, name string) (markdown string, err error)
}

// Resource is a dataset or document that clients may read.
type Resource struct {
	Kind        Kind
	Name        string
	Description string
}

// Kind is a kind of resources.
type Kind string

// Kinds of resources.
const (
	Datasets  Kind = "datasets"
	Functions Kind = "functions"
)

// ErrNoResource means that a resource does not exist.
var ErrNoResource = errors.New("there is no such resource")

const (
	scheme   = "spiced"
	markdown = "text/markdown"
)

// templates describe the URIs of each kind.
var templates = []*mcp.ResourceTemplate{
	{
		Name: string(Datasets), URITemplate: scheme + "://datasets/{name}", MIMEType: markdown,
		Description: "A dataset: its description, its columns and some rows.",
	},
	{
		Name: string(Functions), URITemplate: scheme + "://functions/{name}", MIMEType: markdown,
		Description: "A SQL function: its signature, its documentation and examples.",
	},
}

// uri is the URI of the resource.
func (r Resource) uri() string { return scheme + "://" + string(r.Kind) + "/" + url.PathEscape(r.Name) }

// readURI parses the kind and the name in a URI.
func readURI(uri string) (kind Kind, name string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme+"://")
	host, path, _ := strings.Cut(rest, "/")
	name, err := url.PathUnescape(path)
	kind = Kind(host)
	return kind, name, ok && err == nil && name != "" && (kind == Datasets || kind == Functions)
}

// resources answers requests about the resources.
type resources struct{ Resources }

// list returns the resources that a session lists, sorted by URI.
func (r resources) list(sess *session) []Resource {
	list := slices.Clone(r.List(sess.scope))
	slices.SortFunc(list, func(a, b Resource) int { return cmp.Compare(a.uri(), b.uri()) })
	return list
}

// sum is the checksum of a session's list of resources.
func (r resources) sum(sess *session) string {
	if r.Resources == nil {
		return ""
	}
	h := sha256.New()
	for _, one := range r.list(sess) {
		fmt.Fprintf(h, "%s %q\n", one.uri(), one.Description)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// page answers resources/list.
func (r resources) page(sess *session, req *mcp.ListResourcesRequest) (mcp.Result, error) {
	cursor := ""
	if req.Params != nil {
		cursor = req.Params.Cursor
	}
	list, next, err := page("resources", r.list(sess), cursor, Resource.uri)
	if err != nil {
		return nil, err
	}
	result := &mcp.ListResourcesResult{Cacheable: private, NextCursor: next, Resources: make([]*mcp.Resource, len(list))}
	for i, one := range list {
		result.Resources[i] = &mcp.Resource{URI: one.uri(), Name: one.Name, Description: one.Description, MIMEType: markdown}
	}
	return result, nil
}

// listTemplates answers resources/templates/list, which has one page.
func listTemplates(req *mcp.ListResourceTemplatesRequest) (mcp.Result, error) {
	if req.Params != nil && req.Params.Cursor != "" {
		return nil, invalid("the cursor %q is not in this list; omit it to start from the beginning",
			truncate.Ellipsis(req.Params.Cursor, maxShown))
	}
	return &mcp.ListResourceTemplatesResult{Cacheable: private, ResourceTemplates: templates}, nil
}

// read answers resources/read.
func (r resources) read(ctx context.Context, sess *session, req *mcp.ReadResourceRequest) (mcp.Result, error) {
	uri := req.Params.URI
	kind, name, ok := readURI(uri)
	if !ok {
		return nil, r.unknown(sess, req, "")
	}
	text, err := r.Read(ctx, sess.scope, kind, name)
	switch {
	case errors.Is(err, ErrNoResource):
		return nil, r.unknown(sess, req, kind)
	case err != nil:
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInternalError,
			Message: fmt.Sprintf("read %q: %v", truncate.Ellipsis(uri, maxShown), err),
		}
	case len(text) > maxResource:
		return nil, &jsonrpc.Error{
			Code:    jsonrpc.CodeInternalError,
			Message: fmt.Sprintf("%q has %d bytes; the limit is %d", truncate.Ellipsis(uri, maxShown), len(text), maxResource),
		}
	}
	return &mcp.ReadResourceResult{
		Cacheable: private,
		Contents:  []*mcp.ResourceContents{{URI: uri, MIMEType: markdown, Text: text}},
	}, nil
}

// unknown is the error for an unknown URI, with the nearest known one.
func (r resources) unknown(sess *session, req *mcp.ReadResourceRequest, kind Kind) error {
	uri := req.Params.URI
	var known []string
	for _, one := range r.list(sess) {
		if kind == "" || one.Kind == kind {
			known = append(known, one.uri())
		}
	}
	message := fmt.Sprintf("there is no resource %q; %s", truncate.Ellipsis(uri, maxShown),
		nearest.Hint(uri, known, "resources/list has all there are"))
	data, _ := json.Marshal(map[string]string{"uri": truncate.Ellipsis(uri, maxShown)})
	return &jsonrpc.Error{Code: notFoundCode(req.ProtocolVersion()), Message: message, Data: data}
}

// notFoundCode is the code for an unknown resource; since the sessionless
// revision there is no special code.
func notFoundCode(revision string) int64 {
	if revision >= sessionless {
		return jsonrpc.CodeInvalidParams
	}
	return codeNotFound
}
