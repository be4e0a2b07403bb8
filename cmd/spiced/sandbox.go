package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/bodies/environment"
	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/visible"
	"github.com/spiced-sql/spiced/internal/protocols/repl"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/sqlapi"
)

// sandboxFlags are the flags of `spiced sandbox` and its commands.
type sandboxFlags struct {
	connection
	dir, stateDir, format string
}

// register adds the flags that name the Spicepod or the server.
func (f *sandboxFlags) register(cmd *cobra.Command, lists bool) {
	flags := cmd.Flags()
	f.connection.register(flags)
	flags.StringVar(&f.dir, "dir", ".", "the Spicepod: a folder or a file")
	flags.StringVar(&f.stateDir, "state-dir",
		"", "state directory of the server, in which the packages are (default: the user's cache folder, as "+
			"of a server without one)")
	if lists {
		flags.StringVar(&f.format, "format", "text", "text or json")
	}
}

func (f *sandboxFlags) check(cmd *cobra.Command) error {
	for _, name := range []string{"dir", "state-dir"} {
		if f.url != "" && cmd.Flags().Changed(name) {
			return usageError{fmt.Errorf("give --%s or --url, not both", name)}
		}
	}
	if f.format == "" {
		return nil
	}
	return oneOf("format", f.format, "text", "json")
}

func newSandbox(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Show the sandboxes of a Spicepod, and install their packages",
		Long: `The code of functions with from: exec runs in sandboxes. These commands show what the code of each needs, and
install its packages: of the Spicepod in this folder or in --dir, or of a running spiced with --url.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSandboxList(std), newSandboxShow(std), newSandboxBuild(std), newSandboxPrompt(std))
	return cmd
}

func newSandboxList(std streams) *cobra.Command {
	var f sandboxFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sandboxes",
		Long: `List the sandboxes with their packages, secrets and functions. The one named default exists without an entry.

Exit status: 0 success, 1 the Spicepod has a fault, 2 usage error.`,
		Example: `  spiced sandbox list
  spiced sandbox list --url http://127.0.0.1:8090 --format json`,
		Args: func(_ *cobra.Command, args []string) error { return names("list", args, 0, 0) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			list, err := f.sandboxes(cmd.Context(), std, "")
			if err != nil || f.format == "json" {
				return jsonOr(std.out, list, err)
			}
			return writeSandboxes(std.out, list)
		},
	}
	f.register(cmd, true)
	return cmd
}

func newSandboxShow(std streams) *cobra.Command {
	var f sandboxFlags
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a sandbox with its installed packages",
		Long: `Show what the code of a sandbox needs: the packages and the names of the secrets of the sandbox and of its
functions, and the exact versions that are installed.

Exit status: 0 success, 1 the Spicepod has a fault or there is no such sandbox, 2 usage error.`,
		Example: `  spiced sandbox show analytics
  spiced sandbox show analytics --format json`,
		Args: func(_ *cobra.Command, args []string) error { return names("show", args, 1, 1) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			list, err := f.sandboxes(cmd.Context(), std, args[0])
			switch {
			case err != nil:
				return err
			case f.format == "json":
				return writeJSON(std.out, list[0])
			}
			return writeSandbox(std.out, list[0])
		},
	}
	f.register(cmd, true)
	return cmd
}

func newSandboxBuild(std streams) *cobra.Command {
	var f sandboxFlags
	cmd := &cobra.Command{
		Use:   "build [NAME]",
		Short: "Install the packages of a sandbox, or of all",
		Long: `Install the packages of a sandbox, or of all sandboxes, with uv if it is installed, else with pip. This is the only
step that uses the network. Versions are locked first, and only wheels with the hashes of the lock are installed:
source distributions, whose code would run here, are not.

Packages are installed once for each set of requirements and version of Python, in the state directory with
--state-dir, else in the user's cache folder. A running server uses them without a restart.

Settings of pip and uv, such as PIP_INDEX_URL, and proxies are taken from the environment.

Exit status: 0 success, 1 packages cannot be installed or the Spicepod has a fault, 2 usage error.`,
		Example: `  spiced sandbox build
  spiced sandbox build analytics --state-dir state
  spiced sandbox build analytics --url http://127.0.0.1:8090`,
		Args: func(_ *cobra.Command, args []string) error { return names("build", args, 0, 1) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.build(cmd.Context(), std, strings.Join(args, ""))
		},
	}
	f.register(cmd, false)
	return cmd
}

func newSandboxPrompt(std streams) *cobra.Command {
	var f sandboxFlags
	cmd := &cobra.Command{
		Use:   "prompt NAME",
		Short: "Print the tools in a sandbox as XML, for a prompt",
		Long: `Print the functions in a sandbox that are tools, with their descriptions and parameters, as XML: a part of a prompt
for models that do not call tools themselves.

Exit status: 0 success, 1 the Spicepod has a fault or there is no such sandbox, 2 usage error.`,
		Example: `  spiced sandbox prompt analytics`,
		Args:    func(_ *cobra.Command, args []string) error { return names("prompt", args, 1, 1) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			server, end, err := f.openIn(cmd.Context(), std, f.dir, f.stateDir)
			if err != nil {
				return err
			}
			defer end()
			prompt, err := repl.SandboxPrompt(cmd.Context(), repl.SandboxOptions{Options: server, Sandbox: args[0]})
			if err != nil {
				return toolError(err)
			}
			_, err = std.out.Write(prompt)
			return err
		},
	}
	f.register(cmd, false)
	return cmd
}

// names checks how many names of sandboxes a command has.
func names(command string, args []string, least, most int) error {
	switch {
	case len(args) < least:
		return usageError{fmt.Errorf("sandbox %s needs the name of a sandbox: spiced sandbox list lists them", command)}
	case len(args) > most && most == 0:
		return usageError{fmt.Errorf("sandbox %s takes no names, got %q; write the Spicepod as --dir", command, args[0])}
	case len(args) > most:
		return usageError{fmt.Errorf("sandbox %s takes one name, got %d; write the Spicepod as --dir", command, len(args))}
	case len(args) > 0 && strings.TrimSpace(args[0]) == "":
		return usageError{errors.New("the name of the sandbox is empty")}
	}
	return nil
}

// sandboxes returns the sandboxes of the server or the Spicepod; with a name, that one.
func (f *sandboxFlags) sandboxes(ctx context.Context, std streams, name string) (list []sqlapi.Sandbox, err error) {
	if f.url != "" {
		server, end, err := f.open(ctx, std, "")
		if err != nil {
			return nil, err
		}
		defer end()
		return list, toolError(repl.Sandboxes(ctx, repl.SandboxOptions{Options: server, Sandbox: name}, &list))
	}
	set, store, err := f.compile(ctx, std)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if name != "" {
		if _, err := named(set, name); err != nil {
			return nil, err
		}
	}
	shim, err := sandboxWorker()
	if err != nil {
		return nil, err
	}
	isolation := func(e *environment.Environment) *sandbox.Isolation { return runtime.IsolationOf(e, shim) }
	for _, s := range describeSandboxes(set, isolation, func(string) bool { return false }) {
		if name == "" || strings.EqualFold(s.Name, name) {
			list = append(list, s)
		}
	}
	return list, nil
}

// compile reads the Spicepod and prints what is wrong with its sandboxes.
func (f *sandboxFlags) compile(ctx context.Context, std streams) (*environment.Set, *environment.Store, error) {
	pod, err := spicepod.Load(f.dir, runtime.Bodies...)
	if err != nil {
		return nil, nil, withoutPod(f.dir, err)
	}
	store := environment.NewStore(f.stateDir)
	set, problems := environment.Compile(ctx, pod, store)
	problems.WriteText(std.err)
	return set, store, nil
}

// named returns the environment of a sandbox.
func named(set *environment.Set, name string) (*environment.Environment, error) {
	if e := set.Get(name); e != nil {
		return e, nil
	}
	return nil, spicepod.Problems{{
		Message: fmt.Sprintf("there is no sandbox %q", name),
		Hint:    nearest.Hint(name, set.Names(), "the sandboxes are "+strings.Join(set.Names(), ", ")),
	}}
}

// build installs the packages of a sandbox, or of all.
func (f *sandboxFlags) build(ctx context.Context, std streams, name string) error {
	if f.url != "" {
		return f.buildThere(ctx, std, name)
	}
	pod, err := spicepod.Load(f.dir, runtime.Bodies...)
	if err != nil {
		return withoutPod(f.dir, err)
	}
	store := environment.NewStore(f.stateDir)
	defer store.Close()
	set, _ := environment.Compile(ctx, pod, store) // the builds report what matters to them
	list := set.All()
	if name != "" {
		e, err := named(set, name)
		if err != nil {
			return err
		}
		list = []*environment.Environment{e}
	}
	var failed spicepod.Problems
	for _, e := range list {
		built := e.Built()
		if e.NeedsBuild() && !built {
			fmt.Fprintf(std.err, "sandbox %s: installing %s\n", e.Name, strings.Join(e.Dependencies, ", "))
		}
		err := store.Build(ctx, e)
		if problems, ok := errors.AsType[spicepod.Problems](err); ok {
			failed = append(failed, problems...)
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(std.out, buildLine(e.Name, built, e.NeedsBuild()))
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

// buildLine says what a build did.
func buildLine(name string, built, needed bool) string {
	switch {
	case !needed:
		return "sandbox " + name + ": needs no packages"
	case built:
		return "sandbox " + name + ": the packages are installed already"
	}
	return "sandbox " + name + ": the packages are installed"
}

// buildThere has a server install the packages.
func (f *sandboxFlags) buildThere(ctx context.Context, std streams, name string) error {
	server, end, err := f.open(ctx, std, "")
	if err != nil {
		return err
	}
	defer end()
	var list []sqlapi.Sandbox
	if err := repl.Sandboxes(ctx, repl.SandboxOptions{Options: server, Sandbox: name}, &list); err != nil {
		return toolError(err)
	}
	for _, s := range list {
		if err := repl.BuildSandbox(ctx, repl.SandboxOptions{Options: server, Sandbox: s.Name}); err != nil {
			return toolError(err)
		}
		fmt.Fprintln(std.out, visible.Escape(buildLine(s.Name, s.Built, len(s.Dependencies) > 0)))
	}
	return nil
}

// jsonOr writes a list as JSON, or returns the error.
func jsonOr(w io.Writer, list []sqlapi.Sandbox, err error) error {
	if err != nil {
		return err
	}
	return writeJSON(w, list)
}

// writeSandboxes writes the sandboxes as a table.
func writeSandboxes(w io.Writer, list []sqlapi.Sandbox) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "sandbox\truntime\tbuilt\tisolated\tfunctions\tdependencies\tsecrets\tchecksum")
	for _, s := range list {
		fmt.Fprintln(t, visible.Escape(s.Name)+"\t"+s.Runtime+"\t"+yesNo(s.Built)+"\t"+isolatedWord(s)+"\t"+
			joined(s.Functions)+"\t"+joined(s.Dependencies)+"\t"+joined(s.Secrets)+"\t"+short(s.Checksum))
	}
	return t.Flush()
}

func writeSandbox(w io.Writer, s sqlapi.Sandbox) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", key, visible.Escape(value))
		}
	}
	line("sandbox", s.Name)
	line("description", s.Description)
	line("runtime", strings.TrimSpace(s.Runtime+" "+s.Python))
	line("dependencies", joined(s.Dependencies))
	line("secrets", joined(s.Secrets))
	line("not set", strings.Join(s.MissingSecrets, ", "))
	line("functions", joined(s.Functions))
	line("network", s.Network)
	line("isolation", s.Isolation)
	line("isolated", isolatedWord(s))
	line("layers", strings.Join(s.Layers, "; "))
	line("missing", strings.Join(s.MissingLayers, "; "))
	line("checksum", s.Checksum)
	line("built", yesNo(s.Built))
	for i, p := range s.Packages {
		key := ""
		if i == 0 {
			key = "packages"
		}
		fmt.Fprintf(t, "%s\t%s\n", key, visible.Escape(p.Name+"=="+p.Version))
	}
	return t.Flush()
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// isolatedWord says whether the code of a sandbox is isolated; "-" if there is none.
func isolatedWord(s sqlapi.Sandbox) string {
	if s.Isolated == nil {
		return "-"
	}
	return yesNo(*s.Isolated)
}

func joined(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return visible.Escape(strings.Join(list, ", "))
}

func short(checksum string) string { return checksum[:min(len(checksum), 16)] }
