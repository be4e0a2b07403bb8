package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"github.com/spiced-sql/spiced/sqlapi"
)

// door is a listener with what answers there.
type door struct {
	name, scheme string
	listener     net.Listener
	serve        func(net.Listener) error
	shutdown     func(context.Context) error // lets what runs end
	close        func()
}

// listener opens an address. One that other machines reach needs keys, or the
// word of the one who starts it.
func (s *server) listener(flag, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s takes host:port, not %q: %w", flag, address, err)}
	}
	if !isLoopback(host) && !s.runtime.Keys().Enabled() && !s.flags.allowUnauthenticated {
		return nil, fmt.Errorf("%s %s can be reached from other machines and no keys are configured: listen on 127.0.0.1, add keys under runtime.auth.api-key, or add --allow-unauthenticated", flag, address)
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %s is in use: choose another address, or port 0 for any", flag, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return listener, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// openHTTP opens a door of HTTP, encrypted if there is a certificate.
func (s *server) openHTTP(name, flag, address string, handler http.Handler) error {
	listener, err := s.listener(flag, address)
	if err != nil {
		return err
	}
	h := sqlapi.NewServer(handler, s.log)
	d := door{name: name, scheme: "http", listener: listener, serve: h.Serve, shutdown: h.Shutdown, close: func() { h.Close() }}
	if s.tls != nil {
		h.TLSConfig = s.tls.config()
		d.scheme, d.serve = "https", func(l net.Listener) error { return h.ServeTLS(l, "", "") }
	}
	s.doors = append(s.doors, d)
	return nil
}

// tlsConfig is what doors encrypt with; nil: they don't.
func (s *server) tlsConfig() *tls.Config {
	if s.tls == nil {
		return nil
	}
	return s.tls.config()
}
