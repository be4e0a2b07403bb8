package spicepod

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

// spiceKeys returns the keys of Spice's Spicepod by section, "" for the top level.
func spiceKeys(t *testing.T) (sections []string, keys map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/spice_keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	keys = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		section, names, found := strings.Cut(line, ":")
		if !found {
			section, names = "", line
		}
		sections = append(sections, section)
		keys[section] = strings.Fields(names)
	}
	return sections, keys
}

// fieldsOf returns the description of a section such as datasets[].columns[].
func (d describer) fieldsOf(section string) (*typeInfo, bool) {
	t := reflect.TypeFor[Pod]()
	if section == "" {
		return d.describe(t), true
	}
	for name := range strings.SplitSeq(section, ".") {
		info := d.describe(t)
		i, known := info.byName[strings.TrimSuffix(name, "[]")]
		if !known {
			return nil, false
		}
		inside, suffix := structInside(info.fields[i].typ)
		if inside == nil || strings.HasSuffix(name, "[]") != (suffix == "[]") {
			return nil, false
		}
		t = inside
	}
	return d.describe(t), true
}

// TestKeysOfSpice: each key of Spice is served, or reported with what to use instead, and
// docs/coming-from-spice.md lists it.
func TestKeysOfSpice(t *testing.T) {
	d := describer{}
	var as, others strings.Builder
	sections, keys := spiceKeys(t)
	for _, section := range sections {
		info, ok := d.fieldsOf(section)
		if !ok {
			t.Errorf("there is no section %s", section)
			continue
		}
		var same []string
		for _, key := range keys[section] {
			i, known := info.byName[key]
			if !known {
				t.Errorf("the key %s of Spice is unknown: give it a field with the tags served and instead", strings.Trim(section+"."+key, "."))
				continue
			}
			f := info.fields[i]
			path := strings.TrimPrefix(section+"."+key, ".")
			instead := strings.ReplaceAll(f.instead, "'", "`")
			switch f.service {
			case served:
				same = append(same, "`"+key+"`")
				if len(f.unserved.refused) > 0 {
					fmt.Fprintf(&others, "| `%s`: `%s` | the dataset is not served | %s |\n", path, strings.Join(f.unserved.refused, "`, `"), instead)
				}
				if len(f.unserved.ignored) > 0 {
					fmt.Fprintf(&others, "| `%s`: `%s` | no effect | %s |\n", path, strings.Join(f.unserved.ignored, "`, `"), instead)
				}
			case notServed:
				fmt.Fprintf(&others, "| `%s` | no effect | %s |\n", path, instead)
			default:
				fmt.Fprintf(&others, "| `%s` | %s | %s |\n", path, f.service, instead)
			}
		}
		if section == "" {
			section = "top level"
		}
		fmt.Fprintf(&as, "| `%s` | %s |\n", section, strings.Join(same, ", "))
	}
	const page = "../docs/coming-from-spice.md"
	const mark = "<!-- The rest is written by spicepod/spice_test.go: change the struct tags in spicepod, or\n     spicepod/testdata/spice_keys.txt, and run: " +
		"make docs -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("%s has no mark", page)
	}
	golden.Equal(t, page, head+mark+
		"\nServed by the name that they have in Spice; [spicepod.md](spicepod.md) describes them:\n\n| section | keys |\n|---|---|\n"+as.String()+
		"\nNot served, or by another name:\n\n| key | | instead |\n|---|---|---|\n"+others.String())
}
