package mcpserver

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// methodListen opens the stream of list changes, since revision 2026-07-28.
const methodListen = "subscriptions/listen"

// listener is one request for that stream. A client may open several over
// stdio, and the SDK keeps only the last: so the SDK acknowledges and ends
// them, and this package sends the notifications.
type listener struct {
	sess     *session
	sdk      *mcp.ServerSession
	acked    chan *mcp.SubscriptionsAcknowledgedParams // the acknowledged subscriptions; holds one
	news     chan struct{}                             // holds a token: a generation was published
	reported map[string]string                         // checksums of the last reported lists, by notification
}

type listenerKey struct{}

// listen answers subscriptions/listen: it notifies the client of list changes
// until the client cancels or disconnects, or the server closes.
func (s *Server) listen(ctx context.Context, next mcp.MethodHandler, sess *session,
	req *mcp.SubscriptionsListenRequest,
) (mcp.Result, error) {
	l := &listener{
		sess: sess, sdk: req.Session, reported: map[string]string{},
		acked: make(chan *mcp.SubscriptionsAcknowledgedParams, 1), news: make(chan struct{}, 1),
	}
	s.listeners.Store(l, nil)
	defer s.listeners.Delete(l)
	for notification, list := range lists {
		l.reported[notification] = list.sum(s, sess)
	}
	ctx, cancel := s.bound(context.WithValue(ctx, listenerKey{}, l), sess, req.Extra)
	var telling sync.WaitGroup
	telling.Go(func() { s.report(ctx, l) })
	result, err := next(ctx, methodListen, req)
	cancel()
	telling.Wait()
	return result, err
}

// acknowledged passes the accepted subscriptions to the listener.
func acknowledged(ctx context.Context, p *mcp.SubscriptionsAcknowledgedParams) {
	if l, ok := ctx.Value(listenerKey{}).(*listener); ok {
		l.acked <- p
	}
}

// report notifies a listener of changed lists until ctx ends.
func (s *Server) report(ctx context.Context, l *listener) {
	var ack *mcp.SubscriptionsAcknowledgedParams
	select {
	case ack = <-l.acked:
	case <-ctx.Done():
		return
	}
	for {
		select {
		case <-l.news:
		case <-ctx.Done():
			return
		}
		for notification, list := range lists {
			sum := list.sum(s, l.sess)
			if !list.wanted(ack.Notifications) || l.reported[notification] == sum {
				continue
			}
			l.reported[notification] = sum
			// All these notifications have the same parameters. It is no fault
			// if the client has disconnected.
			meta := mcp.Meta{mcp.MetaKeySubscriptionID: ack.Meta[mcp.MetaKeySubscriptionID]}
			_, _ = s.notify(ctx, notification, &mcp.ServerRequest[*mcp.ToolListChangedParams]{
				Session: l.sdk, Params: &mcp.ToolListChangedParams{Meta: meta},
			})
		}
	}
}

// published wakes the listeners.
func (s *Server) published() {
	s.listeners.Range(func(key, _ any) bool {
		select {
		case key.(*listener).news <- struct{}{}:
		default:
		}
		return true
	})
}
