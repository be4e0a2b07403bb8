package spicepod

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/joho/godotenv"
	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// reference matches ${store:key}, with optional spaces. Anything else between ${ and } is
// plain text.
var reference = regexp.MustCompile(`\$\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*:\s*([A-Za-z0-9_.\-]+)\s*\}`)

// openReference matches a reference at the end of a text that lacks its }.
var openReference = regexp.MustCompile(`\$\{\s*(env|secrets)\s*:[^{}]*$`)

// pendingText is a Text whose references are resolved once the whole file is read: secrets
// may be declared after they are used.
type pendingText struct {
	text *string // where Text.value points
	raw  string
	at   located
	path string
}

// reference records a Text with references. Its value is set through a pointer, so earlier
// copies of the Text see it too.
func (d *decoder) reference(node *yaml.Node, v reflect.Value) {
	raw := node.Value
	if d.dead || !strings.Contains(raw, "${") {
		return
	}
	if open := openReference.FindString(raw); open != "" {
		d.fail(node, fmt.Sprintf("the reference %q has no end", truncate.Runes(open, maxShown)),
			"write } after the name, as in ${env:NAME}")
		return
	}
	if !reference.MatchString(raw) {
		return
	}
	value := new(string)
	v.Set(reflect.ValueOf(Text{Raw: raw, value: value}))
	d.texts = append(d.texts, pendingText{value, raw, located{node, d.src}, pathString(d.path)})
}

// vault looks up secrets. It has their values and exists only during a load.
type vault struct {
	stores   map[string]string // name of a declared store to its kind
	names    []string
	env      map[string]string // .env, overridden by .env.local
	existing []string          // names of variables, for a suggestion
	own      string            // folder of a dependency, which has no other variables than those of its files; else ""
}

// Unset is a reference to a variable that is not set, or to a file that cannot be read, in a
// component.
type Unset struct {
	Path          string // of the text with the reference
	Offset        int    // of the reference in the text
	Message, Hint string
}

// Unset returns the references to variables that are not set, and to files that cannot be
// read, in the component at path, such as datasets[3]. A component that has any cannot be loaded; others can.
func (p *Pod) Unset(path string) []Unset {
	if p.index == nil {
		return nil
	}
	at, own := p.locate(path)
	list := append([]Unset(nil), at.unset[own]...)
	for i := range list {
		list[i].Path = path + strings.TrimPrefix(list[i].Path, own)
	}
	return list
}

// ownReferences matches the path of what can fail without the others, or is checked by those who
// use it.
var ownReferences = regexp.MustCompile(`^((catalogs|datasets|models|embeddings|tools)\[\d+\]|(snapshots|runtime\.tls)\b)`)

// resolveTexts replaces every reference with its value.
func (d *decoder) resolveTexts(v *vault) {
	for _, pending := range d.texts {
		var out strings.Builder
		last := 0
		for _, m := range reference.FindAllStringSubmatchIndex(pending.raw, -1) {
			store, key := pending.raw[m[2]:m[3]], pending.raw[m[4]:m[5]]
			value, message, hint := v.lookUp(store, key)
			component := ownReferences.FindString(pending.path)
			switch {
			case message == "":
			case v.holds(store) && component != "":
				d.index.unset[component] = append(d.index.unset[component], Unset{pending.path, m[0], message, hint})
			default:
				d.referenceProblem(pending, m[0], message, hint)
			}
			out.WriteString(pending.raw[last:m[0]])
			out.WriteString(value)
			last = m[1]
		}
		out.WriteString(pending.raw[last:])
		*pending.text = out.String()
	}
}

// referenceProblem reports a problem at the reference itself.
func (d *decoder) referenceProblem(p pendingText, offset int, message, hint string) {
	d.add(p.at.src.problem(scalarOffset(p.at.src, p.at.node, offset), p.path, message, hint))
}

func (d *decoder) openVault(stores []SecretStore) *vault {
	v := &vault{stores: map[string]string{}, env: map[string]string{}, names: []string{"env", "secrets"}}
	for _, store := range stores {
		v.stores[store.Name] = store.Kind()
		v.names = append(v.names, store.Name)
	}
	for _, name := range []string{".env", ".env.local"} {
		maps.Copy(v.env, d.readEnv(filepath.Join(d.dir, name)))
	}
	maps.Copy(v.env, d.variables)
	v.existing = slices.Collect(maps.Keys(v.env))
	if d.within != "" {
		v.own = d.dir
		return v
	}
	for _, pair := range os.Environ() {
		key, _, _ := strings.Cut(pair, "=")
		v.existing = append(v.existing, key)
	}
	slices.Sort(v.existing)
	return v
}

// holds reports whether a store has variables of the environment.
func (v *vault) holds(store string) bool {
	return store == "env" || store == "secrets" || v.stores[store] == "env"
}

// envPrefix is that of the variables which Spice's CLI writes, for example to .env.local.
const envPrefix = "SPICE_"

// lookUp returns the value of a reference, or a message and a hint. ${env:NAME} is the variable
// NAME, or else SPICE_NAME; ${secrets:name} is SPICE_NAME, or else name, or NAME, in the order in
// which Spice looks.
func (v *vault) lookUp(store, key string) (value, message, hint string) {
	kind, declared := v.stores[store]
	upper := strings.ToUpper(key)
	keys := []string{key, envPrefix + upper}
	switch {
	case store == "secrets" || declared && kind == "env":
		keys = []string{envPrefix + upper, key, upper}
	case declared:
		return "", fmt.Sprintf("the secret store %q (from: %s) is not served by this build", store, kind),
			fmt.Sprintf("use ${env:%s}", upper)
	case store != "env":
		return "", fmt.Sprintf("unknown secret store %q", store) + nearest.Clause(store, v.names),
			"known here: " + strings.Join(v.names, ", ")
	}
	for _, k := range keys {
		if value, ok := os.LookupEnv(k); ok && v.own == "" {
			return value, "", ""
		}
		if value, ok := v.env[k]; ok {
			return value, "", ""
		}
	}
	name := key
	if store != "env" {
		name = upper
	}
	hint = fmt.Sprintf("set it in the environment, or write %s=… to .env.local or .env", name)
	if v.own != "" {
		hint = fmt.Sprintf("write %s=… to .env in the folder of the dependency: it reads no other variables", name)
	}
	if near := nearest.Name(name, v.existing); near != "" {
		hint += fmt.Sprintf("; there is a variable %s", near)
	}
	return "", fmt.Sprintf("the variable %s is not set", name), hint
}

// readEnv reads a .env file; a missing one is empty. A problem has the line's number but
// never its text: it may be a secret.
func (d *decoder) readEnv(path string) map[string]string {
	d.index.files[path] = true
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return nil
	}
	shown := shownPath(d.home, path)
	if !d.inside(path) {
		d.add(Problem{
			Position: Position{File: shown}, Message: "it leads out of the folder of the dependency",
			Hint: "a dependency reads files of its own folder only",
		})
		return nil
	}
	raw, err := readRegular(path, MaxEnvBytes)
	if err != nil {
		d.problems = append(d.problems,
			Problem{Position: Position{File: shown}, Message: "cannot read the file: " + reason(err)})
		return nil
	}
	text := strings.TrimPrefix(raw, "\uFEFF")
	values, err := godotenv.Unmarshal(text)
	if err == nil {
		return values
	}
	d.problems = append(d.problems, Problem{
		Position: Position{File: shown, Line: brokenEnvLine(text)},
		Message:  "this line is not KEY=value",
		Hint:     "write KEY=value; put a value with spaces or # in quotes, and close them",
	})
	return nil
}

// brokenEnvLine is the line after the longest prefix that parses.
func brokenEnvLine(text string) int {
	const most = 1000
	lines := strings.SplitAfter(text, "\n")
	good := 0
	for n := 1; n <= min(len(lines), most); n++ {
		if _, err := godotenv.Unmarshal(strings.Join(lines[:n], "")); err == nil {
			good = n
		}
	}
	return min(good+1, len(lines))
}
