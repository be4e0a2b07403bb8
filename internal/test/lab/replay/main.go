// Command replay sends the same requests to two binaries of spiced over every entrance, and
// prints where their answers differ after removing what may: ids, times, ports, folders. A
// refactoring keeps behaviour if it prints nothing, or only what CHANGELOG.md names.
//
//	git worktree add --detach /tmp/before COMMIT && (cd /tmp/before && go build -o /tmp/old ./cmd/spiced)
//	make replay REPLAY='-old /tmp/old -new ./spiced'
//	make replay REPLAY='-old /tmp/old -new ./spiced -only cli,chat'
//
// Each side has a folder, a model provider, a service, a second spiced and database servers of
// its own; what the two send there is compared, too. testdata/world is the Spicepod, and the
// other files of testdata are the requests, in addition to testdata/hostile, the scripts of
// cmd/spiced and the Spicepods of the repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/test/program"
)

// exchange is a request, as text for people, and its answer without what may differ.
type exchange struct{ request, answer string }

// entrance sends its requests to one side, in order.
type entrance struct {
	name string
	run  func(ctx context.Context, s *side) ([]exchange, error)
}

var entrances = []entrance{
	{"cli", commandLine},
	{"http", httpFile("requests.http")},
	{"chat", httpFile("chats.http")},
	{"sql", sqlForms},
	{"hostile", hostileStatements},
	{"postgres", postgresSession},
	{"flight", flightCommands},
	{"mcp", mcpSessions},
	{"reload", reload},
	{"log", warnings},
}

func main() {
	var old, latest, only, root string
	var all bool
	flag.StringVar(&old, "old", "", "the `FILE` of spiced before a change")
	flag.StringVar(&latest, "new", "", "the `FILE` of spiced after it")
	flag.StringVar(&only, "only", "", "`names` of entrances, separated by commas; default: all")
	flag.StringVar(&root, "root", ".", "the `FOLDER` of the repository")
	flag.BoolVar(&all, "all", false, "print equal answers, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	differences, err := replay(ctx, os.Stdout, options{root, old, latest, only, all})
	if err == nil && differences > 0 {
		err = fmt.Errorf("%d answers differ", differences)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	root, old, latest, only string
	all                     bool
}

// replay writes the differences and a line for each entrance.
func replay(ctx context.Context, w io.Writer, o options) (differences int, err error) {
	for _, binary := range []string{o.old, o.latest} {
		if _, err := os.Stat(binary); err != nil {
			return 0, fmt.Errorf("-old and -new must name binaries of spiced: %w", err)
		}
	}
	only := strings.FieldsFunc(o.only, func(r rune) bool { return r == ',' })
	for _, name := range only {
		if !slices.ContainsFunc(entrances, func(e entrance) bool { return e.name == name }) {
			return 0, fmt.Errorf("-only: there is no entrance %q; see the entrances in main.go", name)
		}
	}
	if o.root, err = filepath.Abs(o.root); err != nil {
		return 0, err
	}
	err = program.Outside(ctx, func(t testing.TB) error {
		base := t.TempDir()
		var sides [2]*side
		for i, binary := range []string{o.old, o.latest} {
			// Names of equal length, so that texts are cut at the same place.
			s, err := newSide(ctx, t, o.root, binary, filepath.Join(base, []string{"old", "new"}[i]))
			t.Cleanup(s.close)
			if err != nil {
				return err
			}
			sides[i] = s
		}
		for _, e := range entrances {
			if len(only) > 0 && !slices.Contains(only, e.name) {
				continue
			}
			n, err := compare(ctx, w, e, sides, o.all)
			if differences += n; err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
		}
		return nil
	})
	return differences, err
}

// compare runs an entrance on both sides at once.
func compare(ctx context.Context, w io.Writer, e entrance, sides [2]*side, all bool) (differences int, err error) {
	var got [2][]exchange
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range sides {
		group.Go(func() (err error) { got[i], err = e.run(ctx, s); return err })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	n := max(len(got[0]), len(got[1]))
	for i := range n {
		var pair [2]exchange
		for j, list := range got {
			if i < len(list) {
				pair[j] = list[i]
			}
		}
		if pair[0] == pair[1] {
			if all {
				fmt.Fprintf(w, "=== %s: %s\n%s\n", e.name, pair[0].request, pair[0].answer)
			}
			continue
		}
		differences++
		fmt.Fprintf(w, "=== %s: %s\n", e.name, pair[0].request)
		if pair[1].request != pair[0].request {
			fmt.Fprintf(w, "the new side sent %s\n", pair[1].request)
		}
		var lines [2][]string
		for j, x := range pair {
			lines[j] = strings.Split(strings.ReplaceAll(x.answer, `,"`, ",\n\""), "\n")
		}
		if pair[0].answer != pair[1].answer && slices.Equal(slices.Sorted(slices.Values(lines[0])), slices.Sorted(slices.Values(lines[1]))) {
			fmt.Fprintln(w, "the same lines in another order")
		}
		for j, mark := range []string{"-", "+"} {
			for _, line := range lines[j] {
				if !slices.Contains(lines[1-j], line) {
					fmt.Fprintln(w, mark, line)
				}
			}
		}
	}
	fmt.Fprintf(w, "%-10s %6d requests, %6d equal, %4d different\n", e.name, n, n-differences, differences)
	return differences, nil
}
