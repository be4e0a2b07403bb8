package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// commandLine runs the commands that end by themselves: with their help, on every Spicepod of
// the repository, the bad ones too, and as the scripts of cmd/spiced do.
func commandLine(ctx context.Context, s *side) (all []exchange, err error) {
	shell := &shell{s: s, all: &all}
	shell.run(ctx, s.work, "", "--help")
	for _, command := range regexp.MustCompile(`(?m)^  ([a-z-]+) +[A-Z]`).FindAllStringSubmatch(all[0].answer, -1) {
		shell.run(ctx, s.work, "", command[1], "--help")
	}
	shell.run(ctx, s.work, "", "schema")
	for _, kind := range []string{"bad", "good"} {
		dir := filepath.Join(s.work, kind)
		if err := copyAll(filepath.Join(s.root, "spicepod/testdata", kind), dir); err != nil {
			return nil, err
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			shell.run(ctx, dir, "", "validate", file)
		}
	}
	world := filepath.Join(s.work, "copy") // the server has locked the databases of its own folder
	if err := copyAll(s.dir, world); err != nil {
		return nil, err
	}
	pods := []string{world}
	for _, folder := range []string{"examples", "testdata/spicepods"} {
		dir := filepath.Join(s.work, filepath.Base(folder))
		if err := copyAll(filepath.Join(s.root, folder), dir); err != nil {
			return nil, err
		}
		pods = append(pods, dir)
	}
	scripts, err := filepath.Glob(filepath.Join(s.root, "cmd/spiced/testdata/script/*.txtar"))
	if err != nil {
		return nil, err
	}
	for _, script := range append(scripts, filepath.Join(s.root, "cmd/spiced/testdata/cookbook.txtar")) {
		dir := filepath.Join(s.work, strings.TrimSuffix(filepath.Base(script), ".txtar"))
		if err := shell.script(ctx, script, dir); err != nil {
			return nil, err
		}
		pods = append(pods, dir)
	}
	for _, pod := range pods {
		commands := podCommands
		if filepath.Base(pod) == "cookbook" { // most of its servers are not there, which each command waits for
			commands = commands[:1]
		}
		if err := shell.pods(ctx, pod, commands); err != nil {
			return nil, err
		}
	}
	return all, ctx.Err()
}

// podCommands run on each Spicepod.
var podCommands = [][]string{
	{"validate", "--format", "json"},
	{"lint"},
	{"test"},
	{"call", "--list"},
	{"sql", "-o", "csv", "-c", "SELECT name, checksum FROM spiced.functions ORDER BY ALL", "-c", "SELECT * FROM spiced.load_errors ORDER BY ALL"},
}

// shell runs commands of a side.
type shell struct {
	s   *side
	all *[]exchange
}

// commandTime limits a command: some would wait for a network that is not there.
const commandTime = 30 * time.Second

func (c *shell) run(ctx context.Context, dir, input string, args ...string) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.s.binary, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = []string{"HOME=" + c.s.work, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "ROOT=" + c.s.root}
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	status := "exit status 0"
	if err := cmd.Run(); err != nil {
		status = err.Error()
	}
	request := c.s.masked.Replace(dir + ": spiced " + strings.Join(args, " "))
	*c.all = append(*c.all, exchange{request, c.s.mask(out.String() + "\nstderr: " + errors.String() + "\n" + status)})
}

// pods runs commands on each Spicepod of a folder.
func (c *shell) pods(ctx context.Context, dir string, commands [][]string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "spicepod.yaml" {
			return err
		}
		pod := filepath.Dir(path)
		for _, args := range commands {
			c.run(ctx, pod, "", args...)
		}
		return nil
	})
}

var (
	prefix = regexp.MustCompile(`^(! )?(exec|exits \d+) spiced `)
	quoted = regexp.MustCompile(`'(?:[^']|'')*'|[^ ]+`)
	server = regexp.MustCompile(`\$ADDRESS|&$|^(serve|demo|chat|init)\b`)
)

// script runs the commands of a script that need no server.
func (c *shell) script(ctx context.Context, file, dir string) error {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range archive.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
	}
	at, input := dir, ""
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "$WORK", dir))
		command := prefix.ReplaceAllString(line, "")
		switch name, _ := strings.CutPrefix(line, "cd "); {
		case name != line:
			at = filepath.Join(at, name)
		case strings.HasPrefix(line, "stdin "):
			text, _ := os.ReadFile(filepath.Join(at, line[6:])) //nolint:errcheck // stdout of the script's last command is no file
			input = string(text)
		case command != line && !server.MatchString(command):
			var args []string
			for _, word := range quoted.FindAllString(command, -1) {
				if unquoted, err := strconv.Unquote(`"` + word + `"`); strings.HasPrefix(word, "'") && err == nil {
					word = strings.ReplaceAll(unquoted[1:len(unquoted)-1], "''", "'")
				}
				args = append(args, word)
			}
			c.run(ctx, at, input, slices.Clone(args)...)
			input = ""
		}
	}
	return nil
}
