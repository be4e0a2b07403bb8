package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// TestDocs runs the pages that have ```console blocks, each from top to bottom
// in its own folder, and compares what the commands print with what the page
// shows, where "…" matches any text. -update corrects the page.
//
//   - A ```sh block prepares: it must succeed. In it, a line such as
//     `./spiced first --postgres 127.0.0.1:5432` starts a server in place of the
//     one before, and what needs the source code of spiced is left out.
//   - The comment <!-- not run: WHY --> before a block leaves it out.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(pages, "../../README.md") {
		if text := read(t, file); strings.Contains(text, "\n```console\n") {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				if slices.Contains([]string{"bodies.md", "sandboxes.md"}, filepath.Base(file)) {
					needsIsolation(t)
				}
				newPage(t, file).run(text)
			})
		}
	}
}

// page is a page of the documentation that is run.
type page struct {
	t      *testing.T
	file   string
	dir    string            // where its commands run
	ports  map[string]string // free ports, by those that the page shows
	server *program          // nil until the page starts one
}

func newPage(t *testing.T, file string) *page {
	p := &page{t: t, file: file, dir: t.TempDir(), ports: map[string]string{}}
	for _, shown := range []string{"8090", "5432", "50051"} {
		_, p.ports[shown], _ = strings.Cut(reserve.Address(t), ":")
	}
	binary, err := exec.LookPath("spiced")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(p.dir, "spiced")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(p.dir, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	return p
}

// fence matches a block, with the comment that leaves it out.
var fence = regexp.MustCompile("(?sm)^(?:<!-- not run: ([^\n]*) -->\n\n?)?```(sh|console)\n(.*?)^```$")

func (p *page) run(text string) {
	updated, done := "", 0 // the page as it should be, up to an offset in text
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		why := text[max(at[2], 0):max(at[3], 0)]
		kind, block := text[at[4]:at[5]], text[at[6]:at[7]]
		p.t.Run(fmt.Sprintf("line %d", 1+strings.Count(text[:at[6]], "\n")), func(t *testing.T) {
			switch {
			case why != "":
				t.Skip("not run: " + why)
			case kind == "sh":
				p.prepare(t, block)
			default:
				updated += text[done:at[6]] + p.console(t, block)
				done = at[7]
			}
		})
	}
	if golden.Update() {
		write(p.t, p.file, updated+text[done:])
	}
}

var (
	// serves matches a line that starts a server: the folder and the flags.
	serves = regexp.MustCompile(`(?m)^(?:go run \./cmd/spiced|\./spiced)(?: serve)? ([a-z/]+)((?: --.*?)?)(?:  +#.*)?$`)
	// building matches a line that needs the source code.
	building = regexp.MustCompile(`(?m)^go (build|test) .*$`)
	// subcommands are what a line may have in place of a folder.
	subcommands = []string{"init", "validate", "test", "lint", "sql", "search", "chat", "mcp", "ready"}
)

// prepare runs a ```sh block.
func (p *page) prepare(t *testing.T, block string) {
	block = building.ReplaceAllString(block, "")
	for _, start := range serves.FindAllStringSubmatch(block, -1) {
		if slices.Contains(subcommands, start[1]) {
			continue
		}
		before, after, _ := strings.Cut(block, start[0])
		p.succeed(t, before)
		p.serve(start[1], strings.Fields(p.hide(start[2])))
		block = after
	}
	p.succeed(t, block)
}

func (p *page) succeed(t *testing.T, commands string) {
	t.Helper()
	if out, err := p.shell(t, commands); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// serve starts the server of a page in place of the one before.
func (p *page) serve(dir string, flags []string) {
	if p.server != nil {
		p.server.end()
	}
	p.server = start(p.t, filepath.Join(p.dir, dir), append([]string{"--http", "127.0.0.1:" + p.ports["8090"]}, flags...)...)
}

// console runs the commands of a ```console block and returns the block with
// their output.
func (p *page) console(t *testing.T, block string) string {
	for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
		program, _, _ := strings.Cut(part, " ")
		if _, err := p.shell(t, "command -v "+program); err != nil {
			t.Skipf("THIS BLOCK IS NOT RUN: there is no %s here", program)
		}
	}
	var parts []string
	for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, shown := cutCommand(part)
		out := p.answer(t, command, strings.Trim(shown, "\n"))
		parts = append(parts, strings.TrimSuffix("$ "+command+"\n"+out, "\n")+"\n")
	}
	return strings.Join(parts, "\n")
}

// cutCommand separates a command, whose lines may end in a backslash, from
// what it prints.
func cutCommand(part string) (command, shown string) {
	for line := range strings.Lines(part) {
		command += line
		if !strings.HasSuffix(line, "\\\n") {
			break
		}
	}
	return strings.TrimSuffix(command, "\n"), strings.TrimPrefix(part, command)
}

// answer runs a command and returns its output, as the page shows it if that is
// the same. A request is repeated until it is: edits take effect in a moment.
func (p *page) answer(t *testing.T, command, shown string) string {
	late := time.Now().Add(patience / 2)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		out, _ := p.shell(t, command) // a page may show an error
		out = strings.Trim(out, "\n")
		if sameOutput(shown, out) {
			return shown
		}
		request := strings.HasPrefix(command, "curl ") || strings.HasPrefix(command, "psql ")
		if !request || time.Now().After(late) {
			if !golden.Update() {
				t.Errorf("%s\ngot\n%s\nthe page shows\n%s", command, out, shown)
			}
			return out
		}
		<-again.C
	}
}

// shell runs commands in the folder of the page.
func (p *page) shell(t *testing.T, commands string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", p.hide(commands))
	cmd.Dir, cmd.WaitDelay = p.dir, time.Second
	cmd.Env = append(os.Environ(), "PGPORT="+p.ports["5432"], "PSQL_PAGER=", "PAGER=cat", "HOME="+p.dir)
	out, err := cmd.CombinedOutput()
	text := string(out)
	for shown, free := range p.ports {
		text = strings.ReplaceAll(text, ":"+free, ":"+shown)
	}
	return text, err
}

// hide replaces the ports that the page shows by free ones.
func (p *page) hide(commands string) string {
	for shown, free := range p.ports {
		commands = strings.ReplaceAll(commands, ":"+shown, ":"+free)
	}
	return commands
}

// varying are the parts of output that differ from run to run.
var varying = map[*regexp.Regexp]string{
	regexp.MustCompile(`\b\d+(\.\d+)?(ns|µs|ms|s)\b`):       "TIME",
	regexp.MustCompile(`("[a-z_]*latency_ms":)\d+(\.\d+)?`): "${1}TIME",
	regexp.MustCompile(`\bv\d+\.\d+\.\d+\S*`):               "VERSION",
	regexp.MustCompile(`(?m)[ \t]+$`):                       "", // psql pads headings
}

// sameOutput reports whether output is the one that a page shows.
func sameOutput(shown, got string) bool {
	for pattern, with := range varying {
		shown, got = pattern.ReplaceAllString(shown, with), pattern.ReplaceAllString(got, with)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(shown), "…", "(?s:.*)")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

// TestSameOutput tests the comparison of TestDocs.
func TestSameOutput(t *testing.T) {
	for _, c := range []struct {
		shown, got string
		want       bool
	}{
		{"ok  f  5ms", "ok  f  1.79ms", true},
		{"ok  f  5ms", "ok  g  5ms", false},
		{`{"id":"…","km":1}`, `{"id":"a7","km":1}`, true},
		{`{"id":"…","km":1}`, `{"id":"a7","km":2}`, false},
		{"", "an error", false},
		{" kg  \n---", " kg\n---", true},
		{"km", "km and more", false},
	} {
		if got := sameOutput(c.shown, c.got); got != c.want {
			t.Errorf("%q, %q: %t", c.shown, c.got, got)
		}
	}
}
