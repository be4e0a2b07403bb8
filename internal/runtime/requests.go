package runtime

import (
	"context"
	"errors"
)

// requests queues loads for the goroutine that loads.
type requests struct {
	queue  chan request
	loaded chan request  // that only take loaded data
	ended  chan struct{} // closed when no more are served
}

type request struct {
	trigger string
	reply   chan *Report // buffered; nil when no one waits
}

func newRequests() *requests {
	return &requests{queue: make(chan request, 1), loaded: make(chan request, 1), ended: make(chan struct{})}
}

// errEnded answers requests after Run has returned.
var errEnded = errors.New("the runtime has ended")

// add queues a load without waiting for it. A load that is already queued will
// read the same files, and take the data that is loaded.
func (r *requests) add(trigger string) {
	queue := r.queue
	if trigger == triggerLoaded {
		queue = r.loaded
	}
	select {
	case queue <- request{trigger: trigger}:
	default:
	}
}

// wait queues a load and waits for its outcome.
func (r *requests) wait(ctx context.Context, trigger string) (*Report, error) {
	reply := make(chan *Report, 1)
	select {
	case r.queue <- request{trigger, reply}:
	case <-r.ended:
		return nil, errEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case report := <-reply:
		return report, nil
	case <-r.ended:
		return nil, errEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve runs the loads one after another until ctx ends.
func (r *requests) serve(ctx context.Context, load func(context.Context, string) *Report) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-r.loaded:
			load(ctx, next.trigger)
		case next := <-r.queue:
			select {
			case <-r.loaded: // this load takes the data too
			default:
			}
			report := load(ctx, next.trigger)
			if next.reply != nil {
				next.reply <- report
			}
		}
	}
}
