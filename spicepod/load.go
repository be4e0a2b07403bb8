package spicepod

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Load reads the Spicepod at path: a folder, in which it looks for spicepod.yaml and then
// spicepod.yml, or a file. An error is always Problems: all structural problems, in file
// order. The Pod is nil then. bodies are the kinds of bodies that are served besides SQL.
func Load(path string, bodies ...BodyKind) (*Pod, error) {
	pod, _, err := LoadFiles(path, bodies...)
	return pod, err
}

// LoadFiles is Load that also returns every file it read or looked for: the Spicepod, the
// files of ref, body_ref and sql_ref, .env and .env.local, even if they do not exist. It
// returns them when the load fails, too: a watcher can wait until the broken one is fixed.
// They are absolute and sorted.
func LoadFiles(path string, bodies ...BodyKind) (*Pod, []string, error) {
	file, err := findFile(path)
	if err != nil {
		missing := []string{file}
		if other, ok := strings.CutSuffix(file, "spicepod.yaml"); ok {
			missing = append(missing, other+"spicepod.yml")
		}
		return nil, missing, Problems{{
			Position: Position{File: file}, Message: err.Error(),
			Hint: "give the path of a Spicepod, or of a folder with a spicepod.yaml",
		}}
	}
	d := newDecoder(file, bodies)
	d.index.files[file] = true
	for _, name := range []string{".env", ".env.local"} {
		d.index.files[filepath.Join(d.dir, name)] = true
	}
	pod := d.load(file)
	d.complete(pod)
	files := slices.Sorted(maps.Keys(d.index.files))
	if len(d.problems) > 0 {
		d.problems.Sort()
		if d.full {
			d.problems = append(d.problems, Problem{
				Position: Position{File: shownPath(d.home, file)},
				Message:  fmt.Sprintf("more than %d problems; the rest are omitted", MaxProblems),
			})
		}
		return nil, files, d.problems
	}
	return pod, files, nil
}

// LoadText is [Load] of a text that the file at path, which is absolute, could have. The
// variables are added to those of .env.local.
func LoadText(path, text string, variables map[string]string, bodies ...BodyKind) (*Pod, error) {
	d := newDecoder(path, bodies)
	d.variables = variables
	pod := d.decode(path, text)
	d.complete(pod)
	if len(d.problems) > 0 {
		d.problems.Sort()
		return nil, d.problems
	}
	return pod, nil
}

// complete adds the dependencies of a Spicepod, and checks what all components need.
func (d *decoder) complete(pod *Pod) {
	if pod == nil {
		return
	}
	d.addDependencies(pod)
	all := namedComponents(pod)
	d.checkNames(pod, all)
	d.checkDependencies(pod, all)
	d.checkAgents(pod)
	d.checkOwners(pod)
	pod.remark()
}

func newDecoder(file string, bodies []BodyKind) *decoder {
	return &decoder{
		dir: filepath.Dir(file), home: filepath.Dir(file), index: newIndex(), types: describer{},
		parts: map[string]*part{}, bodies: bodies,
	}
}

// findFile returns the absolute path of the Spicepod at path. With an error, the path is
// the one for the message.
func findFile(path string) (string, error) {
	if path == "" {
		path = "."
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path, err
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return absolute, errors.New(reason(err))
	}
	if !info.IsDir() {
		return absolute, nil
	}
	for _, name := range []string{"spicepod.yaml", "spicepod.yml"} {
		file := filepath.Join(absolute, name)
		if _, err := os.Stat(file); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, nil
		}
	}
	return filepath.Join(absolute, "spicepod.yaml"), errors.New("no spicepod.yaml or spicepod.yml in this folder")
}

// load reads and decodes the file; problems are in d.problems.
func (d *decoder) load(file string) *Pod {
	shown := shownPath(d.home, file)
	raw, err := readRegular(file, MaxFileBytes)
	if err != nil {
		d.problems = append(d.problems,
			Problem{Position: Position{File: shown}, Message: "cannot read the file: " + reason(err)})
		return nil
	}
	return d.decode(file, raw)
}

// decode decodes the text of the file; problems are in d.problems.
func (d *decoder) decode(file, raw string) *Pod {
	shown := shownPath(d.home, file)
	text, fault, message := cleanText(raw)
	d.src = newSource(file, shown, text)
	if fault >= 0 {
		d.problems = append(d.problems, d.src.problem(fault, "", message, ""))
		return nil
	}
	root, problem := parseYAML(d.src)
	if problem != nil {
		d.problems = append(d.problems, *problem)
		return nil
	}
	d.index.root = located{root, d.src}
	pod := &Pod{Dir: d.dir, File: file, index: d.index, bodies: d.bodies}
	if root.Kind != yaml.MappingNode {
		d.fail(root, "a Spicepod is a mapping, not "+describeNode(root),
			"begin with version: v1, kind: Spicepod and name: …, each on a line")
		return nil
	}
	v := reflect.ValueOf(pod).Elem()
	d.types.setDefaults(v)
	d.value(root, v, nil)
	d.finish(pod)
	return pod
}

// finish does what requires the whole file to be decoded, but not its dependencies.
func (d *decoder) finish(pod *Pod) {
	if d.within != "" { // its runtime section has no effect
		d.texts = slices.DeleteFunc(d.texts, func(t pendingText) bool { return strings.HasPrefix(t.path, "runtime.") })
	}
	v := d.openVault(pod.Secrets)
	d.resolveTexts(v)
	if t := pod.Runtime.TLS; t != nil {
		t.Unset = d.index.unset["runtime.tls"]
	}
	d.resolveVariables(pod, v)
	pod.providerKeys(v)
	d.unreadFiles(pod)
	for _, root := range pod.Runtime.DataRoots {
		pod.roots = append(pod.roots, d.absolute(root.Reveal()))
	}
	if len(pod.roots) == 0 {
		pod.roots = []string{d.dir}
	}
	for _, path := range pod.Runtime.paths() {
		if *path != "" {
			*path = d.absolute(*path)
		}
	}
}

// absolute resolves a path against the folder of the Spicepod.
func (d *decoder) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(d.dir, path)
}
