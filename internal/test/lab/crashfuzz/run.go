package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// The classes of findings.
const (
	crash        = engine.UnsafeCrash
	crashVariant = engine.UnsafeCrashVariant
	invalidates  = engine.UnsafeInvalidates
	hang         = engine.UnsafeHang
	memoryClass  = engine.UnsafeMemory
)

// mostMemory is the memory of one statement, above which it counts as unbounded.
const mostMemory = 768 << 20

// mostShown is how many bytes of a statement are printed.
const mostShown = 2_000

// A function has its turn with this many statements.
const turn = 8

// mostRepeats is how many slow statements, or of a known class, end the turns of a function.
const mostRepeats = 8

type options struct {
	seed     uint64
	time     time.Duration
	only     []string
	children int
	verbose  bool
	over     bool // see over.go
	out, log io.Writer
}

// finding is a statement that shows that a function is unsafe.
type finding struct{ name, class, sql string }

// String is the finding as a line of the list.
func (f finding) String() string { return fmt.Sprintf("%s %s # %s\n", f.name, f.class, f.sql) }

type result struct {
	builtins   *engine.Builtins
	functions  int
	statements int
	findings   []finding
}

// unlisted returns the lines of findings that are not in the list. Hangs and memory
// depend on the machine and its load, crashes by VARIANT on stray memory.
func (r *result) unlisted() []string {
	var lines []string
	for _, f := range r.findings {
		listed := r.builtins.Unsafe(f.name)
		if _, target, ok := strings.Cut(f.name, "cast to "); ok && strings.Contains(target, "variant") {
			listed = engine.UnsafeCast("variant") // at any depth, by CAST and TRY_CAST
		}
		if (f.class == crash || f.class == invalidates) && !slices.Contains(listed, f.class) && !slices.Contains(listed, crash) {
			lines = append(lines, f.String())
		}
	}
	slices.Sort(lines)
	return lines
}

// subject is a function while it is tested.
type subject struct {
	*generator
	found   map[string]bool // classes
	repeats int             // statements that were slow, or of a class that was found before
}

// done reports whether there is nothing more to learn, or all of it was tried.
func (s *subject) done(forever bool) bool {
	return s.found[crash] || s.repeats > mostRepeats || len(s.sweeps) == 0 && (!forever || len(s.f.whole) > 0)
}

func run(ctx context.Context, o options) (*result, error) {
	db, err := openDB(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	functions, err := loadFunctions(ctx, db)
	if err != nil {
		return nil, err
	}
	functions = append(functions, append(constructs(), statements()...)...)
	for _, name := range o.only {
		if !slices.ContainsFunc(functions, func(f *function) bool { return f.is(name) }) {
			return nil, fmt.Errorf("-only: statements may not call a function %q", name)
		}
	}
	if o.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.time)
		defer cancel()
	}
	r := &result{builtins: db.Builtins()}
	var queue []*subject
	for _, f := range functions {
		if len(o.only) == 0 || slices.ContainsFunc(o.only, f.is) {
			queue = append(queue, &subject{generator: newGenerator(f, o.seed), found: map[string]bool{}})
		}
	}
	r.functions = len(queue)
	w := &work{o: o, queue: queue, result: r}
	var wait sync.WaitGroup
	errs := make(chan error, o.children)
	for range o.children {
		wait.Go(func() { errs <- w.drain(ctx) })
	}
	wait.Wait()
	for range o.children {
		if err := <-errs; err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	return r, nil
}

// work is the state that the children share.
type work struct {
	o      options
	mu     sync.Mutex
	queue  []*subject
	result *result
}

func (w *work) take() *subject {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil
	}
	s := w.queue[0]
	w.queue = w.queue[1:]
	return s
}

// giveBack puts a subject to the end of the queue, unless it is done.
func (w *work) giveBack(s *subject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !s.done(w.o.time > 0) {
		w.queue = append(w.queue, s)
	}
}

// drain runs statements until no subject is left or the time is over.
func (w *work) drain(ctx context.Context) error {
	t := &tester{log: io.Discard}
	if w.o.verbose {
		t.log = w.o.log
	}
	defer t.stop()
	for s := w.take(); s != nil && ctx.Err() == nil; s = w.take() {
		n := 0
		for ; n < turn && ctx.Err() == nil && !s.done(true); n++ {
			f, err := t.test(ctx, s)
			if err != nil {
				return err
			}
			if f != nil && ctx.Err() == nil {
				w.report(*f)
			}
		}
		w.mu.Lock()
		w.result.statements += n
		w.mu.Unlock()
		w.giveBack(s)
	}
	return nil
}

func (w *work) report(f finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.findings = append(w.result.findings, f)
	fmt.Fprint(w.o.out, f)
}

// tester runs statements in a child, which it starts again when it has ended.
type tester struct {
	log   io.Writer
	child *child
}

func (t *tester) stop() {
	if t.child != nil {
		_ = t.child.close()
		t.child = nil
	}
}

// run runs a statement and returns its class, "" for a harmless one.
func (t *tester) run(ctx context.Context, r request) (a answer, class string, err error) {
	if t.child == nil {
		if t.child, err = startChild(ctx); err != nil {
			return a, "", err
		}
	}
	a, class, ok := t.child.run(r)
	if !ok && class == "" {
		return a, "", fmt.Errorf("a child ended: %s", t.child.firstLine())
	}
	if !ok || class != "" {
		t.stop()
	}
	return a, class, nil
}

// fresh runs a statement of a caller in a child that has run nothing else.
func (t *tester) fresh(ctx context.Context, sql string) (string, error) {
	t.stop()
	a, class, err := t.run(ctx, request{SQL: sql, Guard: true})
	if a.Error != "" {
		fmt.Fprintf(t.log, "%.200s: %.300s\n", sql, a.Error)
	}
	return class, err
}

// test runs the next statement of s and returns what it shows, if that is new.
func (t *tester) test(ctx context.Context, s *subject) (*finding, error) {
	next := s.next()
	variant := usesVariant(next)
	if variant && s.found[crashVariant] {
		return nil, nil
	}
	if s.found[hang] && slices.ContainsFunc(next.args, large) && !s.chance(4) {
		return nil, nil // it takes seconds
	}
	a, class, err := t.run(ctx, request{SQL: next.sql, Guard: len(s.f.whole) > 0})
	if a.Slow {
		s.repeats++
	}
	if err != nil || class == "" {
		return nil, err
	}
	if class == hang && len(s.f.whole) > 0 { // planning cannot be interrupted
		s.repeats = mostRepeats + 1
		fmt.Fprintf(t.log, "%s: hang: %.300s … (%d bytes)\n", s.f.name, next.sql, len(next.sql))
		return nil, nil
	}
	if s.found[class] {
		s.repeats++
		return nil, nil
	}
	sql, why, err := t.confirm(ctx, s, next, class)
	if err != nil {
		return nil, err
	}
	if sql == "" {
		s.repeats++
		fmt.Fprintf(t.log, "%s: %s not confirmed (%s): %.300s\n", s.f.name, class, why, next.sql)
		return nil, nil
	}
	if class == crash && usesVariant(try{args: []string{sql}}) && !strings.Contains(s.f.name, "variant") {
		class = crashVariant
	}
	s.found[class] = true
	if len(sql) > mostShown {
		sql = fmt.Sprintf("%s … %s (%d bytes)", sql[:mostShown*3/4], sql[len(sql)-mostShown/4:], len(sql))
	}
	return &finding{s.f.name, class, sql}, nil
}

// usesVariant reports whether a value of the statement is a VARIANT.
func usesVariant(n try) bool { return strings.Contains(strings.Join(n.args, " "), "::VARIANT") }
