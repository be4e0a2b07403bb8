package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// large reports whether SPICED_LARGE asks for the tests in full, which take minutes
// and much memory; they run in part without it.
func large() bool { return os.Getenv("SPICED_LARGE") != "" }

// toolProtocols are the ways of a statement to the tool sql, besides its :invoke.
func (p *program) toolProtocols(key string, model *chattest.Server) []sqlProtocol {
	p.t.Helper()
	model.Script(obedient)
	session := p.mcpSession(key)
	return []sqlProtocol{
		{name: "mcp", run: func(ctx context.Context, sql string) outcome { return mcpStatement(ctx, session, sql) }},
		{name: "tool_invoke", run: func(ctx context.Context, sql string) outcome { return p.toolInvoke(ctx, key, sql) }},
		{name: "tool_invoke in SQL", run: func(ctx context.Context, sql string) outcome {
			arguments, err := json.Marshal(map[string]string{"query": sql})
			if err != nil {
				return fault(err)
			}
			return p.httpStatement(ctx, key, "SELECT tool_invoke('sql', '"+strings.ReplaceAll(string(arguments), "'", "''")+"')")
		}},
		{name: "chat", run: func(ctx context.Context, sql string) outcome { return p.chatStatement(ctx, key, sql) }},
	}
}

// obedient is a model that runs what it is asked as a statement, and says the result.
func obedient(r chattest.Request) chattest.Answer {
	if result, ok := r.Results["call_1"]; ok {
		return chattest.Say(chattest.Text("Result: ", result))
	}
	arguments, _ := json.Marshal(map[string]string{"query": r.User})
	return chattest.Say(chattest.Call("call_1", "sql", string(arguments)))
}

// withKey sends a key with requests.
type withKey struct{ key string }

// RoundTrip implements [http.RoundTripper].
func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-API-Key", k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// mcpSession is a session of the official client, until the test ends.
func (p *program) mcpSession(key string) *mcp.ClientSession {
	p.t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: p.url + "/v1/mcp", HTTPClient: &http.Client{Transport: withKey{key}}, DisableStandaloneSSE: true}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(p.t.Context(), transport, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { session.Close() })
	return session
}

func mcpStatement(ctx context.Context, session *mcp.ClientSession, sql string) outcome {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "sql", Arguments: map[string]string{"query": sql}})
	if err != nil {
		return fault(err)
	}
	var text strings.Builder
	for _, c := range result.Content {
		if part, ok := c.(*mcp.TextContent); ok {
			text.WriteString(part.Text)
		}
	}
	if !result.IsError {
		return outcome{}
	}
	return saidOutcome(text.String())
}

// saidOutcome is the outcome of an error that only a text reports.
func saidOutcome(text string) outcome {
	return outcome{codes: []errcode.Code{errcode.Execution}, err: errors.New(text)}
}

func (p *program) toolInvoke(ctx context.Context, key, sql string) outcome {
	return p.invoke(ctx, key, "tool_invoke", map[string]any{"tool_id": "sql", "arguments": map[string]string{"query": sql}})
}

// chatStatement asks the model helper, which must be [obedient].
func (p *program) chatStatement(ctx context.Context, key, sql string) outcome {
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	body := map[string]any{"model": "helper", "messages": []map[string]string{{"role": "user", "content": sql}}}
	status, err := p.exchange(ctx, "POST", "/v1/chat/completions", key, body, &answer)
	switch {
	case err != nil:
		return fault(err)
	case status != http.StatusOK || len(answer.Choices) == 0:
		return fault(fmt.Errorf("status %d and %d choices", status, len(answer.Choices)))
	}
	result, ok := strings.CutPrefix(answer.Choices[0].Message.Content, "Result: ")
	if !ok {
		return fault(fmt.Errorf("the model said %q", answer.Choices[0].Message.Content))
	}
	var object struct{ Error *struct{ Message string } }
	if json.Unmarshal([]byte(result), &object) == nil && object.Error != nil || !json.Valid([]byte(result)) {
		return saidOutcome(result)
	}
	return outcome{}
}

// visits are the statements of honest callers and how long they took, by protocol.
type visits struct {
	stop func() // returns when no statement runs

	mu     sync.Mutex
	took   map[string][]time.Duration
	failed []error
}

// fewest returns the number of statements at the protocol that has answered fewest.
func (v *visits) fewest() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := math.MaxInt
	for _, took := range v.took {
		n = min(n, len(took))
	}
	return n
}

func (v *visits) add(protocol string, took time.Duration, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.took[protocol] = append(v.took[protocol], took)
	if err != nil {
		v.failed = append(v.failed, fmt.Errorf("%s after %s: %w", protocol, took, err))
	}
}

// await waits for n statements at each protocol.
func (v *visits) await(p *program, n int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("to answer another caller %d times at each protocol", n), func() bool { return v.fewest() >= n })
}

// report stops the statements and logs their times. It fails the test if one failed or
// took longer than most.
func (v *visits) report(t *testing.T, most time.Duration) {
	t.Helper()
	v.stop()
	v.mu.Lock()
	defer v.mu.Unlock()
	for protocol, took := range v.took {
		if len(took) == 0 {
			t.Errorf("%s: no statement of another caller was answered", protocol)
			continue
		}
		slices.Sort(took)
		at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(10 * time.Microsecond) }
		longest := took[len(took)-1]
		t.Logf("%s: %d statements of another caller, p50 %s, p95 %s, p99 %s, longest %s", protocol, len(took), at(.5), at(.95), at(.99),
			longest.Round(time.Millisecond))
		if longest > most {
			t.Errorf("%s: another caller waited %s", protocol, longest)
		}
	}
	for i, err := range v.failed {
		if i == 10 {
			t.Errorf("and %d more", len(v.failed)-i)
			break
		}
		t.Errorf("another caller: %v", err)
	}
}

// otherAddress is a second address of this machine. Without keys, another caller connects
// from it. It is nil if the machine has none.
func otherAddress() net.Addr {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		return nil
	}
	l.Close()
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}
}

// visitEvery is the time between the statements of another caller.
const visitEvery = 20 * time.Millisecond

// beside runs statements of another caller at each protocol, one after another, until
// the test ends or they are reported.
func (p *program) beside(key string) *visits {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	v := &visits{took: map[string][]time.Duration{}, stop: sync.OnceFunc(func() { cancel(); callers.Wait() })}
	p.t.Cleanup(v.stop)
	others := p.others(ctx, key)
	for protocol := range others {
		v.took[protocol] = nil
	}
	for protocol, one := range others {
		callers.Go(func() {
			next := time.NewTicker(visitEvery)
			defer next.Stop()
			for ctx.Err() == nil {
				began := time.Now()
				if err := one(); ctx.Err() == nil {
					v.add(protocol, time.Since(began), err)
				}
				select {
				case <-next.C:
				case <-ctx.Done():
				}
			}
		})
	}
	return v
}

// others are connections of another caller, each with a function that runs SELECT 1.
func (p *program) others(ctx context.Context, key string) map[string]func() error {
	p.t.Helper()
	dialer := &net.Dialer{LocalAddr: otherAddress()}
	transport := &http.Transport{DialContext: dialer.DialContext}
	p.t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: patience}
	config, err := pgx.ParseConfig(pgDSN(p, key, "sslmode=disable"))
	if err != nil {
		p.t.Fatal(err)
	}
	config.DialFunc = dialer.DialContext
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close(context.Background()) })
	flight, err := flightsql.NewClient(p.address("flight"), nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		}))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { flight.Close() })
	return map[string]func() error{
		"http": func() error {
			r, err := http.NewRequestWithContext(ctx, "POST", p.url+"/v1/sql", strings.NewReader("SELECT 1 AS a"))
			if err != nil {
				return err
			}
			r.Header.Set("X-API-Key", key)
			r.Header.Set("Cache-Control", "no-cache")
			resp, err := client.Do(r)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			var rows []struct{ A int }
			if err := json.NewDecoder(resp.Body).Decode(&rows); err != nil || len(rows) != 1 || rows[0].A != 1 {
				return fmt.Errorf("status %d, %v, %w", resp.StatusCode, rows, err)
			}
			return nil
		},
		"postgres": func() error {
			var a int
			return conn.QueryRow(ctx, "SELECT 1 AS a").Scan(&a)
		},
		"flight": func() error { return flightStatement(withBearer(ctx, key), flight, "SELECT 1 AS a").err },
	}
}
