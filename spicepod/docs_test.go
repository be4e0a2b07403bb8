package spicepod

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

const docsHead = `# spicepod.yaml

<!-- Written by spicepod/docs_test.go. Do not edit: change the struct tags in
     spicepod/ and run: go test ./spicepod -run TestDocs -update -->

Every key of the file, with its type, its default and its meaning. A key that
is not in these tables is refused; the error suggests the nearest known key.

- **Served** says whether this build acts on the key. Keys that are not served yet are
  read and checked, and a warning names each with its position; none is ignored silently.
- A key at the top whose value has an anchor, ` + "`&name`, is only text for aliases, `*name`" + `.
- A Spicepod of Spice starts here: what this build serves is served, and each component
  that it does not serve is named with the reason and what to use instead.
- Entries of component lists are written inline or as ` + "`{ref: path}`" + `: a file with
  one component, or a folder that contains it as ` +
	"`dataset.yaml`, `view.yaml`,\n  `function.yaml`" + ` and so on. Paths start at the folder of the file that names
  them; only ` + "`dependsOn`" + ` is allowed next to ` + "`ref`" + `.
- Files that ` + "`ref`, `body_ref`, `sql_ref` and `params.module`" + ` name are in the Spicepod's
  folder; others are refused, also behind symbolic links.
- A duration is ` + "`30s`, `500ms`, `2m30s`, `1d`" + ` or a whole number of seconds. A size is
  ` + "`128MiB`, `4GB`" + ` or a number of bytes.
- In ` + "`params`, `env`" + ` and the ` + "`from`" + ` of datasets, ` + "`${env:NAME}`" + ` and ` + "`${secrets:name}`" + `
  are replaced with a value from the process environment, ` + "`.env.local`" + ` or ` + "`.env`" + ` (in this
  order), also inside longer text. ` + "`secrets:name` is `SPICE_NAME`, `name` or `NAME`; `env:NAME`" + ` is
  ` + "`NAME` or `SPICE_NAME`" + `. The values are never printed.
`

// TestDocsAreFresh compares docs/spicepod.md with the tags: every key with its
// type, default, meaning and whether it is served yet.
func TestDocsAreFresh(t *testing.T) {
	d := docsWriter{types: describer{}, seen: map[reflect.Type]string{}}
	d.out.WriteString(docsHead)
	d.section("", reflect.TypeFor[Pod](), true)
	d.alternatives(t)
	golden.Equal(t, "../docs/spicepod.md", d.out.String())
}

// docsWriter writes one table per struct type, where it first occurs.
type docsWriter struct {
	out   bytes.Buffer
	types describer
	seen  map[reflect.Type]string // title of the section of a type

	unserved [][2]string // keys that are not served, and what to use instead
}

// alternatives writes the table of keys that are not served.
func (d *docsWriter) alternatives(t *testing.T) {
	d.out.WriteString("\n## Keys of Spice that are not served\n\nThey are read and checked, and have no effect: a warning names each with its " +
		"position. A dataset " +
		"whose rows would be others without it is not served. Keys that protect something are refused: a runtime without them would permit what the Spicepod does " +
		"not. Those that are renamed are refused with the name to write.\n\n| key | use instead |\n|---|---|\n")
	for _, u := range d.unserved {
		if u[1] == "" {
			t.Errorf("%s is not served, and has no tag `instead`", u[0])
		}
		fmt.Fprintf(&d.out, "| `%s` | %s |\n", u[0], strings.ReplaceAll(u[1], "'", "`"))
	}
}

// section writes the table of a type and of the types inside it.
func (d *docsWriter) section(title string, t reflect.Type, served bool) {
	d.seen[t] = title
	heading := "## Top level"
	if title != "" {
		heading = "## `" + title + "`"
	}
	fmt.Fprintf(&d.out, "\n%s\n\n", heading)
	if !served && title != "" {
		d.out.WriteString("Not served yet.\n\n")
	}
	d.out.WriteString("| key | type | default | served | description |\n|---|---|---|---|---|\n")
	info := d.types.describe(t)
	type inner struct {
		title  string
		typ    reflect.Type
		served bool
	}
	var inside []inner
	for i := range info.fields {
		f := &info.fields[i]
		below, suffix := structInside(f.typ)
		d.row(f, served)
		if path := strings.TrimPrefix(title+"."+f.name, "."); f.service == refused || f.service == renamed {
			d.unserved = append(d.unserved, [2]string{path + ": " + string(f.service), f.instead})
		} else if served && f.service == notServed {
			d.unserved = append(d.unserved, [2]string{path, f.instead})
		} else if values := append(f.unserved.ignored, f.unserved.refused...); len(values) > 0 {
			d.unserved = append(d.unserved, [2]string{path + ": " + strings.Join(values, ", "), f.instead})
		}
		if below != nil {
			path := strings.TrimPrefix(title+"."+f.name+suffix, ".")
			inside = append(inside, inner{path, below, served && f.service != notServed})
		}
	}
	for _, in := range inside {
		if _, done := d.seen[in.typ]; !done {
			d.section(in.title, in.typ, in.served)
		} else if d.seen[in.typ] != in.title {
			fmt.Fprintf(&d.out, "\n## `%s`\n\nThe same keys as `%s`.\n", in.title, d.seen[in.typ])
		}
	}
}

// structInside is the struct type that a field contains, with [] for a list of them.
func structInside(t reflect.Type) (inside reflect.Type, suffix string) {
	for {
		switch shapeOf(t) {
		case shapeStruct:
			for t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			return t, suffix
		case shapeReturns:
			return reflect.TypeFor[Column](), suffix + "[]"
		case shapeList:
			t, suffix = t.Elem(), suffix+"[]"
		default:
			return nil, ""
		}
	}
}

func (d *docsWriter) row(f *field, served bool) {
	fallback := ""
	switch {
	case f.required:
		fallback = "required"
	case f.fallback != "":
		fallback = "`" + f.fallback + "`"
	}
	mark := "yes"
	switch {
	case f.service == refused:
		mark = "refused"
	case f.service == renamed:
		mark = "renamed"
	case !served || f.service == notServed:
		mark = "not yet"
	case len(f.unserved.ignored) > 0:
		mark = "not yet: `" + strings.Join(f.unserved.ignored, "`, `") + "`"
	case len(f.unserved.refused) > 0:
		mark = "refused: `" + strings.Join(f.unserved.refused, "`, `") + "`"
	}
	fmt.Fprintf(&d.out, "| `%s` | %s | %s | %s | %s |\n", f.name, typeWords(f), fallback, mark, strings.ReplaceAll(f.doc, "|", `\|`))
}

// typeWords is the type column of a table.
func typeWords(f *field) string {
	if len(f.enum) > 0 {
		return "`" + strings.Join(f.enum, "`, `") + "`"
	}
	return shapeWords(f.typ)
}

func shapeWords(t reflect.Type) string {
	kind := shapeOf(t)
	switch kind {
	case shapeCondition:
		return "boolean or CEL"
	case shapeDuration:
		return "duration"
	case shapeSize:
		return "size"
	case shapeText:
		return "text with references"
	case shapeParams:
		return "mapping with references"
	case shapeReturns:
		return "type, or list of columns"
	case shapeList:
		return "list of " + inPlural(shapeWords(t.Elem()))
	case shapeMap:
		return "mapping of " + inPlural(shapeWords(t.Elem()))
	default:
		return strings.TrimPrefix(kind.words(), "a ")
	}
}

func inPlural(words string) string {
	switch words {
	case "text", "any value", "text with references":
		return strings.Replace(words, "any value", "any values", 1)
	default:
		head, tail, _ := strings.Cut(words, " ")
		return strings.TrimSpace(head + "s " + tail)
	}
}
