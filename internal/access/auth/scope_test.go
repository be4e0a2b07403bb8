package auth_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/tools"
)

func TestScope(t *testing.T) {
	var (
		bi        = &auth.Principal{Name: "bi", UserID: "reports", SpaceID: "finance"}
		plain     = &auth.Principal{Name: "ci", Write: true}
		web       = &auth.Principal{Name: "web", UserID: "site", SpaceID: "public", OnBehalfOf: true}
		anonymous = new(auth.Keyring).Anonymous()
	)
	for _, c := range []struct {
		name  string
		p     *auth.Principal
		asked tools.Scope
		want  tools.Scope
	}{
		{"its own user and space", bi, tools.Scope{}, tools.Scope{UserID: "reports", SpaceID: "finance", Principal: "bi"}},
		{"its own user, named", bi, tools.Scope{UserID: "reports"}, tools.Scope{UserID: "reports", SpaceID: "finance", Principal: "bi"}},
		{"its own space, named", bi, tools.Scope{SpaceID: "finance"}, tools.Scope{UserID: "reports", SpaceID: "finance", Principal: "bi"}},
		{"the name is the user without user_id", plain, tools.Scope{}, tools.Scope{UserID: "ci", Principal: "ci", Write: true}},
		{"no space is every space", plain, tools.Scope{}, tools.Scope{UserID: "ci", Principal: "ci", Write: true}},
		{"for another", web, tools.Scope{UserID: "ann", SpaceID: "hr"}, tools.Scope{UserID: "ann", SpaceID: "hr", Principal: "web"}},
		{"for another in its own space", web, tools.Scope{UserID: "ann"}, tools.Scope{UserID: "ann", SpaceID: "public", Principal: "web"}},
		{"for itself", web, tools.Scope{}, tools.Scope{UserID: "site", SpaceID: "public", Principal: "web"}},
		{"anonymous", anonymous, tools.Scope{}, tools.Scope{Write: true}},
		{"anonymous for another", anonymous, tools.Scope{UserID: "ann", SpaceID: "hr"}, tools.Scope{UserID: "ann", SpaceID: "hr", Write: true}},
		{"a caller cannot take the right to write", bi, tools.Scope{Write: true}, tools.Scope{UserID: "reports", SpaceID: "finance", Principal: "bi"}},
		{"nor another principal's name", web, tools.Scope{Principal: "bi"}, tools.Scope{UserID: "site", SpaceID: "public", Principal: "web"}},
		{
			"the rest stays", bi,
			tools.Scope{RequestID: "r", SessionID: "s", Agent: "a", Model: "m", Datasets: []string{"d"}, EmbeddingModel: "e"},
			tools.Scope{UserID: "reports", SpaceID: "finance", Principal: "bi", RequestID: "r", SessionID: "s", Agent: "a", Model: "m", Datasets: []string{"d"}, EmbeddingModel: "e"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.p.Scope(c.asked)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestScopeOfAnotherIsDenied(t *testing.T) {
	p := &auth.Principal{Name: "bi", UserID: "reports", Write: true}
	for name, user := range map[string]string{
		"another user": "ann", "another case": "Reports", "a space": " ", "its name, which is not its user": "bi",
		"a long one": strings.Repeat("x", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			scope, err := p.Scope(tools.Scope{UserID: user, RequestID: "r"})
			var denied *auth.DeniedError
			if !errors.As(err, &denied) {
				t.Fatalf("%T: %v", err, err)
			}
			if !strings.Contains(denied.Message, `"bi"`) || !strings.Contains(denied.Message, "on_behalf_of") || len(denied.Message) > 400 {
				t.Error(denied)
			}
			if d := cmp.Diff(tools.Scope{}, scope); d != "" {
				t.Error("a refused caller has a scope: ", d)
			}
		})
	}
}

func TestScopeOfAnotherSpaceIsDenied(t *testing.T) {
	for _, p := range []*auth.Principal{{Name: "bi", SpaceID: "finance"}, {Name: "ci"}} {
		_, err := p.Scope(tools.Scope{SpaceID: "hr"})
		var denied *auth.DeniedError
		if !errors.As(err, &denied) || !strings.Contains(denied.Message, "on_behalf_of") {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
