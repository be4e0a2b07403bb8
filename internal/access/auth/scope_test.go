package auth_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
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
		asked caller.Caller
		want  caller.Caller
	}{
		{"its own user and space", bi, caller.Caller{}, caller.Caller{UserID: "reports", SpaceID: "finance", Principal: "bi"}},
		{"its own user, named", bi, caller.Caller{UserID: "reports"}, caller.Caller{UserID: "reports", SpaceID: "finance", Principal: "bi"}},
		{"its own space, named", bi, caller.Caller{SpaceID: "finance"}, caller.Caller{UserID: "reports", SpaceID: "finance", Principal: "bi"}},
		{"the name is the user without user_id", plain, caller.Caller{}, caller.Caller{UserID: "ci", Principal: "ci", Write: true}},
		{"no space is every space", plain, caller.Caller{}, caller.Caller{UserID: "ci", Principal: "ci", Write: true}},
		{"for another", web, caller.Caller{UserID: "ann", SpaceID: "hr"}, caller.Caller{UserID: "ann", SpaceID: "hr", Principal: "web", Delegate: true}},
		{"for another in its own space", web, caller.Caller{UserID: "ann"}, caller.Caller{UserID: "ann", SpaceID: "public", Principal: "web", Delegate: true}},
		{"for itself", web, caller.Caller{}, caller.Caller{UserID: "site", SpaceID: "public", Principal: "web", Delegate: true}},
		{"anonymous", anonymous, caller.Caller{}, caller.Caller{Write: true, Delegate: true}},
		{"anonymous for another", anonymous, caller.Caller{UserID: "ann", SpaceID: "hr"}, caller.Caller{UserID: "ann", SpaceID: "hr", Write: true, Delegate: true}},
		{"a caller cannot take the right to write", bi, caller.Caller{Write: true}, caller.Caller{UserID: "reports", SpaceID: "finance", Principal: "bi"}},
		{"nor another principal's name", web, caller.Caller{Principal: "bi"}, caller.Caller{UserID: "site", SpaceID: "public", Principal: "web", Delegate: true}},
		{
			"the rest stays", bi,
			caller.Caller{RequestID: "r", SessionID: "s", Agent: "a", Model: "m"},
			caller.Caller{UserID: "reports", SpaceID: "finance", Principal: "bi", RequestID: "r", SessionID: "s", Agent: "a", Model: "m"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.p.Caller(c.asked)
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
			scope, err := p.Caller(caller.Caller{UserID: user, RequestID: "r"})
			var denied *auth.DeniedError
			if !errors.As(err, &denied) {
				t.Fatalf("%T: %v", err, err)
			}
			if !strings.Contains(denied.Message, `"bi"`) || !strings.Contains(denied.Message, "on_behalf_of") || len(denied.Message) > 400 {
				t.Error(denied)
			}
			if d := cmp.Diff(caller.Caller{}, scope); d != "" {
				t.Error("a refused caller has a scope: ", d)
			}
		})
	}
}

func TestScopeOfAnotherSpaceIsDenied(t *testing.T) {
	for _, p := range []*auth.Principal{{Name: "bi", SpaceID: "finance"}, {Name: "ci"}} {
		_, err := p.Caller(caller.Caller{SpaceID: "hr"})
		var denied *auth.DeniedError
		if !errors.As(err, &denied) || !strings.Contains(denied.Message, "on_behalf_of") {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
