package flightsql

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// The metadata that says who calls, and on whose behalf.
const (
	metaAuthorization = "authorization"
	metaKey           = "x-api-key"
	metaRequestID     = "x-request-id"
	metaUser          = "x-spiced-user"
	metaSpace         = "x-spiced-space"
	metaSession       = "x-spiced-session"
	metaAgent         = "x-spiced-agent"
	metaTypes         = "x-spiced-arrow-types"
	metaAutocommit    = "x-spiced-autocommit"
	metaUserAgent     = "user-agent"
)

// client is who makes a call.
type client struct {
	caller.Caller
	principal *auth.Principal
	remote    string
	types     format.ArrowTypes // of results and parameters
	java      bool              // it is written in Java
	adbc      bool              // it is ADBC's driver
	silent    bool              // it may be in a transaction that it does not report
}

type clientKey struct{}

// clientOf returns who made the call that ctx belongs to.
func clientOf(ctx context.Context) *client {
	c, _ := ctx.Value(clientKey{}).(*client)
	return c
}

// handshakeMethod is the name of Handshake for gRPC.
const handshakeMethod = "/arrow.flight.protocol.FlightService/Handshake"

// open are the methods that need no key: Handshake checks its own.
var open = map[string]bool{
	healthpb.Health_Check_FullMethodName: true,
	healthpb.Health_List_FullMethodName:  true,
	healthpb.Health_Watch_FullMethodName: true,
	handshakeMethod:                      true,
}

// enter lets a call in and says in its context who makes it.
func (s *service) enter(ctx context.Context) (context.Context, error) {
	meta, _ := metadata.FromIncomingContext(ctx)
	principal, err := s.principal(ctx, s.login(meta))
	if err != nil {
		return ctx, err
	}
	asked, err := askedCaller(meta)
	if err != nil {
		return ctx, err
	}
	types, err := arrowTypes(meta)
	if err != nil {
		return ctx, err
	}
	silent, err := silentTransactions(meta)
	if err != nil {
		return ctx, err
	}
	asked.Address = caller.Address(remoteOf(ctx))
	who, err := principal.Caller(asked)
	if err != nil {
		s.audit(ctx, audit.Request, principal.Name, audit.Denied)
		return ctx, err
	}
	return context.WithValue(ctx, clientKey{}, &client{
		who, principal, remoteOf(ctx), types, inJava(meta),
		strings.HasPrefix(first(meta, metaUserAgent), "ADBC "), silent,
	}), nil
}

// connOf returns the connection of a call, or nil.
func connOf(ctx context.Context) *listen.Conn {
	if p, ok := peer.FromContext(ctx); ok {
		return listen.Of(p.Addr)
	}
	return nil
}

func remoteOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// login is a key and the user name that came with it, if any.
type login struct{ User, Key string }

// login reads a key, as x-api-key, Bearer or Basic, or the token that
// Handshake gave for one. Both fields are empty where there is none.
func (s *service) login(meta metadata.MD) login {
	if key := first(meta, metaKey); key != "" {
		return login{Key: key}
	}
	scheme, rest, _ := strings.Cut(first(meta, metaAuthorization), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(scheme) {
	case "bearer":
		if c, ok := s.openToken(rest); ok {
			return c
		}
		return login{Key: rest}
	case "basic":
		return basic(rest)
	}
	return login{}
}

func first(meta metadata.MD, key string) string {
	if values := meta.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// basic reads user:key in base64; clients of Arrow leave the padding out.
func basic(text string) login {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return login{}
	}
	user, key, _ := strings.Cut(string(raw), ":")
	return login{user, key}
}

// principal is who holds the key.
func (s *service) principal(ctx context.Context, c login) (*auth.Principal, error) {
	keys := s.opts.Keys()
	if !keys.Enabled() {
		return keys.Anonymous(), nil
	}
	if c.Key == "" {
		return nil, s.unauthenticated(ctx, "a key is needed")
	}
	p, ok := keys.LookupFor(c.User, c.Key)
	if !ok {
		connOf(ctx).Pause(ctx, keys.Failed(remoteOf(ctx)))
		return nil, s.unauthenticated(ctx, "the key is not known")
	}
	return p, nil
}

// unauthenticated records that a caller is refused.
func (s *service) unauthenticated(ctx context.Context, why string) error {
	s.audit(ctx, audit.Login, "", audit.Unauthorized)
	return status.Error(codes.Unauthenticated, why+"; send it as authorization: Bearer, or by Handshake as a password")
}

// audit records a call that is not let through.
func (s *service) audit(ctx context.Context, kind audit.Kind, principal, outcome string) {
	s.opts.Audit.Record(ctx, audit.Entry{
		Kind: kind, Protocol: string(query.Flight), Principal: principal, Remote: remoteOf(ctx), Outcome: outcome,
	})
}

// place takes a place for a statement within the limits of its principal; end
// gives it back.
func (s *service) place(ctx context.Context, req query.Request) (end func(), err error) {
	end, err = clientOf(ctx).principal.Begin()
	if err != nil {
		s.opts.Query.Denied(ctx, req, audit.RateLimited)
	}
	return end, err
}

// room takes a place for what is no statement of its own: it counts to what its
// principal does at once, and not to its rate.
func (s *service) room(ctx context.Context) (leave func(), err error) {
	principal := clientOf(ctx).principal
	leave, err = principal.Enter()
	if err != nil {
		s.audit(ctx, audit.Request, principal.Name, audit.RateLimited)
	}
	return leave, err
}

// askedCaller is on whose behalf a call wants to be, by its metadata.
func askedCaller(meta metadata.MD) (caller.Caller, error) {
	s := caller.Caller{Protocol: caller.SQL}
	for _, word := range [...]struct {
		key   string
		value *string
	}{
		{metaRequestID, &s.RequestID},
		{metaUser, &s.UserID},
		{metaSpace, &s.SpaceID},
		{metaSession, &s.SessionID},
		{metaAgent, &s.Agent},
	} {
		*word.value = first(meta, word.key)
		if err := caller.CheckWord(*word.value); err != nil {
			return s, invalid("%s %s", word.key, err)
		}
	}
	if s.RequestID == "" {
		s.RequestID = rand.Text()
	}
	return s, nil
}

// inJava reports whether the client is written in Java. Flight SQL's driver for JDBC has no
// user agent of its own.
func inJava(meta metadata.MD) bool { return strings.HasPrefix(first(meta, metaUserAgent), "grpc-java") }

// arrowTypes reads the types that a client asks for. Without the header, clients in Java
// get plain ones: the driver for JDBC reads unsigned integers as signed, and dictionaries
// as their indexes.
func arrowTypes(meta metadata.MD) (format.ArrowTypes, error) {
	switch asked := first(meta, metaTypes); {
	case asked == "plain", asked == "" && inJava(meta):
		return format.Plain, nil
	case asked == "exact", asked == "":
		return format.Exact, nil
	default:
		return format.Exact, invalid("%s must be plain or exact, got %q", metaTypes, asked)
	}
}

// silentTransactions reports whether a client may believe that it is in a transaction
// without having begun one: the driver for JDBC takes setAutoCommit(false), commit and
// rollback, and sends nothing. The header says that it is not.
func silentTransactions(meta metadata.MD) (bool, error) {
	switch asked := first(meta, metaAutocommit); asked {
	case "true":
		return false, nil
	case "":
		return inJava(meta), nil
	default:
		return false, invalid("%s must be true, got %q: what it begins no transaction for is committed alone",
			metaAutocommit, asked)
	}
}

// errSilent is the error of a write that its client may believe it can roll back.
var errSilent = status.Error(codes.FailedPrecondition, "writes are committed at once, and Flight SQL's driver for "+
	"JDBC does not report "+
	"setAutoCommit(false) or rollback() to the server; set "+metaAutocommit+
	"=true in the URL, or as metadata, if that is what you want, or use PostgreSQL's driver")

// anonymousToken is what Handshake gives where no keys are needed. It means
// nothing.
const anonymousToken = "anonymous"

// Handshake gives a token for the key in the metadata, to be sent as
// authorization: Bearer. The token is the key, sealed: it is as good as the
// key, and no longer than it, for a day.
func (s *service) Handshake(stream pb.FlightService_HandshakeServer) error {
	ctx := stream.Context()
	meta, _ := metadata.FromIncomingContext(ctx)
	c := s.login(meta)
	if _, err := s.principal(ctx, c); err != nil {
		return err
	}
	token := anonymousToken
	if s.opts.Keys().Enabled() {
		token = s.newToken(c)
	}
	return stream.SendHeader(metadata.Pairs(metaAuthorization, "Bearer "+token))
}

func (s *service) newToken(c login) string {
	data, _ := json.Marshal(c) // two strings: it cannot fail
	return base64.RawURLEncoding.EncodeToString(s.sealer.seal(sealedToken, "", s.now().Add(tokenLife), data))
}

func (s *service) openToken(token string) (c login, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return c, false
	}
	data, ok := s.sealer.open(sealedToken, "", s.now(), sealed)
	if !ok {
		return c, false
	}
	return c, json.Unmarshal(data, &c) == nil
}
