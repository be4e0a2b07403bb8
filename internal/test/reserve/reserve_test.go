package reserve

import (
	"net"
	"testing"
)

// TestLock: an address is given once until it is unlocked, and not while a server has it.
func TestLock(t *testing.T) {
	one, unlock, err := Lock()
	if err != nil {
		t.Fatal(err)
	}
	if two := Address(t); two == one {
		t.Errorf("%s is given twice", one)
	}
	l, err := net.Listen("tcp", one)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	unlock()
	if three := Address(t); three == one {
		t.Errorf("%s is given while a server listens at it", one)
	}
	if port := Port("127.0.0.1:20417"); port != 20417 {
		t.Errorf("got port %d", port)
	}
}
