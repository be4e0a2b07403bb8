package fault

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
)

// Certificate returns why the certificate of a server was refused, or why both could not
// agree on TLS; "" for other errors.
func Certificate(err error) string {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var alert *net.OpError
	switch {
	case errors.As(err, &verification):
		return verification.Err.Error()
	case errors.As(err, &authority):
		return authority.Error()
	case errors.As(err, &host):
		return host.Error()
	case errors.As(err, &invalid):
		return invalid.Error()
	// what package tls names an alert
	case errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error"):
		return alert.Err.Error()
	}
	return ""
}
