package datasets

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/policy"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Dataset is a dataset that is ready to be published. It is safe for
// concurrent use; a refresh replaces what it reads, nothing else changes.
type Dataset struct {
	tables.Table

	Path     string           // in the Spicepod: datasets[3]; the last Prepare sets it
	Declared spicepod.Dataset // as written
	Hash     string           // of all that decides what it holds

	from    source.From
	source  source.Source
	secrets source.Secrets
	columns []source.Column // declared ones
	policy  *policy.Policy  // nil: everyone sees all rows
}

// compile checks all of a declared dataset that needs no look at its source.
func (m *Manager) compile(ctx context.Context, pod *spicepod.Pod, index int) (*Dataset, error) {
	decl := pod.Datasets[index]
	d := &Dataset{Path: fmt.Sprintf("datasets[%d]", index), Declared: decl}
	d.Kind, d.Name, d.Description, d.Described, d.Protected = "dataset", decl.Name, decl.Description, decl.Columns, decl.Protected()
	d.State.Move(pod.At(d.Path))
	d.secrets = append(source.SecretsIn(decl.From), source.SecretsIn(decl.Params)...)
	var err error
	if d.Relation, err = tables.Relation(decl.Qualified()); err != nil {
		return d, err
	}
	if err = m.compileSource(pod, d); err != nil {
		return d, err
	}
	if a := decl.Acceleration; a != nil && a.Enabled {
		d.Acceleration = a
		if err = m.checkAcceleration(ctx, d); err != nil {
			return d, err
		}
	}
	d.policy, err = policy.Compile(ctx, m.opts.DB, d.Relation.Name, decl)
	d.Hash = spicepod.Fingerprint([]any{decl, d.from.Dir})
	return d, err
}

func (m *Manager) compileSource(pod *spicepod.Pod, d *Dataset) error {
	file := pod.At(d.Path + ".from").File
	if !filepath.IsAbs(file) {
		file = filepath.Join(pod.Dir, file)
	}
	var err error
	if d.from, err = source.Parse(d.Declared.From, filepath.Dir(file), servedConnectors); err != nil {
		return err
	}
	if d.columns, err = columnTypes(d.Declared.Columns); err != nil {
		return err
	}
	d.source, err = m.connectors[d.from.Connector].Compile(source.Declaration{
		Name: d.Name, Table: d.Relation.Name, From: d.from, Params: d.Declared.Params, Columns: d.columns,
		Write: d.Declared.Access == spicepod.AccessReadWrite,
	})
	return err
}

// checkAcceleration checks what can be checked without the source.
func (m *Manager) checkAcceleration(ctx context.Context, d *Dataset) error {
	a := d.Acceleration
	if a.RefreshMode == spicepod.RefreshAppend && d.Declared.TimeColumn == "" {
		return fault.New("acceleration.refresh_mode", "add time_column: with the column that says how new a row is",
			"refresh_mode append needs a time_column")
	}
	if err := copies.CheckIndexes(a); err != nil || a.RefreshSQL == "" {
		return err
	}
	_, err := m.refreshQuery(ctx, d, a.RefreshSQL)
	return err
}

// checkAccess refuses access read_write where writes would not do what they
// say.
func (d *Dataset) checkAccess() error {
	const readOnly = "leave access out, or "
	switch {
	case d.Declared.Access != spicepod.AccessReadWrite:
		return nil
	case d.from.Connector != "duckdb":
		return fault.New("access", readOnly+"keep the data in a DuckDB file (from: duckdb:file.db)", "a %s source cannot be written", d.from.Connector)
	case d.Acceleration != nil:
		return fault.New("access", readOnly+"leave acceleration out", "writes would go to the source and not reach the accelerated copy")
	}
	for i, c := range d.columns {
		if c.Type != "" {
			return fault.New(fmt.Sprintf("columns[%d].type", i), "leave it out", "a table that is written keeps the types of its columns")
		}
	}
	return nil
}

// Query is what the dataset's view selects now: its source, or its copy, with
// its policy.
func (d *Dataset) Query() string { return d.Current().Query }

// Base returns the qualified name of the table that writes to the dataset go
// to. It reports false when the dataset may only be read.
func (d *Dataset) Base() (string, bool) {
	v := d.Current()
	return v.Base, v.Base != ""
}

// Written reports whether statements may change what the dataset reads: through
// it or through another dataset of the same file.
func (d *Dataset) Written() bool { return d.Current().Private }

// ReadsFiles reports whether statements read the files themselves, which may be
// replaced at any time.
func (d *Dataset) ReadsFiles() bool { return d.Current().Direct }

// Script returns the statements that make the dataset in another process, where
// the runtime's data files are attached read-only. What that process cannot
// reach is a view whose reading says so.
func (d *Dataset) Script() []string {
	v := d.Current()
	if !v.Private {
		return d.DDLOf(v)
	}
	columns := make([]string, len(v.Columns))
	for i, c := range v.Columns {
		columns[i] = fmt.Sprintf("CAST(NULL AS %s) AS %s", c.Type, engine.Identifier(c.Name))
	}
	why := fmt.Sprintf("dataset %q may be written, and isolated statements do not reach it", d.Name)
	stub := *v
	stub.Query = fmt.Sprintf("SELECT %s FROM (SELECT error(%s) AS why) WHERE why IS NULL", strings.Join(columns, ", "), engine.Literal(why))
	return d.DDLOf(&stub)
}

// Install makes the view in a transaction. The error is a [*spicepod.Problem]
// at the dataset. After an error of the source's, such as a file
// that vanished, DuckDB has aborted the transaction.
func (d *Dataset) Install(tx *engine.Tx) error {
	for _, sql := range d.DDL() {
		if err := tx.Exec(sql); err != nil {
			f := d.redacted(err)
			return &spicepod.Problem{Position: d.State.Position(), Path: d.Path, Component: d.Component(), Message: f.Message, Hint: f.Hint}
		}
	}
	return nil
}

// redacted is an error about the dataset's source as everyone may see it:
// without secrets and, where callers do not see all rows, without values.
func (d *Dataset) redacted(err error) *fault.Fault {
	f := *fault.FromDuckDB(err)
	if d.policy != nil && f.Public != "" {
		f.Message = f.Public
	}
	f.Message, f.Hint = d.secrets.Redact(f.Message), d.secrets.Redact(f.Hint)
	return &f
}

// typeText is what the text of a type may be made of; with balanced brackets
// it cannot leave the CAST it is put in.
var typeText = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_ ,.()\[\]"]*$`)

// columnTypes returns the declared columns with their DuckDB types.
func columnTypes(columns []spicepod.DatasetColumn) ([]source.Column, error) {
	out := make([]source.Column, len(columns))
	for i, c := range columns {
		out[i].Name = c.Name
		if c.Type == "" {
			continue
		}
		t, err := functions.ParseType(c.Type)
		switch {
		case err == nil:
			out[i].Type = t.SQL()
		case typeText.MatchString(c.Type) && balanced(c.Type): // it may be one of DuckDB's
			out[i].Type = c.Type
		default:
			return nil, fault.New(fmt.Sprintf("columns[%d].type", i), "write a type such as int64, utf8 or DECIMAL(10,2)", "%q is not a type", c.Type)
		}
	}
	return out, nil
}

// balanced reports whether quotes and brackets close in order.
func balanced(s string) bool {
	var open []rune
	quoted := false
	for _, r := range s {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '(' || r == '[':
			open = append(open, r)
		case r == ')' || r == ']':
			want := map[rune]rune{')': '(', ']': '['}[r]
			if len(open) == 0 || open[len(open)-1] != want {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return !quoted && len(open) == 0
}
