package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// slice is the time of a test of all functions.
const slice = 20 * time.Second

func TestFunctionsThatCrashAreListed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	r, err := run(t.Context(), options{seed: 1, time: slice, children: 2, out: io.Discard, log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if r.statements < 100 {
		t.Errorf("only %d statements ran", r.statements)
	}
	for _, line := range r.unlisted() {
		t.Errorf("not in internal/sql/engine/unsafe.txt: %s", line)
	}
}

func TestACrashIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	r, err := run(t.Context(), options{seed: 1, time: slice, only: []string{"json_structure"}, children: 1, out: io.Discard, log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.findings) == 0 || r.findings[0].class != crash || len(r.unlisted()) > 0 {
		t.Errorf("got %+v", r.findings)
	}
}

// TestStatementsDependOnTheSeedOnly makes the same statements twice.
func TestStatementsDependOnTheSeedOnly(t *testing.T) {
	f := &function{name: "f", signatures: []signature{{kind: "scalar", params: []string{"VARCHAR", "ANY"}, variadic: "LIST"}}}
	a, b, other := newGenerator(f, 7), newGenerator(f, 7), newGenerator(f, 8)
	differs := false
	for range 50 {
		sql := a.next().sql
		if again := b.next().sql; sql != again {
			t.Fatalf("got %s, then %s", sql, again)
		}
		differs = differs || sql != other.next().sql
	}
	if !differs {
		t.Error("another seed made the same statements")
	}
}

func TestOnlyNamesFunctions(t *testing.T) {
	if _, err := run(t.Context(), options{only: []string{"getenv"}, children: 1}); err == nil {
		t.Error("a function that is refused was accepted")
	}
}

// TestHonestRequestsThatFail: the load fails with the first of them, or with the process.
func TestHonestRequestsThatFail(t *testing.T) {
	running, ended := make(chan struct{}), make(chan struct{})
	close(ended)
	took := map[string][]time.Duration{"http": {time.Millisecond}}
	for name, c := range map[string]struct {
		load   *load
		server *server
		wrong  bool
	}{
		"all answered":        {&load{took: took}, &server{ended: running}, false},
		"one failed":          {&load{took: took, failed: []error{io.EOF}}, &server{ended: running}, true},
		"the process is gone": {&load{took: took}, &server{ended: ended, err: io.EOF}, true},
	} {
		if err := c.load.report(io.Discard, c.server); (err != nil) != c.wrong {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
