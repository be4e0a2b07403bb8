package listen_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/listen"
)

// fake is a listener whose connections come from any address.
type fake struct {
	net.Listener
	fail error // of the next Accept
	next *fakeConn
}

func (f *fake) Accept() (net.Conn, error) {
	if err := f.fail; err != nil {
		f.fail = nil
		return nil, err
	}
	return f.next, nil
}

type fakeConn struct {
	net.Conn
	addr   string
	closed bool
}

func (c *fakeConn) Network() string            { return "tcp" }
func (c *fakeConn) String() string             { return c.addr }
func (c *fakeConn) RemoteAddr() net.Addr       { return c }
func (c *fakeConn) Read(p []byte) (int, error) { return len(p), nil }
func (c *fakeConn) Close() error               { c.closed = true; return nil }

// harness accepts connections of a table.
type harness struct {
	*testing.T
	fake fake
	l    net.Listener
}

func newHarness(t *testing.T, l listen.Limits) *harness {
	h := &harness{T: t}
	h.l = listen.New(l).Listener(&h.fake)
	return h
}

// accept returns what the listener gives for a connection from host, and the
// connection below it.
func (h *harness) accept(host string) (*listen.Conn, *fakeConn) {
	h.Helper()
	below := &fakeConn{addr: net.JoinHostPort(host, "1")}
	h.fake.next = below
	nc, err := h.l.Accept()
	if err != nil {
		h.Fatal(err)
	}
	return listen.Of(nc.RemoteAddr()), below
}

// admit admits a connection for a caller.
func (h *harness) admit(c *listen.Conn, caller string) (leave func()) {
	h.Helper()
	leave, err := c.Admit(caller)
	if err != nil {
		h.Fatal(err)
	}
	return leave
}

// want checks which connections are closed.
func (h *harness) want(what string, closed, open []*fakeConn) {
	h.Helper()
	for i, c := range closed {
		if !c.closed {
			h.Errorf("%s: connection %d of those to be closed is open", what, i)
		}
	}
	for i, c := range open {
		if c.closed {
			h.Errorf("%s: connection %d of those to be open is closed", what, i)
		}
	}
}

func TestPendingConnectionsMakeRoom(t *testing.T) {
	h := newHarness(t, listen.Limits{Pending: 4})
	_, a1 := h.accept("10.0.0.1")
	_, b1 := h.accept("10.0.0.2")
	_, b2 := h.accept("10.0.0.2")
	_, b3 := h.accept("10.0.0.2") // half of 4
	h.want("a full address", []*fakeConn{b1}, []*fakeConn{a1, b2, b3})
	_, c1 := h.accept("10.0.0.3")
	_, d1 := h.accept("10.0.0.4")
	h.want("a full table", []*fakeConn{a1}, []*fakeConn{b2, b3, c1, d1})
}

// What a client sends makes its connection the last to be closed.
func TestHeardConnectionsAreClosedLater(t *testing.T) {
	h := newHarness(t, listen.Limits{Pending: 4})
	a, a1 := h.accept("10.0.0.1")
	_, a2 := h.accept("10.0.0.1")
	if _, err := a.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_, a3 := h.accept("10.0.0.1")
	h.want("a silent one", []*fakeConn{a2}, []*fakeConn{a1, a3})
	_, a4 := h.accept("10.0.0.1")
	h.want("the oldest", []*fakeConn{a1}, []*fakeConn{a3, a4})
}

func TestAdmittedConnectionsAreNotPending(t *testing.T) {
	h := newHarness(t, listen.Limits{Pending: 2, Connections: 10})
	a, a1 := h.accept("10.0.0.1")
	leave := h.admit(a, "ann")
	var last *fakeConn
	for range 100 {
		_, last = h.accept("10.0.0.1")
	}
	leave() // idle is not pending
	leave()
	for range 100 {
		_, last = h.accept("10.0.0.1")
	}
	h.want("silent connections", nil, []*fakeConn{a1, last})
	b, _ := h.accept("10.0.0.1")
	for range 2 {
		h.accept("10.0.0.1")
	}
	if _, err := b.Admit("ann"); err == nil || !strings.Contains(err.Error(), "was closed") {
		t.Errorf("a connection that was closed for another: %v", err)
	}
}

func TestAdmittedConnectionsHaveBounds(t *testing.T) {
	h := newHarness(t, listen.Limits{Connections: 3, PerCaller: 2, Settings: "runtime.x"})
	refused := func(caller, want string) {
		t.Helper()
		c, _ := h.accept("10.0.0.1")
		defer c.Close()
		var full *listen.FullError
		if _, err := c.Admit(caller); !errors.As(err, &full) || full.Message != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	a, a1 := h.accept("10.0.0.1")
	b, b1 := h.accept("10.0.0.1")
	leave := h.admit(a, "ann")
	h.admit(b, "ann")
	refused("ann", `principal "ann" has 2 connections already, the limit of runtime.x.max_connections_per_caller`)
	c, c1 := h.accept("10.0.0.1")
	h.admit(c, "")
	refused("bob", "there are 3 connections already, the limit of runtime.x.max_connections")
	leave()
	d, d1 := h.accept("10.0.0.1")
	h.admit(d, "")
	h.want("an idle connection", []*fakeConn{a1}, []*fakeConn{b1, c1, d1})
	refused("", "address 10.0.0.1 has 2 connections already, the limit of runtime.x.max_connections_per_caller")
	d.Close()
	e, _ := h.accept("10.0.0.1")
	h.admit(e, "")
}

// A connection in use by several requests is not idle before the last has ended.
func TestUses(t *testing.T) {
	h := newHarness(t, listen.Limits{Connections: 1, PerCaller: 1})
	a, a1 := h.accept("10.0.0.1")
	first, second := h.admit(a, "ann"), h.admit(a, "bob")
	first()
	b, b1 := h.accept("10.0.0.1")
	if _, err := b.Admit("ann"); err == nil {
		t.Error("a connection in use made room")
	}
	second()
	h.admit(b, "ann")
	h.want("idle", []*fakeConn{a1}, []*fakeConn{b1})
}

func TestPendingConnectionsHaveADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, listen.Limits{Wait: time.Second})
		_, silent := h.accept("10.0.0.1")
		a, admitted := h.accept("10.0.0.1")
		h.admit(a, "ann")()
		time.Sleep(time.Minute)
		synctest.Wait()
		h.want("a minute", []*fakeConn{silent}, []*fakeConn{admitted})
	})
}

// Without a file for another connection, a pending one makes room.
func TestTooManyOpenFiles(t *testing.T) {
	h := newHarness(t, listen.Limits{})
	_, silent := h.accept("10.0.0.1")
	h.fake.fail = syscall.EMFILE
	_, later := h.accept("10.0.0.1")
	h.want("another", []*fakeConn{silent}, []*fakeConn{later})
	h.fake.fail = syscall.ECONNABORTED
	if _, err := h.l.Accept(); !errors.Is(err, syscall.ECONNABORTED) {
		t.Errorf("got %v", err)
	}
}

func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, listen.Limits{})
		c, _ := h.accept("10.0.0.1")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		c.Pause(ended, time.Hour)
		c.Pause(t.Context(), 0)
		c.Close()
		c.Pause(t.Context(), time.Hour)
		if took := time.Since(began); took > 0 {
			t.Errorf("waited %s", took)
		}
		c = nil
		if c.Pause(t.Context(), time.Hour); time.Since(began) != time.Hour {
			t.Errorf("waited %s, want 1h", time.Since(began))
		}
	})
}

func TestAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.1:80":           "10.0.0.1",
		"[::ffff:10.0.0.1]:80":  "10.0.0.1",
		"[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1":      "fe80::/64",
		"[::1]:1":               "::/64",
		"pipe":                  "pipe",
	} {
		if got := listen.Address(remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}
