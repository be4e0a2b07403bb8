// Package reserve gives tests the addresses of servers that run in other processes, or that
// end and start again.
//
//	address := reserve.Address(t) // 127.0.0.1:20417
package reserve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/wait"
)

// The ports that are given. Linux chooses higher ones for listeners at port 0 and for outgoing
// connections.
const first, end = 20000, 32000

// Address reserves an address that no other test gets until t ends, in no process.
func Address(t testing.TB) string {
	t.Helper()
	address, unlock, err := Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unlock)
	return address
}

// Listen listens at an address at which the process may have listened before: a process that
// is being started has the descriptors of this one for a moment, with the old listener.
func Listen(t testing.TB, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	for end := time.Now().Add(wait.Limit); err != nil; l, err = net.Listen("tcp", address) {
		if time.Now().After(end) {
			t.Fatalf("listen at %s: %v", address, err)
		}
		<-time.After(10 * time.Millisecond)
	}
	return l
}

// Port is the port of an address.
func Port(address string) int {
	_, text, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text)
	return port
}

// Lock reserves an address that no other test gets until unlock is called, in no process:
// the lock of a file keeps it.
func Lock() (address string, unlock func(), err error) {
	dir := filepath.Join(os.TempDir(), "spiced-test-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", nil, err
	}
	start := os.Getpid() * 16
	for i := range end - first {
		port := first + (start+i)%(end-first)
		file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			return "", nil, err
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			if l, err := net.Listen("tcp", address); err == nil {
				return address, func() { file.Close() }, l.Close()
			}
		}
		file.Close()
	}
	return "", nil, errors.New("no port is free")
}
