package flight

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/keepalive"

	"github.com/spiced-sql/spiced/auth"
)

// service answers the calls of Flight.
type service struct {
	flight.BaseFlightServer
	opts     Options
	log      *slog.Logger
	sealer   sealer
	prepared preparedTable
	running  running
	buffers  bufferPool
	sending  sync.WaitGroup // of results; see unhindered

	now        func() time.Time
	stallLimit time.Duration
	maxUnread  int64
}

func newService(o Options) *service {
	s := &service{opts: o, log: o.Log, sealer: mustSealer(), now: time.Now, stallLimit: stallLimit, maxUnread: maxUnread}
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
	if s.opts.MaxConnections == 0 {
		s.opts.MaxConnections = defaultConnections
	}
	if s.opts.MaxMessage == 0 {
		s.opts.MaxMessage = defaultMessage
	}
	return s
}

// transport are the settings of gRPC. Sent data waits in its buffers only as
// far as the client's window allows: a client that does not read stops the
// statement.
func (s *service) transport() []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name), &s.buffers}),
		grpc.MaxRecvMsgSize(s.opts.MaxMessage),
		grpc.MaxConcurrentStreams(maxStreams),
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

// unary and stream are what every call has around it: who calls, errors,
// panics and the log.
func (s *service) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	defer func() { err = s.settle(ctx, info.FullMethod, err, recover()) }()
	if ctx, err = s.enter(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (s *service) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer func() { err = s.settle(stream.Context(), info.FullMethod, err, recover()) }()
	ctx, err := s.enter(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return next(srv, &callStream{stream, ctx})
}

// callStream is a stream whose context knows the caller.
type callStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements [grpc.ServerStream].
func (c *callStream) Context() context.Context { return c.ctx }
