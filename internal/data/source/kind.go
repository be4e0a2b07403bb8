package source

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/data/load"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source/fetch"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Kind is a kind of connectors. Its package has it in a variable, and parts.go of
// internal/runtime lists them all: a connector is known by name nowhere else.
// docs/connectors.md is made of the kinds.
type Kind struct {
	Names   []string // prefixes of `from`
	Aliases []string // other names, in `from` of catalogs and of drafts
	From    string   // examples of `from`, in Markdown
	Catalog string   // examples of `from` of catalogs, in Markdown; "": it has none
	About   string   // what it reads, in Markdown
	Params  []spicepod.Param
	Note    string // on the params, in Markdown

	URL     bool // the target is all of `from`: a URL
	Copied  bool // only a copy can be read
	Written bool // tables can be written
	Locked  bool // while a source is open, other processes cannot change what it reads

	Extension string // of DuckDB, which must be loaded before DuckDB is locked; "": none
	Root      string // what DuckDB must be allowed to read, in addition to folders; "": nothing

	Open  func(Host) Connector
	Proxy func(*slog.Logger) (Proxy, error) // that the extension reads; nil: none

	// Draft makes a declaration of what a user has, see [Draft]. nil: the text is the `from`.
	Draft func(text, more string) (Draft, error)
	// Drafts reports whether Draft takes a text that does not begin with one of Names and a
	// colon; nil: it takes none.
	Drafts func(text string) bool
	// Paths: a text that does not name a connector is a path of this one.
	Paths bool
}

// Connector compiles declarations to sources. If it has a method Close(), that is called when
// the runtime ends; if it has a method Share([]Source), it gets all sources of a Spicepod before
// one is opened.
type Connector interface {
	// Compile checks what can be checked without accessing the source. Its errors may contain
	// secrets, which package datasets redacts.
	Compile(Declaration) (Source, error)
}

// Host is what a runtime gives to all connectors.
type Host struct {
	DB          *engine.DB
	Log         *slog.Logger
	Clock       load.Clock
	Progress    *load.Reporter
	Roots       Roots
	Attacher    *resource.Attacher
	Objects     *objectstore.Proxy
	Cache       *fetch.Cache
	MaxDownload int64 // bytes of a file
	MaxFiles    int   // of a dataset
	Documents   documents.Open
	Proxy       Proxy // of the kind; nil: DuckDB has attached none
}

// Proxy is a server in this process that DuckDB attaches before it is locked, in place of
// the servers of datasets.
type Proxy interface {
	Extension(engine.Extension) engine.Extension // with what attaches the proxy
	Interrupt(label string)                      // see [engine.Options.Interrupted]
	Close()
}

// Kinds are the kinds of connectors that are served, in the order of the docs.
type Kinds []Kind

// Of returns the kind of a connector, or nil.
func (all Kinds) Of(name string) *Kind {
	for i := range all {
		if slices.Contains(all[i].Names, name) {
			return &all[i]
		}
	}
	return nil
}

// Names returns the names of all connectors, sorted.
func (all Kinds) Names() (names []string) {
	for _, k := range all {
		names = append(names, k.Names...)
	}
	slices.Sort(names)
	return names
}

// Alias returns the name of the connector that has another name, or that name.
func (all Kinds) Alias(name string) string {
	for _, k := range all {
		if slices.Contains(k.Aliases, name) {
			return k.Names[0]
		}
	}
	return name
}

// CatalogOf returns the connector and the target of `from` of a catalog.
func (all Kinds) CatalogOf(from spicepod.Text) (name, target string) {
	name, _, target = cut(from)
	return all.Alias(name), target
}

// Used returns the kinds of the datasets and catalogs of a Spicepod.
func (all Kinds) Used(pod *spicepod.Pod) (some Kinds) {
	names := map[string]bool{}
	for _, d := range pod.Datasets {
		name, _, _ := cut(d.From)
		names[name] = true
	}
	for _, c := range pod.Catalogs {
		name, _ := all.CatalogOf(c.From)
		names[name] = true
	}
	for _, k := range all {
		if slices.ContainsFunc(k.Names, func(name string) bool { return names[name] }) {
			some = append(some, k)
		}
	}
	return some
}

// cut splits `from` after the name of a connector, which is followed by ":", "/" or nothing.
func cut(from spicepod.Text) (name, separator, target string) {
	text := strings.TrimSpace(from.Reveal())
	end := strings.IndexAny(text, ":/")
	if end < 0 {
		return strings.ToLower(text), "", ""
	}
	return strings.ToLower(text[:end]), text[end : end+1], strings.TrimPrefix(text[end+1:], "//")
}
