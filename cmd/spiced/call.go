package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/protocols/repl"
	"github.com/spiced-sql/spiced/tools"
)

// callFlags are the flags of `spiced call`.
type callFlags struct {
	connection
	args             []string
	json, format     string
	flow, step       string
	list, schema     bool
	trace, dryRun    bool
	tool             string
	hasJSON, hasArgs bool // whether --json and --arg were given
}

// callUsage is shown where the arguments are wrong.
const callUsage = "spiced call [DIR|FILE] NAME"

func newCall(std streams) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call [DIR|FILE] NAME",
		Short: "Call a tool of a Spicepod, or of a running spiced",
		Long: `Load the Spicepod in DIR, by default this folder, or connect to a running spiced with --url, and call a tool.
The result is JSON on standard output.

--arg NAME=VALUE gives one argument, which is converted as the tool's parameters say: numbers, true and false are
written as they are, lists and objects as JSON, and texts without quotes. --json gives all arguments as one object;
--json - reads it from standard input.

--list lists the tools with their descriptions, --schema shows the definition of one. --flow and --step are recorded
with the call, in spiced.tool_calls.

Exit status: 0 success, 1 the call failed or there is no such tool, 2 usage error, also wrong arguments.`,
		Example: `  spiced call examples/quickstart airport_km --arg from_iata=LHR --arg to_iata=JFK
  spiced call --list --url http://127.0.0.1:8090
  spiced call sql --url http://127.0.0.1:8090 --json '{"query": "SELECT 42 AS answer"}' --trace`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.hasJSON, f.hasArgs = cmd.Flags().Changed("json"), len(f.args) > 0
			pod, err := f.read(cmd, args)
			if err != nil {
				return err
			}
			return runCall(cmd.Context(), std, podPath(pod), f)
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.StringArrayVar(&f.args, "arg", nil, "an argument, as name=value; may be repeated")
	flags.StringVar(&f.json, "json", "", "all arguments, as a JSON object; - reads it from standard input")
	flags.BoolVar(&f.list, "list", false, "list the tools instead")
	flags.BoolVar(&f.schema, "schema", false, "show the tool's definition instead")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check the arguments, and call nothing")
	flags.BoolVar(&f.trace, "trace", false, "print each request with its time, request id and generation")
	flags.StringVar(&f.flow, "flow", "", "the flow that the call belongs to")
	flags.StringVar(&f.step, "step", "", "the step of the flow")
	flags.StringVar(&f.format, "format", "result", "result, or json for the whole answer")
	return cmd
}

// read checks the command line, and returns what names the Spicepod.
func (f *callFlags) read(cmd *cobra.Command, args []string) (pod []string, err error) {
	switch {
	case f.list && (f.schema || f.hasJSON || f.hasArgs):
		return nil, usageError{errors.New("--list takes no arguments of a tool")}
	case f.list && cmd.Flags().Changed("url") && len(args) > 0:
		return nil, usageError{fmt.Errorf("--list lists all tools: leave %q out", args[0])}
	case f.hasJSON && f.hasArgs:
		return nil, usageError{errors.New("give the arguments with --arg or with --json, not both")}
	case !f.list && len(args) == 0:
		return nil, usageError{errors.New("call needs a tool: " + callUsage + "; --list lists the tools")}
	}
	if err := oneOf("format", f.format, "result", "json"); err != nil {
		return nil, err
	}
	if f.list {
		if err := atMostOne(cmd, args); err != nil {
			return nil, err
		}
		return args, f.check(args)
	}
	if pod, f.tool, err = podFirst(args, callUsage); err != nil {
		return nil, err
	}
	switch {
	case strings.TrimSpace(f.tool) == "":
		return nil, usageError{errors.New("the name of the tool is empty; --list lists the tools")}
	case slices.ContainsFunc(strings.Split(f.tool, "/"), func(part string) bool {
		return part == "" || part == "." || part == ".."
	}):
		return nil, usageError{fmt.Errorf("%q is not the name of a tool; --list lists the tools", f.tool)}
	}
	return pod, f.check(pod)
}

func runCall(ctx context.Context, std streams, path string, f callFlags) error {
	given, err := f.arguments(std.in)
	if err != nil {
		return err
	}
	server, end, err := f.open(ctx, std, path)
	if err != nil {
		return err
	}
	defer end()
	server.Format = f.format
	opts := repl.CallOptions{
		Options: server, Tool: f.tool, Arguments: f.args, JSON: given,
		Flow: f.flow, Step: f.step, Trace: f.trace, DryRun: f.dryRun,
	}
	switch {
	case f.list:
		err = repl.ListTools(ctx, opts)
	case f.schema:
		err = repl.DescribeTool(ctx, opts)
	default:
		err = repl.Call(ctx, opts)
	}
	return toolError(err)
}

// arguments are those of --json.
func (f *callFlags) arguments(in io.Reader) (json.RawMessage, error) {
	if !f.hasJSON {
		return nil, nil
	}
	text := f.json
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(in, tools.MaxArguments+1))
		if err != nil {
			return nil, fmt.Errorf("read the arguments from standard input: %w", err)
		}
		text = string(read)
	}
	if len(text) > tools.MaxArguments {
		return nil, usageError{fmt.Errorf("--json has more than %d MiB", tools.MaxArguments>>20)}
	}
	if strings.TrimSpace(text) == "" {
		return nil, usageError{errors.New("--json is empty: write an object, such as {}")}
	}
	value, err := tools.Canonical([]byte(text))
	if err != nil {
		return nil, usageError{fmt.Errorf("--json is %w", err)}
	}
	if value[0] != '{' {
		return nil, usageError{errors.New(`--json must be an object, such as {"name": "value"}`)}
	}
	return value, nil
}
