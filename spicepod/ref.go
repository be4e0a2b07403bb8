package spicepod

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// part is a file named by ref, body_ref or sql_ref. It is read once however often it is
// named.
type part struct {
	src     *source
	root    *yaml.Node // of a ref'd file, parsed once
	problem *Problem   // why the file cannot be used
}

// components decodes a list whose entries are components, inline or by ref.
func (d *decoder) components(node *yaml.Node, v reflect.Value, f *field) {
	list, ok := d.enter(node)
	if !ok {
		return
	}
	defer d.leave(node)
	if isNull(list) {
		return
	}
	if list.Kind != yaml.SequenceNode {
		d.wrongType(list, "a list")
		return
	}
	if d.component += len(list.Content); d.component > MaxComponents {
		d.fail(list, fmt.Sprintf("more than %d components", MaxComponents), "split the Spicepod")
		return
	}
	items := reflect.MakeSlice(v.Type(), len(list.Content), len(list.Content))
	for i, item := range list.Content {
		d.pushIndex(i)
		d.componentEntry(item, items.Index(i), f)
		d.pop()
	}
	v.Set(items)
}

// componentEntry decodes one entry of a component list.
func (d *decoder) componentEntry(item *yaml.Node, v reflect.Value, f *field) {
	d.types.setDefaults(v)
	entry := target(item)
	if entry == nil || isNull(entry) {
		d.fail(item, fmt.Sprintf("%s is empty", d.subject()), "declare a "+f.component+", or remove the -")
		return
	}
	references := len(d.texts)
	if refNode := refOf(entry); refNode == nil {
		d.value(item, v, f)
	} else {
		d.referred(entry, refNode, v, f)
	}
	if function, ok := v.Addr().Interface().(*Function); ok && !function.Enabled {
		d.texts = d.texts[:references] // secrets are not needed in what is not served
	}
}

// refOf is the value of the key ref of an entry, nil for an inline component.
func refOf(entry *yaml.Node) *yaml.Node {
	if entry.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(entry.Content); i += 2 {
		if keyText(entry.Content[i]) == "ref" {
			return entry.Content[i+1]
		}
	}
	return nil
}

// referred decodes a `ref:` entry: the component in the file, and the dependsOn next to
// ref.
func (d *decoder) referred(entry, refNode *yaml.Node, v reflect.Value, f *field) {
	var dependsOn []string
	for _, e := range d.entries(entry) {
		switch name := keyText(e.key); name {
		case "ref":
		case "dependsOn":
			d.push(name)
			d.value(e.value, reflect.ValueOf(&dependsOn).Elem(), nil)
			d.pop()
		default:
			d.fail(e.key, fmt.Sprintf("unknown key %q next to ref%s", name, d.where()),
				"only dependsOn is allowed next to ref; other keys belong in the referenced file")
		}
	}
	d.push("ref")
	value := target(refNode)
	if value == nil || value.Kind != yaml.ScalarNode || value.ShortTag() != "!!str" || value.Value == "" {
		d.fail(refNode, "ref takes the path of a file or folder", "")
		d.pop()
		return
	}
	p := d.readComponent(refNode, value.Value, f.component)
	d.pop()
	if p == nil {
		return
	}
	d.index.refs[entry] = located{p.root, p.src}
	outer := d.src
	d.src = p.src
	d.value(p.root, v, f)
	d.src = outer
	if field := v.FieldByName("DependsOn"); field.IsValid() && len(dependsOn) > 0 {
		field.Set(reflect.AppendSlice(field, reflect.ValueOf(dependsOn)))
	}
}

// readComponent reads the file of a `ref:` entry and checks that it contains one
// component.
func (d *decoder) readComponent(at *yaml.Node, ref, component string) *part {
	path := d.resolvePath(ref)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		folder := path
		path = filepath.Join(folder, component+".yaml")
		if _, err := os.Stat(path); err != nil {
			d.index.files[path] = true
			other := filepath.Join(folder, component+".yml")
			if _, err := os.Stat(other); err == nil {
				path = other
			}
		}
	}
	p := d.readPart(at, path, ref)
	if p == nil {
		return nil
	}
	if p.root == nil {
		root, problem := parseYAML(p.src)
		if problem == nil {
			root, problem = oneComponent(p.src, root, component)
		}
		if p.root, p.problem = root, problem; problem != nil {
			problem.Path = pathString(d.path)
			d.problems = append(d.problems, *problem)
			return nil
		}
	}
	return p
}

// oneComponent refuses a referenced file with any other content.
func oneComponent(src *source, root *yaml.Node, component string) (*yaml.Node, *Problem) {
	want := fmt.Sprintf("a file named by ref contains exactly one %s", component)
	hint := fmt.Sprintf("write the keys of the %s at the top of the file", component)
	at := src.offset(root.Line, root.Column)
	if root.Kind != yaml.MappingNode {
		return nil, ptr(src.problem(at, "", want+", not "+describeNode(root), hint))
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		at := src.offset(key.Line, key.Column)
		switch {
		case key.Value == "ref":
			return nil, ptr(src.problem(at, "", want+", not another ref", hint))
		case key.Value == component+"s" || key.Value == "kind" && value.Value == "Spicepod":
			return nil, ptr(src.problem(at, "", want+", not a whole Spicepod", hint))
		}
	}
	return root, nil
}

// ownFiles matches the path of what can fail, because of a file that it names, without the
// others.
var ownFiles = regexp.MustCompile(`^(functions|views|agents)\[\d+\]`)

// textFile reads the file of body_ref, sql_ref, instructions_ref or params.module into its
// field. A file that cannot be read is a fault of its component alone: see [Pod.Unset].
func (d *decoder) textFile(at *yaml.Node, ref string, text reflect.Value) {
	if ref == "" || d.dead {
		return
	}
	before, file := len(d.problems), d.resolvePath(ref)
	if p := d.readPart(at, file, ref); p != nil {
		d.index.texts[at] = p.src
		text.SetString(p.src.text)
		return
	}
	path := pathString(d.path)
	component := ownFiles.FindString(path)
	folder, _, _ := d.folder()
	if component == "" || !inFolder(real(file), folder) { // a path that leads out refuses the Spicepod
		return
	}
	for _, p := range d.problems[min(before, len(d.problems)):] {
		if p.File != d.src.shown {
			p.Message = fmt.Sprintf("%s: %s", p.Position, p.Message)
		}
		d.index.unset[component] = append(d.index.unset[component], Unset{path, 0, p.Message, p.Hint})
	}
	d.problems = d.problems[:min(before, len(d.problems))]
}

// unreadFiles reports the files that cannot be read of components which no one will compile:
// functions that are not served, and all if the Spicepod has another fault.
func (d *decoder) unreadFiles(pod *Pod) {
	all := d.problems.HasErrors()
	for _, component := range slices.Sorted(maps.Keys(d.index.unset)) {
		if !ownFiles.MatchString(component) {
			continue
		}
		i, function := functionIndex(component)
		served := !function || pod.Functions[i].Enabled && (d.within != "" || pod.Runtime.Functions.Enabled)
		if served && !all {
			continue
		}
		for _, u := range d.index.unset[component] {
			d.add(pod.TextProblem(u.Path, u.Offset, u.Message, u.Hint))
		}
	}
}

// functionIndex returns the index of a path such as functions[2].
func functionIndex(path string) (int, bool) {
	step := parsePath(path)
	return step[1].index, step[0].key == "functions"
}

// resolvePath makes a path absolute, from the folder of the file that names it.
func (d *decoder) resolvePath(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(d.src.path), path)
}

// readPart reads a file named by the current value; it returns nil after a problem.
func (d *decoder) readPart(at *yaml.Node, path, ref string) *part {
	if p := d.parts[path]; p != nil {
		if p.problem != nil {
			d.fail(at, fmt.Sprintf("%s names a file with a problem: %q", d.subject(), ref), "")
			return nil
		}
		return p
	}
	if folder, of, hint := d.folder(); !inFolder(real(path), folder) {
		d.fail(at, fmt.Sprintf("%s %q is outside of the folder of %s", d.lastKey(), ref, of), hint)
		return nil
	}
	d.index.files[path] = true
	raw, err := readRegular(path, partLimit(path))
	if err != nil {
		d.fail(at, fmt.Sprintf("failed to read %s %q: %s", d.lastKey(), ref, reason(err)),
			"the path is looked up from the folder of "+d.src.shown)
		return nil
	}
	if d.partBytes += len(raw); d.partBytes > MaxTotalBytes {
		d.fail(at, fmt.Sprintf("the files named by ref, body_ref and sql_ref are larger than %s together",
			Size(MaxTotalBytes)), "")
		return nil
	}
	text, fault, message := raw, -1, ""
	if !IsModule(raw) {
		text, fault, message = cleanText(raw)
	}
	p := &part{src: newSource(path, shownPath(d.home, path), text)}
	d.parts[path] = p
	if fault >= 0 {
		p.problem = ptr(p.src.problem(fault, pathString(d.path), message, ""))
		d.problems = append(d.problems, *p.problem)
		return nil
	}
	return p
}

func (d *decoder) lastKey() string { return d.path[len(d.path)-1].key }
