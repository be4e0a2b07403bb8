//go:build !linux

package postgres

import "net"

// newBulkConn returns c: without SO_RCVLOWAT each part of an answer is read as it comes.
func newBulkConn(c net.Conn) net.Conn { return c }
