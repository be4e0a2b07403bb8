// Package source says what a connector gets and what it gives: a declared
// `from` with its params becomes a [Source], which datasets open as often as
// they load.
//
// A connector is one package below this one. It has a constructor and a method
// Compile, which package datasets lists under the names of the connector:
//
//	func New(db *engine.DB, roots source.Roots) *Connector
//	func (c *Connector) Compile(d source.Declaration) (source.Source, error)
//
// Compile checks what can be checked without a look at the source. Faults name
// the value of the declaration that is wrong; values of secrets may be in them,
// since datasets take those out.
package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Declaration is what a connector gets of a dataset.
type Declaration struct {
	Name    string // as declared
	Table   string // without the schema
	From    From
	Params  spicepod.Params
	Columns []Column // declared ones
	Write   bool     // access: read_write
}

// Column is a declared column.
type Column struct {
	Name, Type string // DuckDB's type; "" for the source's own
}

// Source is a compiled `from`.
type Source interface {
	// Open makes the source ready to be read, as it is now.
	Open(ctx context.Context) (*Opened, error)
}

// Opened is a source that can be read.
type Opened struct {
	Query     string          // SELECT * FROM the source
	Base      string          // the table that writes go to; "" if it cannot be written
	Private   bool            // no other process can attach it
	Columns   []engine.Column // of Query
	Format    string
	Bytes     int64
	Stale     error                // why an older copy is read in place of the source
	Resources []*resource.Resource // the caller releases them
}

// From is the `from` of a dataset.
type From struct {
	Connector string
	Target    string // path, URL or table; it may hold a secret
	Shown     string // from as written, for messages
	Dir       string // folder that relative paths begin at
}

// Parse reads `from`: connector:path, connector://path or connector/path. The
// connectors that are served are in the order of the message that lists them.
func Parse(from spicepod.Text, dir string, connectors []string) (From, error) {
	text := strings.TrimSpace(from.Reveal())
	end := strings.IndexAny(text, ":/")
	name := ""
	if end > 0 {
		name = strings.ToLower(text[:end])
	}
	served := slices.Contains(connectors, name)
	if end <= 0 || text[end] == '/' && !served {
		return From{}, fault.New("from", "write connector:path, for example file:"+from.Raw, "%q names no connector", from.Raw)
	}
	if !served {
		hint, shown := "served: "+strings.Join(connectors, ", "), name
		if from.Secret() {
			shown = from.Raw
		}
		if near := nearest.Hint(name, connectors, ""); near != "" {
			hint = near + " " + hint
		}
		return From{}, fault.New("from", hint, "connector %q is not served by this build", shown)
	}
	f := From{Connector: name, Shown: from.Raw, Dir: dir}
	if f.Remote() {
		f.Target = text
	} else {
		f.Target = strings.TrimPrefix(text[end+1:], "//")
	}
	if f.Target == "" || f.Remote() && !strings.HasPrefix(strings.ToLower(text), name+"://") {
		return From{}, fault.New("from", "write "+name+":path", "%q has no path", from.Raw)
	}
	return f, nil
}

// Remote reports whether Target is a URL.
func (f From) Remote() bool { return f.Connector == "http" || f.Connector == "https" }

// Absolute resolves a path of the Spicepod.
func (f From) Absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(f.Dir, path)
}

// Roots are the folders that sources may be read from.
type Roots struct{ declared, real []string } // real: without symbolic links

// NewRoots takes absolute folders.
func NewRoots(folders []string) Roots {
	r := Roots{declared: folders}
	for _, root := range folders {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			r.real = append(r.real, real)
		}
	}
	return r
}

// Check refuses a path, or the part of a glob before its first
// metacharacter, that is outside of the roots or leads there.
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
		return nil // it does not exist: the caller says so
	}
	if !within(real, r.real) {
		return fault.New("from", fmt.Sprintf("add %q to runtime.data_roots and restart spiced", rootFor(real)),
			"%q leads through a symbolic link to %q, outside of the data roots", path, real)
	}
	return nil
}

// rootFor is the folder to allow for a path.
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

// MissingFile names the path of a file that does not exist, and the nearest name there.
func MissingFile(path string) *fault.Fault {
	var names []string
	if entries, err := os.ReadDir(filepath.Dir(path)); err == nil {
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	hint := nearest.Hint(filepath.Base(path), names, "paths begin at the folder of the file that declares the dataset")
	return fault.New("from", hint, "file %q does not exist", path).Retryable()
}
