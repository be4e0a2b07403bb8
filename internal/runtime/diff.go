package runtime

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// This file decides what a reload rebuilds. What it keeps goes on with its
// state: data, connections, prepared statements.
//
//	dataset        rebuilt if its declaration differs (datasets.Manager.Prepare)
//	view           if its declaration or a function it calls differs, or what it reads is rebuilt
//	function       (also of a tool) if its compiled text differs, or a function or relation it uses is rebuilt
//	tool           if its definition differs (registry.NewCatalog, udf.NewToolSet)
//	embeddings     all of them if any declaration differs
//	model          if its declaration differs (models.NewSet)
//	MCP server     if its declaration differs (mcpclient.Manager.Prepare)
//	keys           always; their counters go on (auth.NewKeyring)
//
// In a DuckDB that was opened again, all DDL runs, whatever has changed.

// changed returns the functions and views whose DDL must run: those that are
// new or differ, and those that use one of these or a dataset that differs.
func (b *build) changed() map[component]bool {
	all := map[component]bool{}
	names := map[string]bool{}
	relations := map[engine.Relation]bool{}
	for _, d := range b.datasets {
		relations[d.Relation] = b.isNewDataset(d)
	}
	for _, c := range b.order {
		if !b.isNew(c) && !b.usesAny(c, names, relations) {
			continue
		}
		all[c] = true
		if c.function != nil {
			names[sqltree.Fold(c.function.Name)] = true
		} else {
			relations[c.view.Relation] = true
		}
	}
	return all
}

// isNew reports whether c is not in the current generation as it is now.
func (b *build) isNew(c component) bool {
	if c.function != nil {
		return b.report.renewed || !c.function.Same(b.old.Functions.Get(c.function.Name))
	}
	return b.report.renewed || b.lastView(c.view.Relation) != c.view
}

// isNewDataset reports whether d is not in the current generation.
func (b *build) isNewDataset(d *datasets.Dataset) bool {
	return b.report.renewed || b.lastDataset(d.Relation) != d
}

func (b *build) usesAny(c component, names map[string]bool, relations map[engine.Relation]bool) bool {
	fs, rs := c.uses()
	return slices.ContainsFunc(fs, func(n string) bool { return names[sqltree.Fold(n)] }) ||
		slices.ContainsFunc(rs, func(r engine.Relation) bool { return relations[r] })
}

func (b *build) lastDataset(r engine.Relation) *datasets.Dataset {
	for _, d := range b.old.Datasets {
		if d.Relation == r {
			return d
		}
	}
	return nil
}

func (b *build) lastView(r engine.Relation) *views.View {
	for _, v := range b.old.Views {
		if v.Relation == r {
			return v
		}
	}
	return nil
}

// reusable returns v unless a function that it calls has changed, because the
// text of the calls depends on their signatures.
func (b *build) reusable(v *views.View) *views.View {
	if v == nil || v.Current().Lost() {
		return nil
	}
	for _, name := range v.Uses.Functions {
		if f := b.set.Get(name); f == nil || !f.Same(b.old.Functions.Get(name)) {
			return nil
		}
	}
	return v
}

// lastEmbeddings returns the current embedding models if their declarations are
// unchanged and all of them work, or nil.
func (b *build) lastEmbeddings() *embeddings.Set {
	if b.old.Embeddings == nil || !b.old.Embeddings.Complete() ||
		spicepod.Fingerprint(b.old.Pod.Embeddings) != spicepod.Fingerprint(b.pod.Embeddings) {
		return nil
	}
	return b.old.Embeddings
}

// removal is a component that is no longer served, and the DDL that drops it.
type removal struct {
	component string
	ddl       []string
}

// removed returns the functions, views and datasets that are no longer served.
func (b *build) removed() []removal {
	var list []removal
	if b.report.renewed {
		return nil
	}
	for _, f := range b.set.Removed(b.old.Functions) {
		list = append(list, removal{"function " + f.Name, f.Drop()})
	}
	available := b.available()
	for _, v := range b.old.Views {
		if !slices.Contains(available, v.Relation) && !slices.Contains(b.views, v) { // its load is tried again
			list = append(list, removal{"view " + v.Declared.Name, v.Drop()})
		}
	}
	for _, d := range b.old.Datasets {
		if !slices.Contains(available, d.Relation) {
			list = append(list, removal{"dataset " + d.Declared.Name, d.Drop()})
		}
	}
	return list
}
