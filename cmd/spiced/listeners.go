package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"github.com/spiced-sql/spiced/sqlapi"
)

// endpoint is a listener and the server on it.
type endpoint struct {
	name, scheme string
	listener     net.Listener
	serve        func(net.Listener) error
	shutdown     func(context.Context) error // lets running requests end
	close        func()
}

// listener opens an address. One that other machines can reach needs keys, or
// --allow-unauthenticated.
func (s *server) listener(flag, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s must be host:port, got %q: %w", flag, address, err)}
	}
	if !isLoopback(host) && !s.Keys().Enabled() && !s.flags.allowUnauthenticated {
		return nil, fmt.Errorf("%s %s can be reached from other machines and no keys are configured: listen on 127.0.0.1, "+
			"add keys under runtime.auth.api-key, or add --allow-unauthenticated", flag, address)
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %w", flag, takenError(address))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return listener, nil
}

// takenError is an address that is in use.
type takenError string

func (e takenError) Error() string {
	return string(e) + " is in use: choose another address, or port 0 for any"
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// openHTTP opens an HTTP endpoint, encrypted if there is a certificate.
func (s *server) openHTTP(name, flag, address string, handler http.Handler) error {
	listener, err := s.listener(flag, address)
	if err != nil {
		return err
	}
	listener = sqlapi.Listener(listener)
	h := sqlapi.NewServer(handler, s.log)
	e := endpoint{name: name, scheme: "http", listener: listener, serve: h.Serve, shutdown: h.Shutdown, close: func() {
		h.Close()
	}}
	if s.tls != nil {
		h.TLSConfig = s.tls.config()
		e.scheme, e.serve = "https", func(l net.Listener) error { return h.ServeTLS(l, "", "") }
	}
	s.endpoints = append(s.endpoints, e)
	return nil
}
