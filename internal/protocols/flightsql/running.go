package flightsql

import (
	"context"
	"sync"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// running are the results that are sent. The zero value is ready to use.
type running struct {
	mu   sync.Mutex
	runs map[*run]bool
}

// run is a result that is sent. Two of one ticket have the same id.
type run struct {
	owner, id string
	cancel    context.CancelCauseFunc
}

// Why results end before their last row.
var (
	errCancelled = &engine.Error{Code: engine.CodeCancelled, Message: "the statement was cancelled by its owner", Offset: -1}
	errStalled   = &engine.Error{Code: engine.CodeCancelled, Message: "the client does not read", Offset: -1}
	errManyRuns  = &engine.Error{Code: engine.CodeBusy, Message: "too many results are being sent", Hint: "try again in a moment", Offset: -1}
)

// begin enters a run; done removes it.
func (r *running) begin(this *run) (done func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.runs) >= maxResults {
		return nil, errManyRuns
	}
	if r.runs == nil {
		r.runs = map[*run]bool{}
	}
	r.runs[this] = true
	return func() { r.end(this) }, nil
}

func (r *running) end(this *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, this)
}

// cancel ends the runs of an owner's ticket and reports whether there was one.
func (r *running) cancel(owner, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := false
	for this := range r.runs {
		if this.owner == owner && this.id == id {
			this.cancel(errCancelled)
			found = true
		}
	}
	return found
}
