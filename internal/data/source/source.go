// Package source has what connectors share: the declaration of a dataset, which
// a connector compiles to a [Source], and the data roots.
//
// A connector is a package below this one with a value of [Kind], which has its name, its params
// and how it is opened:
//
//	connector := file.Kind.Open(source.Host{DB: db, Roots: roots, MaxFiles: 100_000})
//	src, err := connector.Compile(declaration)
//	opened, err := src.Open(ctx)
package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Declaration is the part of a dataset's declaration that connectors use.
type Declaration struct {
	Name    string // as declared
	Table   string // without the schema
	From    From
	Params  spicepod.Params
	Columns []spicepod.DatasetColumn // with types of DuckDB
	Write   bool                     // access: read_write
	Listed  bool                     // a table of a catalog: with Write, it is read if it cannot be written
	Copied  bool                     // into an accelerated copy
}

// Source is a compiled `from`.
type Source interface {
	// Open makes the current state of the source readable.
	Open(ctx context.Context) (*Opened, error)
}

// Opened is a source that can be read.
type Opened struct {
	Query    string          // SELECT * FROM the source
	Base     string          // the table of DuckDB that writes go to; "" if there is none
	Writer   engine.Writer   // that writes to another table; nil if there is none
	ReadOnly error           // why a table of a catalog cannot be written
	Written  bool            // it is attached for writing; other processes cannot attach it
	Changing bool            // statements may change what it reads
	Columns  []engine.Column // of Query
	Comments tables.Comments
	Format   string
	Bytes    int64
	Stale    error   // why an older copy is read instead of the source
	Remarks  []error // warnings about the values: they are read, and may not be what the author means
	// Narrow tells the source which rows are read from now on: those that meet a condition,
	// "" for all, and of these as many, 0 for all. It may read more. nil: it reads all.
	Narrow    func(where string, limit int64)
	Resources []*resource.Resource // for the caller to release
}

// Changer is a source that can say, before it is opened, whether statements may change what
// it reads.
type Changer interface{ Changing() bool }

// NeedsExtension returns a fault unless an extension of DuckDB is loaded.
func NeedsExtension(db *engine.DB, name string) error {
	err := db.Extension(name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, engine.ErrNotInstalled):
		return fault.New("from", "run: spiced extensions install "+name+", and restart spiced",
			"the connector needs DuckDB's extension %s, which is not installed", name)
	case errors.Is(err, engine.ErrNotLoaded):
		return fault.New("from", "restart spiced",
			"the connector needs DuckDB's extension %s, which is only loaded at a start", name)
	}
	return fault.New("from", "run: spiced extensions install "+name+", and restart spiced",
		"the connector needs DuckDB's extension %s, which cannot be loaded: %s", name, fault.FirstLines(err.Error()))
}

// From is the `from` of a dataset.
type From struct {
	Connector string
	Target    string // path, URL or table; may contain secrets
	Shown     string // as written, for messages
	Dir       string // base of relative paths
	Within    string // of a dependency: the folder whose files it may read; else ""
}

// Parse parses `from` of a dataset: connector:path, connector://path or connector/path.
func (all Kinds) Parse(from spicepod.Text, dir string) (From, error) {
	name, separator, target := cut(from)
	kind := all.Of(name)
	switch {
	case name == "" || separator == "" || separator == "/" && kind == nil:
		hint := nearest.Hint(name, all.Names(), "") + " write connector:path, for example file:" + from.String()
		return From{}, fault.New("from", strings.TrimSpace(hint), "%q does not name a connector", from.String())
	case kind == nil:
		shown, served := name, all.Names()
		if from.Secret() {
			shown = from.String()
		}
		hint := strings.TrimSpace(nearest.Hint(name, served, "") + " served: " + strings.Join(served, ", "))
		return From{}, fault.New("from", hint, "connector %q is not served by this build", shown)
	}
	f := From{Connector: name, Target: target, Shown: from.String(), Dir: dir}
	if kind.URL {
		f.Target = strings.TrimSpace(from.Reveal())
	}
	if f.Target == "" || kind.URL && !strings.HasPrefix(strings.ToLower(f.Target), name+"://") {
		return From{}, fault.New("from", "write "+name+":path", "%q has no path", from.String())
	}
	return f, nil
}

// SplitName returns the parts of a name of a table, which are separated by dots; each may
// be quoted.
func SplitName(text string) (parts []string, err error) {
	for rest := text; ; {
		part := ""
		if strings.HasPrefix(rest, `"`) {
			end := 1
			for ; end < len(rest); end++ {
				if rest[end] == '"' && !strings.HasPrefix(rest[end:], `""`) {
					break
				} else if rest[end] == '"' {
					end++
				}
			}
			if end >= len(rest) {
				return nil, fault.New("from", "close the quote", "the name %s has one quote only", text)
			}
			part, rest = strings.ReplaceAll(rest[1:end], `""`, `"`), rest[end+1:]
		} else {
			end := strings.IndexByte(rest+".", '.')
			part, rest = rest[:end], rest[end:]
		}
		if part == "" || rest != "" && rest[0] != '.' {
			return nil, fault.New("from", "write table, schema.table or database.schema.table",
				"%q is not the name of a table", text)
		}
		parts = append(parts, part)
		if rest == "" {
			return parts, nil
		}
		rest = rest[1:]
	}
}

// QuoteName returns the name of a table as [SplitName] reads it, with quotes where a part
// needs them.
func QuoteName(parts ...string) string {
	quoted := slices.Clone(parts)
	for i, p := range parts {
		if p == "" || strings.ContainsAny(p, `."`) {
			quoted[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
		}
	}
	return strings.Join(quoted, ".")
}

// Absolute returns a path of the declaration as an absolute path.
func (f From) Absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(f.Dir, path)
}

// Roots are the folders that sources may be read from.
type Roots struct{ declared, real []string } // real has no symbolic links

// NewRoots returns the roots of absolute paths.
func NewRoots(folders []string) Roots {
	r := Roots{declared: folders}
	for _, root := range folders {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			r.real = append(r.real, real)
		}
	}
	return r
}

// Check returns an error if a path, or the part of a glob before its first
// metacharacter, is outside of the roots, also through symbolic links.
func (r Roots) Check(path string) error {
	fixed := path
	if strings.ContainsAny(path, "*?[") {
		if _, err := os.Lstat(path); err != nil {
			fixed = filepath.Dir(path[:strings.IndexAny(path, "*?[")] + "x")
		}
	}
	if !within(fixed, r.declared) && !within(fixed, r.real) {
		return fault.New("from", fmt.Sprintf("add %q to runtime.data_roots and restart spiced", rootFor(fixed)),
			"%q is outside of the data roots", path)
	}
	real, err := filepath.EvalSymlinks(fixed)
	if err != nil {
		return nil // it does not exist, which the caller reports
	}
	if !within(real, r.real) {
		return fault.New("from", fmt.Sprintf("add %q to runtime.data_roots and restart spiced", rootFor(real)),
			"%q leads through a symbolic link to %q, outside of the data roots", path, real)
	}
	return nil
}

// CheckFrom is Check of a path that a declaration names: one of a dependency may only read
// files below its folder.
func (r Roots) CheckFrom(f From, path string) error {
	if f.Within != "" && NewRoots([]string{f.Within}).Check(path) != nil {
		return fault.New("from", "declare it in the Spicepod itself", "%q is outside of the folder of the dependency", path)
	}
	return r.Check(path)
}

// Open opens a folder in the roots. Links in it that lead out of it are not followed.
func (r Roots) Open(path string) (*os.Root, error) {
	if err := r.Check(path); err != nil {
		return nil, err
	}
	for _, roots := range [][]string{r.declared, r.real} {
		for _, root := range roots {
			if !within(path, []string{root}) {
				continue
			}
			outer, err := os.OpenRoot(root)
			if err != nil {
				return nil, err
			}
			defer outer.Close()
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			return outer.OpenRoot(rel)
		}
	}
	return nil, fault.New("from", "", "%q is outside of the data roots", path)
}

// rootFor returns the folder to add to the roots for a path.
func rootFor(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	return filepath.Dir(path)
}

func within(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	})
}

// MissingFile reports a file that does not exist, with the nearest name in its
// folder.
func MissingFile(path string) *fault.Fault {
	var names []string
	if entries, err := os.ReadDir(filepath.Dir(path)); err == nil {
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	elsewhere := "paths are relative to the folder of the file that declares the dataset"
	if strings.Contains(path, "${") {
		elsewhere = "a variable is written ${env:NAME}"
	}
	hint := nearest.Hint(filepath.Base(path), names, elsewhere)
	return fault.New("from", hint, "file %q does not exist", path).Retryable()
}
