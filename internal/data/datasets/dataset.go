package datasets

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/policy"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Dataset is a dataset that can be published. It is safe for concurrent use: a
// refresh replaces its version, and [Manager.Prepare] its position.
type Dataset struct {
	tables.Table

	Path     string // in the last prepared Spicepod: datasets[3]
	Declared spicepod.Dataset
	Hash     string // of the declaration and its folder

	from     source.From
	source   source.Source
	redact   func(string) string // replaces secrets
	policy   *policy.Policy      // nil: none
	requests *requests           // nil: it is not a [source.Requester]
	listed   *source.ListedTable // nil unless it is a table of a catalog
	eager    bool                // it is opened at once: it is declared, or a view or function may read it
}

// compile checks what can be checked without accessing the source.
func (m *Manager) compile(ctx context.Context, in *listed, index int) (*Dataset, error) {
	pod, decl := in.pod, in.pod.Datasets[index]
	d := &Dataset{Path: fmt.Sprintf("datasets[%d]", index), Declared: decl}
	d.Kind, d.Name, d.Description, d.Described, d.Protected = "dataset", decl.Name, decl.Description,
		slices.Clone(decl.Columns), decl.Protected()
	d.State.Move(pod.At(d.Path))
	d.redact = redaction(decl, filepath.Join(m.opts.StateDir, downloads))
	d.listed = in.table(index)
	var err error
	if d.Relation, err = tables.Relation(decl.Qualified()); err != nil {
		return d, err
	}
	if err = m.compileSource(pod, d); err != nil {
		return d, err
	}
	a := decl.Acceleration
	requester, requests := d.source.(source.Requester)
	if requests && (a == nil || !a.Enabled) {
		a = uncopied()
		d.Declared.Acceleration = a
	}
	if a != nil && a.Enabled {
		d.Acceleration = a
		c, err := compileCaching(d, d.source)
		if err != nil {
			return d, err
		}
		if requests {
			d.requests = newRequests(m, d, requester, c)
		}
		if err = cmp.Or(m.checkAcceleration(ctx, d), snapshotFault(pod, a)); err != nil {
			return d, err
		}
	} else if m.kind(d).Copied {
		return d, fault.New("", "set acceleration.enabled: true", "connector %s reads into an accelerated copy only",
			d.from.Connector)
	}
	if d.policy, err = policy.Compile(ctx, m.opts.DB, d.Relation.Name, decl); d.Acceleration != nil {
		d.Keys = d.policy.Keys(copies.UniqueColumns(d.Acceleration))
	}
	d.Hash = spicepod.Fingerprint([]any{decl, d.from.Dir})
	if d.eager = true; d.listed != nil {
		d.Hash = spicepod.Fingerprint([]any{d.Hash, d.listed})
		d.eager = in.mentioned[sqltree.Fold(d.Relation.Name)]
	}
	return d, err
}

func (m *Manager) compileSource(pod *spicepod.Pod, d *Dataset) error {
	var err error
	if d.from, err = m.opts.Connectors.Parse(d.Declared.From, dirOf(pod, d.Path)); err != nil {
		return err
	}
	d.from.Within = pod.DependencyDir(d.Path)
	if err = duckdbTypes(d.Described); err != nil {
		return err
	}
	d.source, err = m.connectors[d.from.Connector].Compile(source.Declaration{
		Name: d.Name, Table: d.Relation.Name, From: d.from, Params: d.Declared.Params, Columns: d.Described,
		Write: d.Declared.Access == spicepod.AccessReadWrite, Listed: d.listed != nil,
		Copied: d.Declared.Acceleration != nil && d.Declared.Acceleration.Enabled,
	})
	return err
}

// time returns the time_column.
func (d *Dataset) time() copies.Time {
	return copies.Time{Column: d.Declared.TimeColumn, Format: d.Declared.TimeFormat}
}

// checkAcceleration checks the acceleration.
func (m *Manager) checkAcceleration(ctx context.Context, d *Dataset) error {
	a := d.Acceleration
	if d.Declared.TimeColumn == "" {
		for _, c := range []struct {
			is   bool
			key  string
			name string
		}{
			{a.RefreshMode == spicepod.RefreshAppend, "refresh_mode", "refresh_mode append"},
			{a.RefreshDataWindow > 0, "refresh_data_window", "refresh_data_window"},
			{a.RetentionCheckEnabled && a.RetentionPeriod > 0, "retention_period", "retention_period"},
		} {
			if c.is {
				return fault.New("acceleration."+c.key, "set time_column to the column with the time of a row",
					"%s needs a time_column", c.name)
			}
		}
	}
	if a.RefreshAppendOverlap > 0 && a.RefreshMode != spicepod.RefreshAppend {
		return fault.New("acceleration.refresh_append_overlap", "set refresh_mode: append, or leave it out",
			"refresh_mode %s reads all rows again", a.RefreshMode)
	}
	if err := cmp.Or(copies.Check(a), refresh.Check(a)); err != nil {
		return err
	}
	_, err := copies.OrderBy(ctx, m.opts.DB, &d.Table)
	if a.RefreshSQL != "" && err == nil {
		_, _, err = copies.OwnQuery(ctx, m.opts.DB, &d.Table, "refresh_sql", a.RefreshSQL)
	}
	if a.RetentionSQL != "" && err == nil {
		_, err = copies.RetainedQuery(ctx, m.opts.DB, &d.Table)
	}
	return err
}

// checkAccess returns an error if access is read_write but the source cannot be
// written, or writes would not be visible.
func (m *Manager) checkAccess(d *Dataset) error {
	if d.Declared.Access != spicepod.AccessReadWrite {
		return nil
	}
	if err := checkWritten(m.kind(d), d.from.Connector, d.Acceleration != nil); err != nil {
		return err
	}
	for i, c := range d.Described {
		if c.Type != "" {
			return fault.New(fmt.Sprintf("columns[%d].type", i), "leave it out",
				"the columns of a writable table keep their types")
		}
	}
	return nil
}

// checkWritten is checkAccess for a connector.
func checkWritten(kind *source.Kind, connector string, accelerated bool) error {
	const readOnly = "leave access out, or "
	switch {
	case !kind.Written:
		return fault.New("access", readOnly+"keep the data in a DuckDB file (from: duckdb:file.db) or in PostgreSQL or MySQL",
			"connector %s does not support writes", connector)
	case accelerated:
		return fault.New("access", readOnly+"leave acceleration out",
			"writes would change the source, not the accelerated copy")
	}
	return nil
}

// Install creates the public view in a transaction. The error is a
// [*spicepod.Problem]. After an error of the source, such as a missing file,
// DuckDB has aborted the transaction.
func (d *Dataset) Install(tx *engine.Tx) error {
	for _, sql := range d.DDL() {
		if err := tx.Exec(sql); err != nil {
			f := d.redacted(err)
			return &spicepod.Problem{
				Position: d.State.Position(), Path: d.Path, Component: d.Component(), Message: f.Message,
				Hint: f.Hint,
			}
		}
	}
	return nil
}

// redaction returns a function that replaces secrets in a text, and the paths of downloaded
// files, which are in that folder, by what the dataset is from.
func redaction(decl spicepod.Dataset, folder string) func(string) string {
	secrets := source.Redaction(decl.From, decl.Params)
	downloaded := regexp.MustCompile(regexp.QuoteMeta(folder) + `[^"'\s]*`)
	return func(text string) string { return secrets(downloaded.ReplaceAllLiteralString(text, decl.From.String())) }
}

// redacted returns an error about the source without secrets and, if there is a
// policy, without values of rows.
func (d *Dataset) redacted(err error) *fault.Fault {
	f := fault.FromDuckDB(err)
	if d.policy == nil || f.Public == "" {
		return f.Redacted(d.redact)
	}
	public := *f
	public.Message = f.Public // our words
	return &public
}

// typeText matches the text of types. If it also has balanced brackets, it cannot
// end the CAST around it.
var typeText = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_ ,.()\[\]"]*$`)

// duckdbTypes replaces declared types by those of DuckDB.
func duckdbTypes(columns []spicepod.DatasetColumn) error {
	for i, c := range columns {
		if t, err := functions.ParseType(c.Type); err == nil {
			columns[i].Type = t.SQL()
		} else if c.Type != "" && !(typeText.MatchString(c.Type) && balanced(c.Type)) { // it may be a type of DuckDB
			return fault.New(fmt.Sprintf("columns[%d].type", i), "write a type such as int64, utf8 or DECIMAL(10,2)",
				"%q is not a type", c.Type)
		}
	}
	return nil
}

// balanced reports whether each quote and bracket is closed.
func balanced(text string) bool {
	depth := 0
	for _, t := range sqltree.Scan(text) {
		if depth += t.Nesting(text); depth < 0 {
			return false
		}
	}
	return depth == 0 && strings.Count(text, `"`)%2 == 0
}

// Documents reports whether the rows are documents, whose content is Markdown.
func (d *Dataset) Documents() bool {
	v := d.Current()
	return v != nil && fileformat.Documents(v.Format)
}
