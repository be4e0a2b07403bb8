package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/spicepod"
)

func newDataset(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dataset",
		Short: "Add a dataset to a Spicepod",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDatasetAdd(std))
	return cmd
}

// addFlags are the flags of `spiced dataset add`.
type addFlags struct {
	dir, name          string
	params             []string
	accelerate, dryRun bool
}

func newDatasetAdd(std streams) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add SOURCE [TABLE]",
		Short: "Read a source, and write the dataset for it to spicepod.yaml",
		Long: `Read a source, show its columns and first rows, and add a dataset for it to spicepod.yaml, where nothing else
is changed. SOURCE is a path, a URL, a connection string or a "from" of docs/connectors.md, and TABLE the table
there; for files and object stores it is the name of the dataset.

Passwords and keys are written to .env.local next to spicepod.yaml, which only you can read, and spicepod.yaml
refers to them.

Exit status: 0 success, 1 the source cannot be read or the Spicepod has a fault, 2 usage error.`,
		Example: `  spiced dataset add trips.csv
  spiced dataset add postgres://ada:secret@db.example.com/shop orders
  spiced dataset add mysql://ada:secret@db.example.com/shop orders
  spiced dataset add s3://lake/trips/ --param s3_key=AKIA… --param s3_secret=…
  spiced dataset add sqlite:shop.db orders --accelerate
  spiced dataset add flightsql:https://ada:secret@flight.example.com:50051 orders
  spiced dataset add https://example.com/zones.parquet --name zones --dry-run`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return usageError{fmt.Errorf("dataset add takes a source and a table, got %d arguments; see: "+
					"spiced dataset add --help", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return addDataset(cmd.Context(), std, append(args, "")[:2], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", ".", "the Spicepod: a folder or a file")
	flags.StringVar(&f.name, "name", "", "name of the dataset (default: that of the table or file)")
	flags.StringArrayVar(&f.params, "param", nil, "param of the connector as key=value; may be repeated")
	flags.BoolVar(&f.accelerate, "accelerate", false, "copy the rows")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the entry, and write nothing")
	return cmd
}

// addDataset is `spiced dataset add`.
func addDataset(ctx context.Context, std streams, args []string, f addFlags) (err error) {
	pod, err := spicepod.Load(f.dir, runtime.Bodies...)
	text := "" // of a Spicepod that is not there
	if lacksPod(f.dir, err) {
		if text, err = podOf(f.dir, args[0]); err != nil {
			return err
		}
		file := filepath.Join(f.dir, "spicepod.yaml")
		if file, err = filepath.Abs(file); err != nil {
			return err
		}
		if !f.dryRun {
			if err = writeNew(file, []byte(text)); err != nil {
				return err
			}
			defer func() {
				if err != nil {
					os.Remove(file) //nolint:errcheck // it stays, without data
				}
			}()
		}
		pod, err = spicepod.LoadText(file, text, nil, runtime.Bodies...)
	}
	if err != nil {
		return err
	}
	a, err := newAddition(pod, text, args, f)
	if err != nil {
		return err
	}
	shown := std.out
	if f.dryRun {
		shown = std.err
	}
	if err := a.try(ctx, std, shown); err != nil {
		return err
	}
	noteQuotes(std.err, a.entry.Name)
	if f.dryRun {
		for _, v := range a.variables.added {
			fmt.Fprintf(std.err, "set %s in the environment or in .env.local\n", v.name)
		}
		_, err = io.WriteString(std.out, a.entry.YAML())
		return err
	}
	return a.write(std)
}

// withoutPod adds to the error of a folder without a Spicepod how to get one.
func withoutPod(dir string, err error) error {
	var problems spicepod.Problems
	if lacksPod(dir, err) && errors.As(err, &problems) {
		problems[0].Hint = "run: spiced init" + strings.TrimSuffix(" "+dir, " .")
	}
	return err
}

// lacksPod reports whether err is that of a folder without a Spicepod.
func lacksPod(dir string, err error) bool {
	var problems spicepod.Problems
	info, missing := os.Stat(dir)
	return errors.As(err, &problems) && missing == nil && info.IsDir() && problems[0].Line == 0 &&
		strings.HasPrefix(problems[0].Message, "no spicepod.yaml")
}

// addition is a dataset that is tried, and then added to the file of a Spicepod.
type addition struct {
	pod       *spicepod.Pod
	entry     spicepod.NewDataset
	dryRun    bool
	variables *variables
	text      string // of the file
	edited    string // the text with the entry
}

// newAddition makes the addition of a source, and a table there or "". text is that of the
// Spicepod if its file may not be there; else "".
func newAddition(pod *spicepod.Pod, text string, args []string, f addFlags) (*addition, error) {
	draft, err := datasets.NewDraft(runtime.Connectors, args[0], args[1])
	if err != nil {
		return nil, err
	}
	name := cmp.Or(f.name, draft.Name)
	if name == "" {
		return nil, usageError{errors.New("the dataset needs a name; write --name NAME")}
	}
	a := &addition{pod: pod, text: text, dryRun: f.dryRun, entry: spicepod.NewDataset{
		From: localPath(pod, draft.From),
		Name: name, Accelerated: f.accelerate || draft.Copied,
	}}
	if a.variables, err = readVariables(pod.Dir, name); err != nil {
		return nil, err
	}
	for _, h := range draft.Hidden {
		a.entry.From = strings.Replace(a.entry.From, h.Name+"="+h.Value, h.Name+"="+a.variables.reference(h.Name, h.Value), 1)
	}
	for _, p := range f.params {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--param must be key=value, got %q", key)}
		}
		draft.Override(key, value)
	}
	for _, p := range draft.Params {
		if p.Secret && !strings.Contains(p.Value, "${") {
			p.Value = a.variables.reference(p.Name, p.Value)
		}
		a.entry.Params = append(a.entry.Params, spicepod.NewParam{Name: p.Name, Value: p.Value})
	}
	return a, a.edit()
}

// edit makes the new text of the file, and checks it.
func (a *addition) edit() error {
	for _, d := range a.pod.Datasets {
		if strings.EqualFold(d.Name, a.entry.Name) {
			return a.refuse("the Spicepod has a dataset of this name", "write --name NAME for another name")
		}
	}
	if a.text == "" {
		raw, err := os.ReadFile(a.pod.File)
		if err != nil {
			return err
		}
		a.text = string(raw)
	}
	const mark = "\uFEFF"
	var err error
	text, marked := strings.CutPrefix(a.text, mark)
	if a.edited, err = a.entry.AddTo(text); errors.Is(err, spicepod.ErrNoPlace) && a.dryRun {
		return nil
	} else if err != nil {
		return a.refuse(fmt.Sprintf("%s: %s", filepath.Base(a.pod.File), err), "insert what --dry-run prints")
	}
	if _, err = spicepod.LoadText(a.pod.File, a.edited, a.variables.values(), runtime.Bodies...); err != nil {
		return err
	}
	if marked {
		a.edited = mark + a.edited
	}
	return nil
}

// trial is the text of a Spicepod with the entry alone, and what of the file says where it
// may read.
func (a *addition) trial() (string, error) {
	var all struct {
		Runtime map[string]any
		Secrets any
	}
	if err := yaml.Unmarshal([]byte(a.text), &all); err != nil {
		return "", err
	}
	kept := map[string]any{}
	for _, key := range []string{"data_roots", "extensions"} {
		if value, ok := all.Runtime[key]; ok {
			kept[key] = value
		}
	}
	text, err := yaml.Marshal(map[string]any{
		"version": "v1", "kind": "Spicepod", "name": "trial", "runtime": kept,
		"secrets": all.Secrets,
	})
	return string(text) + "datasets:\n" + a.entry.YAML(), err
}

// try reads the source, and shows its columns and first rows.
func (a *addition) try(ctx context.Context, std streams, out io.Writer) error {
	text, err := a.trial()
	if err != nil {
		return err
	}
	pod, err := spicepod.LoadText(a.pod.File, text, a.variables.values(), runtime.Bodies...)
	if err != nil {
		return err
	}
	app, err := assemble(ctx,
		options{Options: runtime.Options{
			Path: a.pod.File, Pod: pod, Offline: true, InPlace: true,
			Progress: progress(std.err, nil),
		}})
	if err != nil {
		return err
	}
	defer app.close()
	report := app.Load(ctx, "add")
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, p := range report.Problems {
		if p.Severity == spicepod.Error {
			return a.problem(p)
		}
	}
	for _, p := range report.Problems {
		if strings.HasPrefix(p.Component, "dataset ") {
			a.problem(p).WriteText(std.err)
		}
	}
	return a.show(ctx, app, out)
}

// problem returns a fault of the trial without its position, which is not one in the file.
func (a *addition) problem(p spicepod.Problem) spicepod.Problems {
	if _, key, ok := strings.Cut(p.Path, "params."); ok && !strings.Contains(p.Message, key) {
		p.Message = "params." + key + ": " + p.Message
	}
	p.Position, p.Source = spicepod.Position{}, ""
	return spicepod.Problems{p}
}

// refuse returns a fault of the entry.
func (a *addition) refuse(message, hint string) error {
	return spicepod.Problems{{Component: "dataset " + a.entry.Name, Message: message, Hint: hint}}
}

// shownRows is how many rows are shown of a source.
const shownRows = 5

func (a *addition) show(ctx context.Context, app *app, out io.Writer) error {
	d := app.Current().Datasets[0]
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "COLUMN\tTYPE\n")
	for _, c := range d.Columns() {
		fmt.Fprintf(table, "%s\t%s\n", c.Name, c.Type)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	name := engine.Identifier(d.Relation.Schema) + "." + engine.Identifier(d.Relation.Name)
	rows, err := app.DB().Query(ctx, engine.Request{SQL: fmt.Sprintf("SELECT * FROM %s LIMIT %d", name, shownRows)})
	if err != nil {
		e := engine.AsError(err)
		return a.refuse(e.Message, e.Hint)
	}
	defer rows.Close()
	form, _ := format.ByName("table")
	if _, err := format.Copy(form.NewWriter(out), rows); err != nil {
		e := engine.AsError(err)
		return a.refuse(e.Message, e.Hint)
	}
	return nil
}

// write writes the variables and then the file, so that a running spiced finds them.
func (a *addition) write(std streams) error {
	file, err := filepath.EvalSymlinks(a.pod.File)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != a.text {
		return fmt.Errorf("%s has been changed meanwhile; run the command again", filepath.Base(file))
	}
	if err := a.variables.write(std.out); err != nil {
		return err
	}
	if err := disk.Write(file, []byte(a.edited), info.Mode().Perm()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "added dataset %s to %s\n", a.entry.Name, filepath.Base(file))
	return err
}

// localPath returns a `from` of a file whose path starts at the folder of the Spicepod, if
// the path that is given starts at this folder and there is such a file.
func localPath(pod *spicepod.Pod, from string) string {
	path, ok := strings.CutPrefix(from, "file:")
	if !ok || filepath.IsAbs(path) {
		return from
	}
	here, err := filepath.Abs(path)
	fixed := here
	if at := strings.IndexAny(here, "*?["); at >= 0 {
		fixed = filepath.Dir(here[:at])
	}
	if _, missing := os.Stat(fixed); err != nil || missing != nil {
		return from
	}
	relative, err := filepath.Rel(pod.Dir, here)
	if err != nil || strings.HasPrefix(relative, "..") {
		return "file:" + here
	}
	if strings.HasSuffix(path, "/") {
		relative += "/"
	}
	return "file:" + filepath.ToSlash(relative)
}
