package sqlapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// dialBubble serves h as NewServer does, over one connection in a bubble, where
// an hour is no time.
func dialBubble(t *testing.T, h http.Handler, protocols *http.Protocols) net.Conn {
	here, there := net.Pipe()
	server := NewServer(h, slog.New(slog.DiscardHandler))
	server.Protocols = protocols
	go server.Serve(&oneConn{conn: there, closed: make(chan struct{})})
	t.Cleanup(func() { server.Close() })
	return here
}

// Bodies that no handler reads are given up as well, and the request is
// answered.
func TestBodiesThatNobodyReadsAreGivenUp(t *testing.T) {
	guard := Guard{Keys: keyring(t, "{ enabled: true, keys: [0123456789abcdef:rw] }")}
	f := serve(t, func(o *Options) {
		o.Guard = guard
		o.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				if _, err := io.ReadAll(r.Body); err != nil {
					w.WriteHeader(http.StatusBadRequest)
				}
			}
		})
	})
	metrics := guard.Protect(f.metrics.Handler())
	const key = "X-API-Key: 0123456789abcdef\r\n"
	for _, c := range []struct {
		line, header string
		h            http.Handler
		want         int
	}{
		{"GET /health", "", f.Config.Handler, 200},
		{"POST /nosuch", "", f.Config.Handler, 401},
		{"POST /nosuch", key, f.Config.Handler, 404},
		{"POST /v1/sql", "X-API-Key: wrong\r\n", f.Config.Handler, 401},
		{"POST /v1/sql", key + "Content-Encoding: br\r\n", f.Config.Handler, 415},
		{"GET /v1/status", key, f.Config.Handler, 200},
		{"DELETE /v1/results/r_x", key, f.Config.Handler, 404},
		{"POST /v1/mcp", key, f.Config.Handler, 400},
		{"GET /v1/mcp", key, f.Config.Handler, 200},
		{"GET /metrics", "", metrics, 401},
		{"GET /metrics", key, metrics, 200},
	} {
		for _, length := range []string{"Content-Length: 100", "Transfer-Encoding: chunked"} {
			synctest.Test(t, func(t *testing.T) {
				conn := dialBubble(t, c.h, nil)
				fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n\r\n", c.line, c.header, length)
				conn.SetReadDeadline(time.Now().Add(2 * defaultBodyTimeout))
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatalf("%s, %s: %v", c.line, length, err)
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != c.want || !res.Close {
					t.Errorf("%s, %s: %d, closed: %t, %v; want %d", c.line, length, res.StatusCode, res.Close, err, c.want)
				}
			})
		}
	}
}

// Clients that do not read are disconnected, whoever answers them.
func TestClientsThatDoNotReadAreDisconnected(t *testing.T) {
	guard := Guard{AllowedOrigins: []string{"*"}}
	f := serve(t, func(o *Options) { o.Guard = guard })
	for request, h := range map[string]http.Handler{
		"GET /health":  f.Config.Handler,
		"GET /nosuch":  f.Config.Handler,
		"OPTIONS /":    f.Config.Handler,
		"GET /metrics": guard.Protect(f.metrics.Handler()),
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := dialBubble(t, h, nil)
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nOrigin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n\r\n", request)
			time.Sleep(2 * defaultWriteTimeout)
			if n, err := conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("%s: read %d bytes after %s, %v", request, n, 2*defaultWriteTimeout, err)
			}
		})
	}
}

// The limit on bodies does not hold for answers, whoever reads the body.
func TestAnswersTakeLongerThanBodies(t *testing.T) {
	var http1, http2 http.Protocols
	http1.SetHTTP1(true)
	http2.SetUnencryptedHTTP2(true)
	for _, protocols := range []*http.Protocols{&http1, &http2} {
		for _, reads := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				conn := dialBubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if reads {
						io.ReadAll(r.Body)
					}
					for range 3 {
						fmt.Fprintln(w, context.Cause(r.Context()))
						http.NewResponseController(w).Flush()
						time.Sleep(unreadTimeout)
					}
				}), protocols)
				transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
				defer transport.CloseIdleConnections()
				client := http.Client{Transport: transport}
				for range 2 { // over the same connection
					res, err := client.Post("http://localhost/", "text/plain", strings.NewReader("SELECT 1"))
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(res.Body)
					if err != nil || string(body) != strings.Repeat("<nil>\n", 3) {
						t.Errorf("%v, read: %t: %q %v", protocols, reads, body, err)
					}
				}
			})
		}
	}
}

// A body that is read has more time than one that is not.
func TestBodiesThatAreReadHaveTime(t *testing.T) {
	f := serve(t, func(o *Options) {
		o.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			time.Sleep(2 * defaultBodyTimeout)
			fmt.Fprintln(w, string(body), err, context.Cause(r.Context()))
		})
	})
	for path, want := range map[string]string{PathMCP: "SELECT <nil> <nil>", "/v1/sql": "Invalid JSON"} {
		synctest.Test(t, func(t *testing.T) {
			conn := dialBubble(t, f.Config.Handler, nil)
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 6\r\n\r\nSEL", path)
			time.Sleep(2 * unreadTimeout)
			fmt.Fprint(conn, "ECT")
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(path, err)
			}
			if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), want) {
				t.Errorf("%s: %s %v, want %s", path, body, err, want)
			}
		})
	}
}
