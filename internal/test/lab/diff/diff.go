// Package diff is a differential tester: it runs generated statements over generated
// data through a running spiced and, with the bodies of declared functions written in
// place of their calls, through plain DuckDB, and compares the results. It does so
// before and after writes, refreshes, reloads and restarts, in the runtime and in
// workers, over every protocol, and repeats each statement so that cached plans are
// used, too.
//
//	report, err := diff.Run(ctx, diff.Options{Program: []string{"spiced"}, Seed: 7, Time: time.Hour, Out: os.Stdout})
//
// The rows of plain DuckDB are encoded by the packages that encode those of spiced.
// Whether these encoders are right is tested elsewhere, by sending values back.
package diff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Options are what [Run] tests.
type Options struct {
	Program    []string      // spiced, and arguments before its command
	Seed       uint64        // everything that is generated depends on it
	Cycle      uint64        // the first one; a cycle is generated without those before it
	Time       time.Duration // stop after it; 0: after one cycle in each isolation
	Statements int           // in a cycle; 0: 200
	Isolations []string      // none, process; default: both
	Paths      []string      // see [Paths]; default: all
	Out        io.Writer     // gets the differences
}

// Report is what was done.
type Report struct {
	Statements  int // generated
	Compared    int // results
	Errors      int // statements that fail in plain DuckDB as well, of Compared
	Differences int
}

// String is the report in a line.
func (r Report) String() string {
	return fmt.Sprintf("%d statements, %d results compared, %d of them errors on both sides: %d differences", r.Statements, r.Compared, r.Errors, r.Differences)
}

// mostDifferences end a run.
const mostDifferences = 20

// errEnough and errOver end a run.
var (
	errEnough = errors.New("enough differences")
	errOver   = errors.New("the time is over")
)

// Run tests until the time is over, or enough differences were found.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Statements == 0 {
		o.Statements = 200
	}
	if len(o.Isolations) == 0 {
		o.Isolations = []string{"none", "process"}
	}
	end := time.Now().Add(o.Time)
	var report Report
	for n := o.Cycle; n == o.Cycle || o.Time > 0; n++ {
		for _, isolation := range o.Isolations {
			c := &cycle{Options: o, report: &report, r: rand.New(rand.NewPCG(o.Seed, n))}
			c.pod = pod{isolation: isolation, cache: c.r.IntN(2) == 0}
			if o.Time > 0 {
				c.end = end
			}
			err := c.run(ctx)
			if err != nil && (ctx.Err() != nil || errors.Is(err, errEnough) || errors.Is(err, errOver)) {
				return report, nil
			}
			if err != nil {
				return report, fmt.Errorf("seed %d, cycle %d, isolation %s: %w", o.Seed, n, isolation, err)
			}
		}
	}
	return report, nil
}

// cycle is the life of one Spicepod.
type cycle struct {
	Options
	report  *Report
	pod     pod
	r       *rand.Rand
	oracle  *oracle
	server  *server
	clients []client
	close   func()
	failed  map[uint64]bool // seeds of statements with a difference
	end     time.Time       // of the run; zero: when this cycle ends
}

// over returns an error when the run ends. It is no deadline of requests: gRPC tells a
// server the deadline, whose error would count as a difference.
func (c *cycle) over(ctx context.Context) error {
	if !c.end.IsZero() && time.Now().After(c.end) {
		return errOver
	}
	return ctx.Err()
}

// events are what happens between the rounds of a cycle.
var events = []string{"start", "write", "refresh", "reload", "write", "replace", "restart", "write"}

func (c *cycle) run(ctx context.Context) (err error) {
	if c.pod.dir, err = os.MkdirTemp("", "spiced-diff-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.pod.dir)
	if c.oracle, err = newOracle(ctx); err != nil {
		return err
	}
	defer c.oracle.db.Close()
	if err := errors.Join(c.pod.fill(ctx, c.oracle, c.r), c.pod.write()); err != nil {
		return err
	}
	statements := make([]statement, c.Statements)
	for i := range statements {
		statements[i] = newStatement(c.r.Uint64(), 1+c.r.IntN(3))
	}
	c.report.Statements += len(statements)
	c.failed = map[uint64]bool{}
	if err := c.start(ctx); err != nil {
		return err
	}
	defer func() {
		c.close()
		err = errors.Join(err, c.server.Stop())
	}()
	for i, event := range events {
		if err := c.happen(ctx, event); err != nil {
			return fmt.Errorf("%s: %w", event, err)
		}
		some := statements
		if i > 0 { // the first ones each time, so that their plans are cached, and some of the others
			some = append(statements[:len(statements)/4:len(statements)/4], statements[len(statements)/4+c.r.IntN(len(statements)/2):][:len(statements)/8]...)
		}
		if err := c.round(ctx, fmt.Sprintf("%s (%d)", event, i), some); err != nil {
			return err
		}
	}
	return nil
}

// start starts the server and connects the clients.
func (c *cycle) start(ctx context.Context) (err error) {
	if c.server, err = start(ctx, c.Program, c.pod.dir); err != nil {
		return err
	}
	if c.clients, c.close, err = c.server.connect(context.WithoutCancel(ctx), c.Paths); err != nil {
		return errors.Join(err, c.server.Stop())
	}
	if err := c.faultless(ctx); err != nil {
		return errors.Join(err, c.server.Stop())
	}
	return nil
}

// faultless returns an error if a component of the Spicepod is not served.
func (c *cycle) faultless(ctx context.Context) error {
	body, err := c.server.Do(ctx, http.MethodGet, "/v1/status", "", "")
	if err != nil {
		return err
	}
	var components []struct{ Status string }
	if err := json.Unmarshal(body, &components); err != nil {
		return err
	}
	for _, component := range components {
		if component.Status == "Error" {
			return fmt.Errorf("the Spicepod has faults: %s", body)
		}
	}
	return nil
}

// round runs statements over each path and compares their results.
func (c *cycle) round(ctx context.Context, after string, statements []statement) error {
	for _, st := range statements {
		if c.failed[st.seed] {
			continue
		}
		want, wantErr := c.oracle.query(ctx, st.inline)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for i, cl := range c.clients {
			if (cl.name == toolPath || cl.name == mcpPath) && st.tool == nil {
				continue
			}
			for n := range 1 + (int(st.seed)+i)%2 { // every other one again
				if err := c.over(ctx); err != nil {
					return err
				}
				got, err := cl.ask(ctx, st)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				c.report.Compared++
				if wantErr != nil {
					c.report.Errors++
				}
				if (err == nil) == (wantErr == nil) && (err != nil || want[cl.form].matches(got, st.ordered)) {
					continue
				}
				c.failed[st.seed] = true
				c.differ(st, fmt.Sprintf("%s, isolation %s, after %s, attempt %d", cl.name, c.pod.isolation, after, n+1), got, err, want[cl.form], wantErr)
				if c.report.Differences >= mostDifferences {
					return errEnough
				}
			}
			if c.failed[st.seed] {
				break
			}
		}
	}
	return nil
}

// matches is equal for a form that may have no columns.
func (r result) matches(got result, ordered bool) bool {
	if got.columns == "" {
		r.columns = ""
	}
	return r.equal(got, ordered)
}

// differ reports a difference.
func (c *cycle) differ(st statement, where string, got result, err error, want result, wantErr error) {
	c.report.Differences++
	fmt.Fprintf(c.Out, "DIFFERENT: seed %d, size %d, %s\n  spiced: %s\n", st.seed, st.size, where, st.sql)
	for i, p := range st.params {
		fmt.Fprintf(c.Out, "  $%d = %s\n", i+1, p.sql)
	}
	fmt.Fprintf(c.Out, "  DuckDB: %s\n  spiced gave %s\n  DuckDB gave %s\n", st.inline, shown(got, err, want), shown(want, wantErr, got))
}

// shown is a result, or the rows that only it has.
func shown(r result, err error, other result) string {
	if err != nil {
		return fmt.Sprintf("an error: %.400s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	var extra []string
	for _, row := range r.rows {
		if !slices.Contains(other.rows, row) && len(extra) < 3 {
			extra = append(extra, row)
		}
	}
	out := fmt.Sprintf("%d rows of %s", len(r.rows), r.columns)
	if len(extra) > 0 {
		out += fmt.Sprintf(", among them %.1500s", strings.Join(extra, "\n    "))
	}
	return out
}
