package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/test/full"
)

// rudePod has 4 places for statements and two clients, of whom one may take 2
// of them.
const rudePod = `version: v2
kind: Spicepod
name: rude
runtime:
  query: { timeout: %s, max_concurrent_queries: 4, workers: 4 }
  auth:
    api-key:
      principals:
        - { name: honest, key: honest-key-0123456789 }
        - { name: rude, key: rude-key-0123456789ab, limits: { max_concurrent: %d } }
`

const (
	honestKey = "honest-key-0123456789"
	rudeKey   = "rude-key-0123456789ab"
)

// rudeClients is how many there are, a fourth of each kind.
const rudeClients = 50

// A key with a limit cannot keep others from their statements, whatever its
// clients do and however long their statements may run.
func TestRudeClientsOfALimitedKey(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", fmt.Sprintf(rudePod, "10m", 2)), sqlProtocols()...)
	p.rude()
	p.honest()
	// An answer may arrive before its connection is back. A statement whose rows are not
	// read may have ended because others waited for its worker.
	p.eventually("to run no more than the 2 statements that the key may have", func() bool {
		running := p.metric("spiced_engine_statements_running")
		return running == "1" || running == "2"
	})
}

// Without a limit, their statements end with their time limit, and those that wait for
// their reader with ten of them.
func TestRudeClientsEndWithTheirStatements(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", fmt.Sprintf(rudePod, "1s", 0)), sqlProtocols()...)
	p.rude()
	p.eventually("to end their statements", func() bool { return p.metric("spiced_engine_statements_running") == "0" })
	p.honest()
}

// A key without a limit cannot keep others from their statements either: 40 endless
// ones of one key, over HTTP and PostgreSQL, take all slots, and the others run next to
// them.
func TestFloodOfOneKey(t *testing.T) {
	t.Parallel()
	p := start(t, folder(t, "spicepod.yaml", fmt.Sprintf(rudePod, "10m", 0)), sqlProtocols()...)
	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	defer flood.Wait()
	defer cancel()
	for i := range 40 {
		flood.Go(func() {
			if i%2 == 0 {
				p.httpStatement(ctx, rudeKey, endlessCount)
				return
			}
			conn, err := p.dialPostgres(ctx, "rude", rudeKey)
			if err == nil {
				_, _ = conn.Exec(ctx, endlessCount)
				conn.Close(context.Background())
			}
		})
	}
	p.eventually("to have 4 endless statements that run and 36 that wait", func() bool {
		return p.metric("spiced_engine_statements_running") == "4" && p.metric("spiced_engine_statements_waiting") == "36"
	})
	p.honest()
	if got := p.metric("spiced_engine_statements_waiting"); got != "36" {
		t.Errorf("%s wait: an answer came after statements of the flood", got)
	}
}

// endlessCount computes until it is cancelled.
const endlessCount = "SELECT count(*) FROM range(1000000000000) a, range(1000) b"

// honest runs statements that must not fail.
func (p *program) honest() {
	p.t.Helper()
	n := full.Size(5, 20) // at each protocol, next to statements that take all processors
	for _, protocol := range p.protocolsFor("honest", honestKey) {
		for range n {
			ctx, cancel := context.WithTimeout(p.t.Context(), patience)
			if got := protocol.run(ctx, "SELECT count(*) FROM range(1000)"); got.err != nil {
				p.t.Errorf("%s: %s", protocol.name, got)
			}
			cancel()
		}
	}
}

// rude connects clients that stay until the test ends, and waits until each has
// done what it does: sent a statement whose rows it does not read, read some of
// the rows and not the others, sent half a message, or nothing.
func (p *program) rude() {
	p.t.Helper()
	address := p.address("postgres")
	var clients sync.WaitGroup
	for i := range rudeClients {
		clients.Go(func() {
			nc, err := rudeClient(p.t.Context(), address, i%4)
			if err != nil {
				p.t.Errorf("rude client %d: %v", i, err)
				return
			}
			p.t.Cleanup(func() { nc.Close() })
		})
	}
	clients.Wait()
	p.eventually("to run a statement", func() bool { return p.metric("spiced_engine_statements_running") != "0" })
}

func rudeClient(ctx context.Context, address string, kind int) (net.Conn, error) {
	if kind == 0 { // sends nothing, not even who it is
		return net.Dial("tcp", address)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, "postgres://rude:"+rudeKey+"@"+address+"/db?sslmode=disable")
	if err != nil {
		return nil, err
	}
	h, err := conn.PgConn().Hijack()
	if err != nil {
		return nil, err
	}
	switch kind {
	case 1:
		h.Frontend.Send(&pgproto3.Query{String: endlessRows})
	case 2:
		h.Frontend.Send(&pgproto3.Parse{Query: endlessRows})
		h.Frontend.Send(&pgproto3.Bind{})
		h.Frontend.Send(&pgproto3.Execute{MaxRows: 1})
		h.Frontend.Send(&pgproto3.Flush{})
	default:
		_, err = h.Conn.Write([]byte{'Q', 0, 0, 4, 0, 'S', 'E', 'L'}) // of 1,024 bytes
	}
	return h.Conn, errors.Join(err, h.Frontend.Flush())
}
