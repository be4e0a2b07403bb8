package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// maxListedCosts is how many tools the table of costs shows.
const maxListedCosts = 10

func newLint(std streams) *cobra.Command {
	var format, failOn, fixWith string
	cmd := &cobra.Command{
		Use:   "lint [DIR|FILE]",
		Short: "Find tools that models confuse or overlook, or that cost too many tokens",
		Long: `Load the Spicepod in DIR, by default this folder, and check its tools as models see them.

Errors
  no-description          models choose tools by their description
  instructions            a text gives the model instructions, such as to ignore other tools
  hidden-text             a text has parts that people do not see: invisible characters, comments, base64
  asks-for-secrets        a text of an MCP tool asks for keys, files or the conversation
  shadowing               a text of an MCP tool says how to use other tools
  disguised-name          a name of an MCP tool imitates another
Warnings
  similar-name            two names are easily confused
  similar-description     two descriptions are nearly the same
  confused-tools          a search for what one tool does finds another one first
  left-out                when_to_use, not_for or examples do not fit the budget of tokens
  withheld-example        tests are not shown as examples, as they could show what is protected
  short-description       a description says no more than the name
  long-description        a description is too long
  undescribed-parameters  parameters without a description
  costly-tool             a definition costs many tokens
  refused-schema          model providers refuse the schema of the parameters
  time-in-available       an available reads the time, which defeats the prompt caches of providers
  unused-setting          no available reads a setting of runtime.tools.settings
  owner-without-agent     the owner of a function or tool is not an agent
  owner-without-tool      the agent that owns a function or tool does not have it among its tools
  overlapping-agents      two agents have similar descriptions, or many tools in common
  missing-index           a function looks rows up in a large dataset by a column without an index
  shared-name             tools of two MCP servers have the same name
  open-link               a text of an MCP tool has a URL with a placeholder
  long-text               a text of an MCP tool is far longer than a description

--fix-with prints texts that a model proposes for tools whose descriptions are missing, too short or alike, or
that are confused, as a diff of the Spicepod.

It also prints the estimated cost, in tokens of o200k_base, of all definitions, and of tool_search, tool_invoke
and list_datasets instead.

Exit status: 0 no finding reaches --fail-on, 1 one does or the Spicepod has a fault, 2 usage error.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", format, "text", "json", "sarif"); err != nil {
				return err
			}
			if err := oneOf("fail-on", failOn, "warning", "error", "never"); err != nil {
				return err
			}
			if fixWith != "" && format == "sarif" {
				return usageError{errors.New("--fix-with prints a diff, or JSON with --format json")}
			}
			return runLint(cmd.Context(), std, podPath(args), format, failOn, fixWith)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json or sarif")
	cmd.Flags().StringVar(&failOn, "fail-on", "error", "minimum severity that fails: warning, error or never")
	cmd.Flags().StringVar(&fixWith, "fix-with", "",
		"model of the Spicepod that proposes texts; prints them as a diff for git apply or patch -p1, and changes nothing")
	return cmd
}

func runLint(ctx context.Context, std streams, path, format, failOn, fixWith string) error {
	app, err := assembleLoaded(ctx, std, options{Options: runtime.Options{Path: path, InPlace: true}})
	if err != nil {
		return err
	}
	defer app.close()
	definitions := app.Tools().Current().All()
	if len(definitions) > lint.MaxCompared {
		fmt.Fprintf(std.err, "note: only the first %d of %d tools were compared with each other\n", lint.MaxCompared,
			len(definitions))
	}
	found := append(lint.Check(definitions), lint.CheckLookups(lookups(ctx, app))...)
	found = append(found, lint.CheckAvailability(app.Tools().Current().Availability.Policy)...)
	found = append(found, lint.CheckAgents(app.Current().Pod, agentsOf(app))...)
	found = append(found, lint.CheckSpaces(app.Current().Pod)...)
	if fixWith != "" {
		return runFixes(ctx, std, app, found, fixWith, format)
	}
	linted := linted{found, lint.Summarise(definitions, alternatives(app.Tools()))}
	pod := app.Current().Pod
	switch format {
	case "json":
		err = writeJSON(std.out, linted)
	case "sarif":
		err = linted.problems(pod).WriteSARIF(std.out)
	default:
		linted.problems(pod).WriteText(std.out)
		linted.writeRules(std.out)
		err = writeCosts(std.out, linted.Costs)
	}
	if err == nil && linted.fails(failOn) {
		return shownError{errors.New("the tools have faults")}
	}
	return err
}

// writeRules writes the number of findings of each rule if the text does not list them all.
func (l linted) writeRules(w io.Writer) {
	if len(l.Findings) <= spicepod.MaxShown {
		return
	}
	count := map[string]int{}
	for _, one := range l.Findings {
		count[one.Rule]++
	}
	fmt.Fprintf(w, "%d findings, of these", len(l.Findings))
	for i, rule := range slices.Sorted(maps.Keys(count)) {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, " %d %s", count[rule], rule)
	}
	fmt.Fprintln(w, "; --format json has all")
}

// agentsOf returns the agents with the tools that they may call.
func agentsOf(app *app) (list []lint.Agent) {
	for _, m := range app.Current().Models.All() {
		info := m.Info()
		if !info.Agent {
			continue
		}
		a := lint.Agent{Name: info.Name, Description: info.Description}
		if visible := m.Scope(tools.Scope{}).Visible; visible != nil {
			for _, d := range app.Tools().Current().All() {
				if visible(d.Name) {
					a.Tools = append(a.Tools, d.Name)
				}
			}
		}
		list = append(list, a)
	}
	return list
}

// lookups returns the tools that look rows up in accelerated datasets.
func lookups(ctx context.Context, app *app) (list []lint.Lookup) {
	g := app.Current()
	for _, f := range g.Functions.All() {
		relation, column, _, ok := f.Key()
		definition := g.Tools.Get(f.Name)
		at := slices.IndexFunc(g.Datasets, func(d *datasets.Dataset) bool { return d.Relation == relation })
		if !ok || definition == nil || at < 0 || g.Datasets[at].Acceleration == nil {
			continue
		}
		d := g.Datasets[at]
		column = strings.Trim(column, `"`)
		indexed := slices.ContainsFunc(copies.IndexedColumns(d.Acceleration), func(c string) bool {
			return sqltree.Fold(c) == sqltree.Fold(column)
		})
		list = append(list, lint.Lookup{
			Tool: definition, Dataset: d.Name, Column: column,
			Rows: countRows(ctx, app.DB(), d, indexed), Indexed: indexed,
		})
	}
	return list
}

// countRows counts the rows of a dataset that is read in place; what has an index need not
// be counted.
func countRows(ctx context.Context, db *engine.DB, d *datasets.Dataset, indexed bool) int64 {
	if indexed {
		return 0
	}
	rows := int64(0)
	if err := tables.Query(ctx, db, "SELECT count(*) FROM ("+d.Current().Query+"\n)", func(c *engine.Chunk) {
		rows = engine.Value[int64](c.Column(0), 0)
	}); err != nil {
		return 0 // statements say what is wrong with it
	}
	return rows
}

// alternatives returns the definitions that a model gets instead of all.
func alternatives(r *registry.Registry) []*tools.Definition {
	list := r.MetaTools()
	if d := r.Current().Get("list_datasets"); d != nil {
		list = append(list, d)
	}
	return list
}

// linted is the outcome of `spiced lint`.
type linted struct {
	Findings []lint.Finding `json:"findings"`
	Costs    lint.Summary   `json:"costs"`
}

func (l linted) fails(failOn string) bool {
	return failOn != "never" && slices.ContainsFunc(l.Findings, func(f lint.Finding) bool {
		return f.Severity == spicepod.Error || failOn == "warning"
	})
}

// problems returns the findings with their positions, in file order.
func (l linted) problems(pod *spicepod.Pod) spicepod.Problems {
	list := make(spicepod.Problems, len(l.Findings))
	for i, f := range l.Findings {
		p := spicepod.Problem{Position: position(f.Declared), Message: f.Message, Hint: f.Hint}
		path := pod.ToolPath(f.Tool)
		switch {
		case f.Path != "":
			p = pod.Problem(f.Path, f.Message, f.Hint)
		case path != "":
			p = pod.KeyProblem(path+".name", f.Message, f.Hint)
		}
		p.Severity, p.Component = f.Severity, cmp.Or(f.Component, "tool "+f.Tool)
		p.Message += " [" + f.Rule + "]"
		list[i] = p
	}
	list.Sort()
	return list
}

// position reads file:line.
func position(declared string) spicepod.Position {
	at := strings.LastIndexByte(declared, ':')
	if at < 0 {
		return spicepod.Position{}
	}
	line, err := strconv.Atoi(declared[at+1:])
	if err != nil {
		return spicepod.Position{}
	}
	return spicepod.Position{File: declared[:at], Line: line}
}

// writeCosts writes the costs of the definitions, highest first.
func writeCosts(w io.Writer, s lint.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "tokens\twhat a model gets\n%d\tall %d definitions\n", s.Direct, s.Tools)
	fmt.Fprintf(t, "%d\ttheir names and descriptions alone\n", s.Planner)
	fmt.Fprintf(t, "%d\ttool_search, tool_invoke and list_datasets instead\n", s.Registry)
	if len(s.ByTool) > 0 {
		fmt.Fprintln(t, "\ntokens\tmost expensive tools")
	}
	for _, c := range s.ByTool[:min(len(s.ByTool), maxListedCosts)] {
		fmt.Fprintf(t, "%d\t%s\n", c.Tokens, c.Tool)
	}
	return t.Flush()
}
