package sqlapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// begin lists a chat as the caller's work, under the id of its request. Call
// end when it is over.
func (a *API) begin(ctx context.Context, who caller.Caller) (_ context.Context, entry *activity.Entry, end func(), err error) {
	select {
	case a.chats <- struct{}{}:
	default:
		return nil, nil, nil, &chat.Error{Code: chat.CodeBusy, RetryAfter: time.Second, Message: "too many chats run already; try again in a moment"}
	}
	ctx, entry = a.opts.Queries.Activity().Begin(ctx, activity.Work{
		ID: who.RequestID, Kind: activity.Chat, Owner: who.Owner(), Protocol: string(query.HTTP), Name: who.Model,
	})
	return ctx, entry, func() { entry.End(); <-a.chats }, nil
}

// blame is err, unless the chat was cancelled by another request.
func blame(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), activity.ErrCancelled) {
		return errStopped
	}
	return err
}

type cancelled struct {
	Cancelled bool `json:"cancelled"`
}

// errStopped is the error of a chat that another request has cancelled.
var errStopped = &chat.Error{Code: chat.CodeCancelled, Message: "the request was cancelled by its owner"}

// cancelRequest cancels a chat that runs.
func (a *API) cancelRequest(w http.ResponseWriter, r *http.Request) error {
	who, err := callerOf(w, r, caller.HTTP)
	if err != nil {
		return err
	}
	id := strings.TrimSuffix(r.PathValue("name"), verbCancel)
	if !a.opts.Queries.Activity().Cancel(who.Owner(), id) {
		return newError(codeNoRequest, "it may have ended; the key and X-Spiced-User must be those of the request", "no request runs under the id %q", truncate.Ellipsis(id, maxShown))
	}
	return writeJSON(w, http.StatusOK, cancelled{true})
}
