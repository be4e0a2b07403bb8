package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// DefaultURL is the default address of a server.
const DefaultURL = "http://127.0.0.1:8090"

// Limits of a session.
const (
	maxStatement = 16 << 20               // bytes per statement; the server's limit is lower
	maxInclude   = 16                     // scripts that include each other
	maxErrorBody = 64 << 10               // bytes read of an error response
	maxNames     = 20_000                 // names of each kind for completion
	maxHistory   = 1000                   // statements in the history
	namesAge     = 30 * time.Second       // after which the names are loaded again
	namesWait    = 200 * time.Millisecond // how long completion waits for them
)

// Options configures [Run] and [Exec].
type Options struct {
	Client  *http.Client               // nil: a plain one
	URL     string                     // base address of the server; "": [DefaultURL]
	Header  http.Header                // sent with every request, for example X-API-Key
	In      io.Reader                  // the script; not read when Interactive
	Out     io.Writer                  // results
	Err     io.Writer                  // errors, timing and notes
	Format  string                     // one of [Formats]; "": table
	Size    func() (width, height int) // of the terminal; nil: none
	Pager   string                     // command for results that are longer than the terminal, or ""
	History string                     // file of the history, or ""

	// Interactive reads from the terminal with line editing, history and
	// completion, and continues after an error. Ctrl-C cancels the running
	// statement, so the caller's context must not end on os.Interrupt.
	Interactive bool
	Expanded    bool // print one line for each value
	Timing      bool // print how long each statement took
}

// Run reads statements and commands until the input ends, \q, or ctx is done. A
// script stops at its first error, a [*StatementError] or the error of a
// command; an interactive session prints errors and continues.
func Run(ctx context.Context, o Options) error {
	s, err := newSession(o)
	if err != nil {
		return err
	}
	if !o.Interactive {
		return s.script(ctx, "", o.In)
	}
	names := newNames(ctx, s.client)
	defer names.close()
	s.client.seen = names.generation
	history := openHistory(o.History)
	t := newTerminal(history, completer{names: names.now}.complete)
	defer t.Close()
	return s.interact(ctx, t)
}

// Source is a script of [Exec]: a text, or a file.
type Source struct {
	File string // "-" is the input; "" if there is Text
	Text string
}

// Exec runs scripts in order, in one session, up to the first error: `spiced sql -c`
// and `-f`.
func Exec(ctx context.Context, o Options, sources ...Source) error {
	s, err := newSession(o)
	if err != nil {
		return err
	}
	for _, source := range sources {
		switch source.File {
		case "":
			err = s.lines(ctx, "", strings.NewReader(source.Text))
		case "-":
			err = s.lines(ctx, "", o.In)
		default:
			err = s.include(ctx, source.File)
		}
		if errors.Is(err, errQuit) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// errQuit ends a session from a command.
var errQuit = errors.New("quit")

// session is the state of one Run.
type session struct {
	client   *client
	out, err io.Writer
	format   format
	timing   bool
	expanded bool   // one line for each value
	last     string // the last statement
	size     func() (width, height int)
	pager    string
	depth    int // depth of nested scripts
}

func newSession(o Options) (*session, error) {
	f, err := parseFormat(o.Format)
	if err != nil {
		return nil, err
	}
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	s := &session{
		client: c, out: o.Out, err: o.Err, format: f, timing: o.Timing, expanded: o.Expanded, size: o.Size,
		pager: o.Pager,
	}
	if s.out == nil {
		s.out = io.Discard
	}
	if s.err == nil {
		s.err = io.Discard
	}
	return s, nil
}

// script runs r and stops at the first error. name is the file of the script,
// or "".
func (s *session) script(ctx context.Context, name string, r io.Reader) error {
	err := s.lines(ctx, name, r)
	if errors.Is(err, errQuit) && s.depth == 0 {
		return nil
	}
	return err
}

func (s *session) lines(ctx context.Context, name string, r io.Reader) error {
	if r == nil {
		return nil
	}
	pending := newSplitter()
	lines := newLines(r)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		at := pending.here()
		if isCommand(line) && pending.idle() {
			pending.skip()
			if err := s.command(ctx, line); err != nil {
				return located(name, at, err)
			}
			continue
		}
		if err := pending.add(line); err != nil {
			return located(name, at, err)
		}
		if err := s.run(ctx, name, pending.take()); err != nil {
			return err
		}
	}
	return s.run(ctx, name, pending.rest())
}

// run runs statements up to the first that fails.
func (s *session) run(ctx context.Context, name string, statements []statement) error {
	for _, st := range statements {
		if err := s.query(ctx, st.SQL); err != nil {
			return &StatementError{Script: name, Line: st.Line, Column: st.Column, SQL: st.SQL, Err: err}
		}
	}
	return ctx.Err()
}

// query runs one statement and writes its result.
func (s *session) query(ctx context.Context, sql string) error {
	start := time.Now()
	s.last = sql
	err := s.copy(ctx, sql)
	if s.timing {
		fmt.Fprintf(s.err, "Time: %s\n", elapsed(time.Since(start)))
	}
	return err
}

// copy runs one statement and writes its result to the terminal, the pager or the output.
func (s *session) copy(ctx context.Context, sql string) error {
	r := &renderer{out: s.out, format: s.format, expanded: s.expanded}
	if s.size == nil {
		return s.client.copy(ctx, r, sql)
	}
	width, height := s.size()
	r.width = width
	if s.pager == "" {
		return s.client.copy(ctx, r, sql)
	}
	p := &pager{command: s.pager, height: height - 2, out: s.out}
	r.out = p
	err := s.client.copy(ctx, r, sql)
	if closed := p.Close(); err == nil {
		err = closed
	}
	if errors.Is(err, errPagerLeft) {
		return nil
	}
	return err
}

// elapsed formats a duration with at most three decimals.
func elapsed(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.3f s", d.Seconds())
	}
	return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
}
