package mcpserver

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// completer answers completion/complete with the names for a resource template.
// Without resources there are no completions.
func (s *Server) completer() func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	if s.resources.Resources == nil {
		return nil
	}
	return func(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		kind, err := completed(req.Params)
		if err != nil {
			return nil, err
		}
		return &mcp.CompleteResult{Completion: s.resources.complete(sessionOf(ctx), kind, req.Params.Argument.Value)}, nil
	}
}

// completed is the kind of resource to complete.
func completed(p *mcp.CompleteParams) (Kind, error) {
	if p.Ref.Type != "ref/resource" {
		return "", invalid("there is no %s to complete, only ref/resource", truncate.Ellipsis(p.Ref.Type, maxShown))
	}
	for _, t := range templates {
		if t.URITemplate == p.Ref.URI {
			if p.Argument.Name != "name" {
				return "", invalid("%s has no argument %q, only \"name\"", t.URITemplate,
					truncate.Ellipsis(p.Argument.Name, maxShown))
			}
			return Kind(t.Name), nil
		}
	}
	return "", invalid("there is no resource template %q; resources/templates/list has all there are",
		truncate.Ellipsis(p.Ref.URI, maxShown))
}

// complete finds the names with a prefix, ignoring case.
func (r resources) complete(sess *session, kind Kind, value string) mcp.CompletionResultDetails {
	details := mcp.CompletionResultDetails{Values: []string{}}
	value = strings.ToLower(value)
	for _, one := range r.list(sess) {
		if one.Kind != kind || !strings.HasPrefix(strings.ToLower(one.Name), value) {
			continue
		}
		details.Total++
		if len(details.Values) < maxValues {
			details.Values = append(details.Values, one.Name)
		}
	}
	details.HasMore = details.Total > len(details.Values)
	return details
}
