package postgres

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"
)

// pair returns both ends of a connection of TCP.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}

// TestBulkConn reads answers of all sizes with all sizes of buffers. The server sends a part
// once the one before has been read: no byte is held back for those that follow it.
func TestBulkConn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	raw, server := pair(t)
	c := newBulkConn(raw).(*bulkConn)
	c.SetDeadline(time.Now().Add(time.Minute))
	sent := make([]byte, 6<<20)
	for i := range sent {
		sent[i] = byte(random.Uint32())
	}
	bulky := 0
	for range 20 {
		if _, err := c.Write([]byte{'Q'}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(server, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		answer := sent[:random.IntN(len(sent))]
		for part := answer; len(part) > 0; {
			n := min(len(part), 1+random.IntN([]int{10, 8 << 10, 200 << 10, 2 << 20}[random.IntN(4)]))
			failed := make(chan error, 1)
			go func() {
				_, err := server.Write(part[:n])
				failed <- err
			}()
			var got []byte
			for len(got) < n {
				p := make([]byte, 1+random.IntN([]int{5, 600, 8 << 10, 300 << 10}[random.IntN(4)]))
				read, err := c.Read(p)
				if err != nil {
					t.Fatal(err)
				}
				if c.low > 1 {
					bulky++
				}
				got = append(got, p[:read]...)
			}
			if !bytes.Equal(got, part[:n]) {
				t.Fatalf("%d bytes differ", n)
			}
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
			part = part[n:]
		}
	}
	if bulky == 0 {
		t.Error("no read waited for more bytes")
	}
}

// A deadline, also of the past, ends a read in the middle of a long answer, and the next read
// gets what follows.
func TestBulkConnDeadline(t *testing.T) {
	raw, server := pair(t)
	c := newBulkConn(raw)
	c.SetReadDeadline(time.Now().Add(time.Minute))
	go server.Write(make([]byte, 2*bulkAfter)) //nolint:errcheck // the reader sees it
	if _, err := io.ReadFull(c, make([]byte, 2*bulkAfter)); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now())
	if _, err := c.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := server.Write([]byte("rest")); err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, 4)
	if _, err := io.ReadFull(c, rest); err != nil || string(rest) != "rest" {
		t.Errorf("got %q, %v", rest, err)
	}
	server.Close()
	if n, err := c.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("got %d bytes, %v", n, err)
	}
}
