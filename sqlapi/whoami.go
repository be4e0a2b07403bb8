package sqlapi

import (
	"net/http"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/caller"
)

// callerInfo is who a request is made as, and what that caller may do.
type callerInfo struct {
	Principal  *string `json:"principal" required:"true" nullable:"true" doc:"The name of the key's principal; null without keys."`
	Keys       bool    `json:"keys" doc:"Whether requests need a key."`
	MayWrite   bool    `json:"may_write" doc:"Statements that write, refreshes, reloads and the other routes that need a key that ends in :rw."`
	MayApprove bool    `json:"may_approve" doc:"Decides about calls that need approval; with keys, never about calls of the same principal."`
	OnBehalfOf bool    `json:"on_behalf_of" doc:"May name any user and space."`
	User       string  `json:"user,omitempty" doc:"For whom the request is made."`
	Space      string  `json:"space,omitempty"`
	Session    string  `json:"session,omitempty"`
	Agent      string  `json:"agent,omitempty"`
	Generation uint64  `json:"generation" doc:"The generation that is served now; 0 before the first."`
	Ready      bool    `json:"ready"`
	Version    string  `json:"version,omitempty" doc:"Of spiced."`
}

// whoamiHandler tells callers who they are.
type whoamiHandler struct {
	inventory Inventory
	guard     *Guard
	version   string
}

func (h *whoamiHandler) serve(w http.ResponseWriter, _ *http.Request, who caller.Caller) error {
	keys := h.guard.approvers()
	info := callerInfo{
		Keys: keys.Enabled(), MayWrite: who.Write, OnBehalfOf: who.Delegate, MayApprove: approval.MayDecideSome(keys, who),
		User: who.UserID, Space: who.SpaceID, Session: who.SessionID, Agent: who.Agent,
		Generation: h.inventory.Generation(), Ready: h.inventory.Ready(), Version: h.version,
	}
	if who.Principal != "" {
		info.Principal = &who.Principal
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, http.StatusOK, info)
}

func whoamiRoute(h *whoamiHandler) route {
	return route{
		method: "GET", path: "/v1/caller", id: "get_caller", tag: "General", is: scoped | free,
		summary: "Show who the request is made as, and what that caller may do.",
		about: "A client asks it to know what to offer. Without a valid key, where keys are needed, the answer is 401 " +
			"as everywhere.",
		answers: []answer{{
			http.StatusOK, "The caller.",
			asJSON(ref("Caller"), `{"principal":"support","keys":true,"may_write":false,"may_approve":true,`+
				`"on_behalf_of":false,"user":"support","generation":3,"ready":true,"version":"v0.1.0"}`),
		}},
		failures: failures{http.StatusBadRequest: "A header is wrong."},
		handle:   withCaller(caller.HTTP, h.serve),
	}
}
