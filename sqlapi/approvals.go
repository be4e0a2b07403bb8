package sqlapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// pathApprovals is the path of the approvals of calls.
const pathApprovals = "/v1/approvals"

// approvalsHandler shows the approvals of calls and takes decisions.
type approvalsHandler struct {
	tools *toolsHandler // for the registry, which may be nil
	keys  func() approval.Keys
}

// withStore is a handler that needs the store.
func (h *approvalsHandler) withStore(
	serve func(http.ResponseWriter, *http.Request, caller.Caller, *approval.Store) error,
) handler {
	return func(w http.ResponseWriter, r *http.Request) error { // h is nil where routes are only described
		return h.tools.scoped(func(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
			return serve(w, r, who, h.tools.registry.Approvals())
		})(w, r)
	}
}

// statuses are the values of ?status.
var statuses = []string{
	string(approval.Pending), string(approval.Approved), string(approval.Denied), string(approval.Used),
	string(approval.Expired),
}

func (h *approvalsHandler) list(w http.ResponseWriter, r *http.Request, who caller.Caller,
	store *approval.Store,
) error {
	list, status := store.List(h.keys(), who), r.URL.Query().Get("status")
	if status != "" {
		if !slices.Contains(statuses, status) {
			return newError(errcode.InvalidRequest, "it is one of "+strings.Join(statuses, ", "), "the status %q is unknown",
				truncate.Ellipsis(status, maxShown))
		}
		list = slices.DeleteFunc(list, func(a approval.Approval) bool { return string(a.Status) != status })
	}
	return writeJSON(w, http.StatusOK, list)
}

func (h *approvalsHandler) get(w http.ResponseWriter, r *http.Request, who caller.Caller, store *approval.Store) error {
	a, err := store.Get(h.keys(), r.PathValue("id"), who)
	if err != nil {
		return approvalFault(err)
	}
	return writeJSON(w, http.StatusOK, a)
}

func (h *approvalsHandler) decide(w http.ResponseWriter, r *http.Request, who caller.Caller,
	store *approval.Store,
) error {
	body, err := h.tools.bodies.read(w, r, maxSmallBody)
	if err != nil {
		return err
	}
	d, err := decodeDecision(body)
	if err != nil {
		return err
	}
	a, err := store.Decide(r.Context(), h.keys(), r.PathValue("id"), d, who)
	if err != nil {
		return approvalFault(err)
	}
	return writeJSON(w, http.StatusOK, a)
}

func decodeDecision(body []byte) (d approval.Decision, err error) {
	if err := decodeObject(body, &d); err != nil {
		return d, err
	}
	switch {
	case d.Decision != approval.Approve && d.Decision != approval.Deny:
		return d, newError(errcode.InvalidRequest, `write "approve" or "deny"`, "the decision is %q",
			truncate.Ellipsis(string(d.Decision), maxShown))
	case len(d.Note) > approval.MaxNote:
		return d, newError(errcode.InvalidRequest, "", "the note has %d bytes; the limit is %d", len(d.Note),
			approval.MaxNote)
	}
	return d, nil
}

// approvalFault is what is sent of an error of the store.
func approvalFault(err error) error {
	var e *approval.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("approvals: %w", err)
	}
	code := errcode.InvalidRequest
	switch {
	case e.NotFound:
		code = codeNoApproval
	case e.Denied:
		code = codeDenied
	case e.Decided:
		code = codeDecided
	}
	return newError(code, e.Hint, "%s", e.Message)
}

func approvalRoutes(h *approvalsHandler) []route {
	const example = `{"id":"apr_k3…","tool":"refund","arguments":{"order":7},"status":"pending","asked_by":"support","expires_at":"2026-05-06T13:00:00Z","asked_at":"2026-05-06T12:00:00Z","risk":"write","checksum":"9f3c2a7711aa04de"}`
	id := param{"id", "path", "the approval_id of the error approval_required", text}
	notFound := failures{
		http.StatusBadRequest: "A parameter or a header is wrong.",
		http.StatusNotFound:   "There is no such approval that you may see, or this process does not serve tools.",
	}
	return []route{
		{
			method: "GET", path: pathApprovals, id: "list_approvals", tag: "Approvals", is: scoped,
			summary: "List the approvals of calls.",
			about:   "Newest first. Approvers, and without keys everyone, see all of them; others see those of their own calls.",
			params:  []param{{"status", "query", "only those with this status", oneOf(statuses...)}},
			answers: []answer{{http.StatusOK, "The approvals.", asJSON(listOf(ref("Approval")), "["+example+"]")}},
			failures: failures{
				http.StatusBadRequest: "A parameter or a header is wrong.",
				http.StatusNotFound:   "This process does not serve tools.",
			},
			handle: h.withStore(h.list),
		},
		{
			method: "GET", path: pathApprovals + "/{id}", id: "get_approval", tag: "Approvals", is: scoped,
			summary:  "Show an approval.",
			params:   []param{id},
			answers:  []answer{{http.StatusOK, "The approval.", asJSON(ref("Approval"), example)}},
			failures: notFound,
			handle:   h.withStore(h.get),
		},
		{
			method: "POST", path: pathApprovals + "/{id}", id: "decide_approval", tag: "Approvals", is: scoped,
			summary: "Approve or deny a call.",
			about: "With keys, only principals in runtime.auth.approvers may, and never about calls of the same principal. " +
				"Approving runs nothing: " +
				"the caller repeats the call, which uses the approval. An approval that was not used yet can still be denied. " +
				"The same decision again changes nothing.",
			params:  []param{id},
			body:    asJSON(ref("Decision"), `{"decision":"approve","note":"checked with the customer"}`),
			answers: []answer{{http.StatusOK, "The approval, as it is now.", asJSON(ref("Approval"), "")}},
			failures: bodyFailures(failures{
				http.StatusBadRequest: "The body or a header is wrong.",
				http.StatusForbidden: "The key is not that of an approver, or it is that of the caller; or the request comes " +
					"from another site's page.",
				http.StatusNotFound: "There is no such approval that you may see, or this process does not serve tools.",
				http.StatusConflict: "It was decided otherwise, used, or has expired.",
			}),
			handle: h.withStore(h.decide),
		},
	}
}
