package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/examples"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/protocols/repl"
)

// demoFlags are the flags of `spiced demo`.
type demoFlags struct {
	write string
	serve bool
	http  string
	pace  time.Duration
}

func newDemo(std streams) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a team of agents work, without a key",
		Long: `Run the Spicepod of examples/agents with a scripted model, and show a chat in which one agent delegates to three
others, which work at the same time. Only the model is scripted: agents, tools and limits are real. Nothing leaves
this machine.

--serve serves the Spicepod until Ctrl-C instead, for clients of your own. --write copies it to a folder, to be used
with a model of your own.`,
		Example: `  spiced demo
  spiced demo --serve
  spiced demo --write team`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("demo takes no Spicepod, got %q: it has its own; --write DIR writes that", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.write != "" && f.serve:
				return usageError{errors.New("give --write or --serve, not both")}
			case f.pace < 0 || f.pace > time.Second:
				return usageError{fmt.Errorf("--pace must be from 0s to 1s, got %s", f.pace)}
			case f.write != "":
				return writeDemo(std, f.write)
			}
			return runDemo(cmd.Context(), std, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.write, "write", "", "write the Spicepod to this folder, and do not run it")
	flags.BoolVar(&f.serve, "serve", false, "serve the Spicepod until Ctrl-C")
	flags.StringVar(&f.http, "http", "127.0.0.1:8090", "address for --serve")
	flags.DurationVar(&f.pace, "pace", 20*time.Millisecond, "how long the scripted model takes for a word")
	return cmd
}

// demoQuestion is what the demo asks the agent that delegates.
const (
	demoAgent    = "ishvana"
	demoQuestion = "What do we know of the north, and does \"Mara rode to Thorn\" agree with it?"
)

// demoCalls are the calls of the demo as the runtime recorded them.
const demoCalls = `SELECT caller, tool, ok, round(latency_ms, 1) AS ms FROM spiced.tool_calls ORDER BY caller, tool`

// writeDemo writes the Spicepod of the demo for a model of the user.
func writeDemo(std streams, dir string) error {
	err := copyNew(examples.Agents(), dir)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("demo: %w: no file is replaced; give another folder", err)
	}
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	_, err = fmt.Fprintf(std.out,
		"wrote %s\nset OPENAI_API_KEY, or change models: in it, and run: spiced chat %s --model %s\n",
		filepath.Join(dir, "spicepod.yaml"), dir, demoAgent)
	return err
}

// runDemo shows the chat, or serves.
func runDemo(ctx context.Context, std streams, f demoFlags) error {
	model, err := startDemoModel(f.pace)
	if err != nil {
		return err
	}
	defer model.Close()
	dir, err := os.MkdirTemp("", "spiced-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := copyNew(examples.Agents(), dir); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := model.useIn(filepath.Join(dir, "spicepod.yaml")); err != nil {
		return err
	}
	if f.serve {
		fmt.Fprintf(std.err, "chat with it from another terminal: spiced chat --url http://%s --model %s\n",
			f.http, demoAgent)
		return serve(ctx, std, dir, serveFlags{http: f.http, watch: true, logLevel: "info", logFormat: telemetry.FormatAuto})
	}
	return chatDemo(ctx, std, dir)
}

// chatDemo asks the question, and shows the recorded calls.
func chatDemo(ctx context.Context, std streams, dir string) error {
	local, err := serveLocal(ctx, std, dir, "")
	if err != nil {
		return err
	}
	defer local.close()
	opts := repl.Options{Client: local.client, URL: "http://localhost", Header: http.Header{}, Out: std.out, Err: std.out}
	fmt.Fprintf(std.out, "A scripted model plays four agents; the tools that it calls are real.\n\nyou> %s\n",
		demoQuestion)
	if err := repl.Ask(ctx, repl.ChatOptions{Options: opts, Model: demoAgent}, demoQuestion); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "\nWhat the runtime recorded, in spiced.tool_calls:\n")
	if err := repl.Exec(ctx, opts, repl.Source{Text: demoCalls}); err != nil {
		return err
	}
	_, err = fmt.Fprint(std.out,
		"\nspiced demo --serve serves it to your own clients; spiced demo --write DIR writes the Spicepod, for a model "+
			"of your own.\n")
	return err
}

// copyNew copies files into a folder, and replaces none.
func copyNew(source fs.FS, dir string) error {
	return fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		return writeNew(filepath.Join(dir, path), text)
	})
}

// demoModel is a scripted model at an address of this machine.
type demoModel struct {
	*http.Server
	address string
}

func startDemoModel(pace time.Duration) (*demoModel, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the scripted model: %w", err)
	}
	m := &demoModel{&http.Server{Handler: demoScript{pace}, ReadHeaderTimeout: 10 * time.Second}, listener.Addr().String()}
	go m.Serve(listener) //nolint:errcheck // ends with Close
	return m, nil
}

// demoKey is the line of the Spicepod that names the model's key.
const demoKey = `openai_api_key: "${env:OPENAI_API_KEY}"`

// useIn makes a Spicepod use the scripted model.
func (m *demoModel) useIn(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), demoKey) {
		return errors.New("demo: the Spicepod has no model to replace")
	}
	changed := strings.Replace(string(text), demoKey,
		fmt.Sprintf(`endpoint: "http://%s/v1", openai_api_key: scripted`, m.address), 1)
	return os.WriteFile(path, []byte(changed), 0o600)
}
