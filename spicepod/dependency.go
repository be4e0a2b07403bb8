package spicepod

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// A dependency is another Spicepod, whose components are added to those of the one that
// names it. Its author may be a stranger: it reads no file outside of its folder, no
// variable of the process, and starts no process.

// dependency is a Spicepod that was added.
type dependency struct {
	dir   string
	name  string
	index *index
	lists map[string]span // its components in the lists of the Pod
}

// span is a part of a list.
type span struct{ first, count int }

// maxDependencies is the most Spicepods that a Spicepod needs, also through others.
const maxDependencies = 100

// dependencyLists are the lists of components that are taken from dependencies.
var dependencyLists = []string{
	"catalogs", "datasets", "views", "functions", "embeddings", "tools", "toolsets",
	"models", "agents", "semantic_models", "metrics",
}

// registryName matches org/name@version of Spice's registry.
var registryName = regexp.MustCompile(`^([A-Za-z0-9][\w.-]*)/([A-Za-z0-9][\w.-]*?)(@[\w.+-]+)?$`)

// dependencies loads the dependencies of a Spicepod, each once.
type dependencies struct {
	*decoder
	pod    *Pod
	loaded map[string]bool // by the path of the file, without symbolic links
	around []string        // files whose dependencies are being loaded
}

// addDependencies adds the components of what the Spicepod needs.
func (d *decoder) addDependencies(pod *Pod) {
	l := &dependencies{decoder: d, pod: pod, loaded: map[string]bool{real(pod.File): true}, around: []string{pod.File}}
	l.add(d, pod)
}

// add adds the dependencies of a Spicepod that a decoder has read: the one that is loaded, or
// one of its dependencies.
func (l *dependencies) add(by *decoder, pod *Pod) {
	for i, name := range pod.Dependencies {
		at := by.index.find(parsePath(fmt.Sprintf("dependencies[%d]", i))).value
		path := fmt.Sprintf("dependencies[%d]", i)
		file, hint := l.look(by, name)
		switch {
		case file == "":
			p := at.problem(path, fmt.Sprintf("there is no Spicepod at %q", truncate.Runes(name, maxShown)), hint)
			p.Component = "dependency " + truncate.Runes(name, maxShown)
			l.pod.faults = append(l.pod.faults, p)
		case slices.Contains(l.around, file):
			l.decoder.add(at.problem(path, "dependency cycle: "+l.cycle(file), "leave one of them out"))
		case l.loaded[real(file)]:
		case len(l.loaded) > maxDependencies:
			l.decoder.add(at.problem(path, fmt.Sprintf("more than %d dependencies", maxDependencies), ""))
			return
		default:
			l.loaded[real(file)] = true
			l.load(file)
		}
	}
}

// look returns the file of a dependency, or "" and a hint.
func (l *dependencies) look(by *decoder, name string) (file, hint string) {
	store := filepath.Join(l.home, "spicepods")
	folders := []string{by.absolute(name)}
	hint = "write the path of a folder with a spicepod.yaml, relative to the folder of this file"
	if m := registryName.FindStringSubmatch(name); m != nil {
		folders = append(folders, filepath.Join(store, m[1], m[2]), filepath.Join(store, m[2]))
		hint = fmt.Sprintf("Spicepods of a registry are not fetched: put it into the folder spicepods/%s/%s next "+
			"to the Spicepod", m[1], m[2])
	}
	for i, folder := range folders {
		found, err := findFile(folder)
		if i == 0 && by.within != "" && !inFolder(real(folder), by.within) && !inFolder(real(folder), real(store)) &&
			!slices.Contains(l.around, found) {
			hint = "a dependency names only Spicepods in its own folder and in spicepods"
			continue
		}
		if err == nil {
			return found, ""
		}
		l.index.files[filepath.Join(folder, "spicepod.yaml")] = true // it may come
	}
	return "", hint
}

// cycle shows the files from one to itself.
func (l *dependencies) cycle(file string) string {
	var shown []string
	for _, f := range append(l.around[slices.Index(l.around, file):], file) {
		shown = append(shown, shownPath(l.home, f))
	}
	return strings.Join(shown, " → ")
}

// load reads a dependency, adds its components, and then its own dependencies.
func (l *dependencies) load(file string) {
	dir := filepath.Dir(file)
	own := &decoder{
		dir: dir, home: l.home, within: real(dir), types: l.types, parts: map[string]*part{}, problems: l.problems,
		full: l.full, bodies: l.bodies,
		expanded: l.expanded, component: l.component, partBytes: l.partBytes,
		index: &index{refs: l.index.refs, texts: l.index.texts, files: l.index.files, unset: map[string][]Unset{}},
	}
	own.index.files[file] = true
	for _, name := range []string{".env", ".env.local"} {
		own.index.files[filepath.Join(dir, name)] = true
	}
	pod := own.load(file)
	l.problems, l.full, l.expanded, l.component, l.partBytes = own.problems, own.full, own.expanded, own.component,
		own.partBytes
	if pod == nil {
		return
	}
	l.take(pod)
	l.around = append(l.around, file)
	l.add(own, pod)
	l.around = l.around[:len(l.around)-1]
}

// take adds the components of a dependency.
func (l *dependencies) take(pod *Pod) {
	d := &dependency{dir: pod.Dir, name: pod.Name, index: pod.index, lists: map[string]span{}}
	to, from := reflect.ValueOf(l.pod).Elem(), reflect.ValueOf(pod).Elem()
	info := l.types.describe(to.Type())
	for _, list := range dependencyLists {
		field := info.fields[info.byName[list]].index
		d.lists[list] = span{to.Field(field).Len(), from.Field(field).Len()}
		to.Field(field).Set(reflect.AppendSlice(to.Field(field), from.Field(field)))
	}
	l.pod.dependencies = append(l.pod.dependencies, d)
	for i, t := range pod.Tools {
		if process, ok := strings.CutPrefix(t.From, "mcp:"); ok && !strings.HasPrefix(process, "http://") &&
			!strings.HasPrefix(process, "https://") {
			l.decoder.add(pod.Problem(fmt.Sprintf("tools[%d].from", i), "a dependency starts no process",
				"declare the tool in the Spicepod itself"))
		}
	}
	for i, f := range pod.Functions {
		if f.BodyKind.InProcess() {
			l.decoder.add(pod.Problem(fmt.Sprintf("functions[%d].from", i), "a dependency starts no process",
				"declare the function in the Spicepod itself"))
		}
	}
	warn := func(path, message, hint string) {
		p := pod.Problem(path, message, hint)
		p.Severity = Warning
		l.pod.faults = append(l.pod.faults, p)
	}
	l.pod.faults = append(l.pod.faults, pod.NotServed()...)
	root := pod.index.root.node
	for i := 0; i+1 < len(root.Content); i += 2 {
		if key := keyText(root.Content[i]); slices.Contains([]string{"runtime", "sandboxes", "search_tests"}, key) &&
			!isEmpty(target(root.Content[i+1])) {
			warn(key, key+" of a dependency has no effect", "write it in the Spicepod itself")
		}
	}
}

// DependencyDir returns the folder of the dependency that declares the component at a path,
// such as datasets[3]; "" if the Spicepod itself does.
func (p *Pod) DependencyDir(path string) string {
	at, _ := p.locate(path)
	for _, d := range p.dependencies {
		if d.index == at {
			return d.dir
		}
	}
	return ""
}

// inside reports whether a file may be read: a dependency reads those of its folder.
func (d *decoder) inside(path string) bool {
	return d.within == "" || inFolder(real(path), d.within)
}

// folder returns the folder whose files ref, body_ref, sql_ref and params.module may name: that of
// the dependency, or of the Spicepod. Others could have secrets, which an error about their text
// would show.
func (d *decoder) folder() (path, of, hint string) {
	if d.within != "" {
		return d.within, "the dependency", "a dependency reads files of its own folder only"
	}
	return real(d.home), "the Spicepod",
		"move the file into that folder, or start spiced with a Spicepod in a folder above both; symbolic links that lead " +
			"out are not followed"
}

// inFolder reports whether a path is in a folder. Neither has symbolic links.
func inFolder(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// real returns a path without the symbolic links in the part of it that exists.
func real(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	if _, err := os.Lstat(path); err == nil || filepath.Dir(path) == path {
		return path // a link to nothing
	}
	return filepath.Join(real(filepath.Dir(path)), filepath.Base(path))
}
