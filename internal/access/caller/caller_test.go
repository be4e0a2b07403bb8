package caller_test

import (
	"context"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/caller"
)

func TestContext(t *testing.T) {
	if got := caller.From(context.Background()); got != (caller.Caller{}) {
		t.Errorf("an empty context has %+v", got)
	}
	ann, bob := caller.Caller{UserID: "ann", Write: true}, caller.Caller{UserID: "bob"}
	ctx := caller.With(caller.With(context.Background(), ann), bob)
	if got := caller.From(ctx); got != bob {
		t.Errorf("got %+v, want the inner caller", got)
	}
}

// Owners are the same for the same principal, user and space alone.
func TestOwner(t *testing.T) {
	owner := caller.Caller{Principal: "p", UserID: "u", SpaceID: "s"}.Owner()
	if got := (caller.Caller{Principal: "p", UserID: "u", SpaceID: "s", RequestID: "r", Agent: "a", Write: true}).Owner(); got != owner {
		t.Errorf("a request's owner is %q, want %q", got, owner)
	}
	for _, other := range []caller.Caller{
		{},
		{Principal: "p", UserID: "u"},
		{Principal: "p", SpaceID: "s"},
		{UserID: "u", SpaceID: "s"},
		{Principal: "pu", SpaceID: "s"},
		{Principal: "p", UserID: "us"},
	} {
		if other.Owner() == owner {
			t.Errorf("%+v has the same owner", other)
		}
	}
}

// Callers with a key share its slots, others those of their address.
func TestShare(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.1:80": "10.0.0.1", "[::1]:80": "::/64", "[::ffff:10.0.0.1]:80": "10.0.0.1",
		"[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64", "[fe80::1%eth0]:80": "fe80::/64", "@": "@", "": "",
	} {
		who := caller.Caller{UserID: "ann", Address: caller.Address(remote)}
		if got := who.Share(); got != want {
			t.Errorf("%s: %q, want %q", remote, got, want)
		}
		who.Principal = "bi"
		if got := who.Share(); got != "bi" {
			t.Errorf("with a key: %q", got)
		}
	}
}

func TestCheckWord(t *testing.T) {
	for word, ok := range map[string]bool{
		"": true, "Ada Löve-Lace_1": true, strings.Repeat("x", caller.MaxWord): true,
		strings.Repeat("x", caller.MaxWord+1): false, "a\nb": false, "a\x00": false, "\xff": false,
	} {
		if err := caller.CheckWord(word); (err == nil) != ok {
			t.Errorf("%.20q: %v", word, err)
		}
	}
}
