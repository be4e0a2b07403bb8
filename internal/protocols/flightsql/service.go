package flightsql

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

// service answers the calls of Flight.
type service struct {
	flight.BaseFlightServer
	opts         Options
	log          *slog.Logger
	sealer       sealer
	prepared     preparedTable
	transactions transactionTable
	results      chan struct{} // a slot for each that is sent
	arriving     arriving
	buffers      bufferPool
	sending      sync.WaitGroup // of results; see unhindered

	now        func() time.Time
	stallLimit time.Duration
	maxUnread  int64
}

func newService(o Options) *service {
	s := &service{
		opts: o, log: o.Log, sealer: mustSealer(), now: time.Now, results: make(chan struct{}, maxResults),
		stallLimit: stallLimit, maxUnread: maxUnread,
	}
	s.prepared.now = func() time.Time { return s.now() }
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opts.Keys == nil {
		none := &auth.Keyring{}
		s.opts.Keys = func() *auth.Keyring { return none }
	}
	if s.opts.Tables == nil {
		s.opts.Tables = func() []Table { return nil }
	}
	s.opts.Connections.Wait = cmp.Or(o.Connections.Wait, pendingLimit)
	s.opts.MaxMessage = cmp.Or(o.MaxMessage, defaultMessage)
	return s
}

// transport are the settings of gRPC. Its buffers hold no more sent data than
// the client's window: a client that does not read stops the statement.
func (s *service) transport() []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.StreamInterceptor(s.stream),
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name), &s.buffers}),
		grpc.MaxRecvMsgSize(s.opts.MaxMessage),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.WriteBufferSize(writeBuffer),
		grpc.ConnectionTimeout(handshakeLimit),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleLimit, Time: pingEvery, Timeout: pingLimit}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingAllowed, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	}
	if s.opts.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.opts.TLS)))
	}
	return options
}

// early is a service whose unary methods are served as streams: gRPC takes in
// the message of a unary call before it asks who calls.
func early(desc grpc.ServiceDesc) *grpc.ServiceDesc {
	streams := slices.Clone(desc.Streams)
	for _, method := range desc.Methods {
		streams = append(streams, grpc.StreamDesc{
			StreamName:    method.MethodName,
			ServerStreams: true, // else the interceptor of streams is passed by
			Handler: func(srv any, stream grpc.ServerStream) error {
				answer, err := method.Handler(srv, stream.Context(), stream.RecvMsg, nil)
				if err != nil {
					return err
				}
				return stream.SendMsg(answer)
			},
		})
	}
	desc.Methods, desc.Streams = nil, streams
	return &desc
}

// stream is what every call has around it: who calls, errors, panics and the
// log.
func (s *service) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) (err error) {
	defer func() { err = s.settle(stream.Context(), info.FullMethod, err, recover()) }()
	if open[info.FullMethod] {
		return next(srv, unread{stream})
	}
	ctx, err := s.enter(stream.Context())
	if err != nil {
		return err
	}
	leave, err := connOf(ctx).Admit(clientOf(ctx).principal.Name)
	if err != nil {
		return err
	}
	defer leave()
	return next(srv, &callStream{stream, ctx, s})
}

// unread is a stream of a method that needs no key. Its messages say nothing
// that counts and are not taken in: anybody can send them.
type unread struct{ grpc.ServerStream }

// RecvMsg implements [grpc.ServerStream].
func (unread) RecvMsg(any) error { return nil }

// callStream is a stream whose context knows the caller, and whose messages
// arrive within bounds.
type callStream struct {
	grpc.ServerStream
	ctx     context.Context
	service *service
}

// Context implements [grpc.ServerStream].
func (c *callStream) Context() context.Context { return c.ctx }

// errLate is the error of a client that sends nothing, or too slowly.
var errLate = status.Error(codes.DeadlineExceeded, "the message did not arrive in time")

// RecvMsg implements [grpc.ServerStream].
func (c *callStream) RecvMsg(m any) error {
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.service.stallLimit, errLate)
	defer cancel()
	err := c.service.unhindered(ctx, func() error {
		places := c.service.arriving.of(clientOf(ctx).principal.Name)
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return c.ServerStream.RecvMsg(m)
	})
	if status.Code(err) == codes.Internal {
		return invalid("the message cannot be read: %s", status.Convert(err).Message()) // it is no internal fault
	}
	return err
}

// arriving are the places for messages that arrive, of each principal. Such a
// message may already have its full size. The zero value is ready to use.
type arriving struct{ places sync.Map }

func (a *arriving) of(principal string) chan struct{} {
	places, _ := a.places.LoadOrStore(principal, make(chan struct{}, maxArriving))
	return places.(chan struct{})
}
