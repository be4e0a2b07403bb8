package sqlapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// running are the chats that run, for those who want to cancel one. The zero
// value with a limit is ready to use.
type running struct {
	limit int

	mu   sync.Mutex
	jobs map[*job]struct{}
}

// job is a chat that runs.
type job struct {
	table     *running
	owner, id string
	cancel    context.CancelCauseFunc
}

// begin enters a chat, which is to run in the context that it returns and to
// be ended.
func (t *running) begin(ctx context.Context, who caller.Caller) (context.Context, *job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.jobs) >= t.limit {
		return nil, nil, &chat.Error{Code: chat.CodeBusy, RetryAfter: time.Second, Message: "too many chats run already; try again in a moment"}
	}
	j := &job{table: t, owner: who.Owner(), id: who.RequestID}
	ctx, j.cancel = context.WithCancelCause(ctx)
	if t.jobs == nil {
		t.jobs = map[*job]struct{}{}
	}
	t.jobs[j] = struct{}{}
	return ctx, j, nil
}

// end takes the chat out of the table.
func (j *job) end() {
	j.cancel(nil)
	j.table.mu.Lock()
	defer j.table.mu.Unlock()
	delete(j.table.jobs, j)
}

// blame is err, unless it comes from a chat's being cancelled by another
// request.
func blame(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		return errStopped
	}
	return err
}

// cancel cancels an owner's chats of an id, which clients may give to several,
// and reports whether there was one.
func (t *running) cancel(owner, id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := false
	for j := range t.jobs {
		if j.owner == owner && j.id == id {
			j.cancel(errStopped)
			found = true
		}
	}
	return found
}

type cancelled struct {
	Cancelled bool `json:"cancelled"`
}

// errStopped is why a chat ends that another request has cancelled.
var errStopped = &chat.Error{Code: chat.CodeCancelled, Message: "the request was cancelled by POST " + pathRequests + "/{id}" + verbCancel}

// cancelRequest cancels a chat that runs.
func (a *API) cancelRequest(w http.ResponseWriter, r *http.Request) error {
	who, err := callerOf(w, r, caller.HTTP)
	if err != nil {
		return err
	}
	id := strings.TrimSuffix(r.PathValue("name"), verbCancel)
	if !a.running.cancel(who.Owner(), id) {
		return newError(codeNoRequest, "it may have ended; the key and X-Spiced-User must be those of the request", "no request runs under the id %q", truncate.Ellipsis(id, maxShown))
	}
	return writeJSON(w, http.StatusOK, cancelled{true})
}
