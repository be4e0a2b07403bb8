package spiced

import (
	"cmp"
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/architecture.svg and the table of packages in docs/architecture.md")

// purpose says in a few words what the packages of each group of layers do.
var purpose = map[string]string{
	"cmd/spiced":               "commands, flags, signals",
	"examples":                 "the Spicepod of spiced init",
	"internal/test":            "test kit, benchmarks, fuzz",
	"internal/runtime":         "turns a Spicepod into a generation",
	"sqlapi":                   "HTTP",
	"internal/protocols":       "PostgreSQL, Flight SQL, MCP, terminal",
	"internal/llm":             "chat, providers, tool loop, models",
	"registry":                 "the catalog of tools, its search and calls",
	"functions":                "compiles and tests declared functions",
	"tools":                    "definitions and calls of tools",
	"tools/builtin":            "built-in tools",
	"udf":                      "publishes functions to SQL and as tools",
	"internal/data":            "sources, copies, views, policies",
	"internal/find":            "ranking, embeddings, lint, usage",
	"internal/peers":           "MCP servers that we call",
	"internal/bodies":          "functions that are not SQL",
	"internal/console":         "pages for browsers",
	"internal/access":          "who calls, keys, audit",
	"internal/sql":             "engine, guard, results, workers",
	"internal/sql/sqltree":     "DuckDB's parse tree",
	"internal/sql/fingerprint": "statements without literals",
	"internal/sql/value":       "dates, times, decimals",
	"spicepod":                 "reads spicepod.yaml",
	"internal/kit":             "general helpers",
}

const architecturePicture = "docs/architecture.svg"

// TestArchitecturePicture keeps the picture of docs/architecture.md in step with
// the imports. go test . -run Picture -update draws it again.
func TestArchitecturePicture(t *testing.T) {
	want := drawArchitecture(t)
	if *update {
		if err := os.WriteFile(architecturePicture, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(architecturePicture)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale: run go test . -run Picture -update", architecturePicture)
	}
}

const architecturePage = "docs/architecture.md"

// TestArchitectureTable keeps the table of packages in docs/architecture.md in step with the
// packages. go test . -run Architecture -update writes it again.
func TestArchitectureTable(t *testing.T) {
	page, err := os.ReadFile(architecturePage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- packages: go test . -run Architecture -update -->\n", "<!-- end of packages -->\n"
	before, rest, found := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no table of packages", architecturePage)
	}
	want := before + begin + packageTable(t) + end + after
	if *update {
		if err := os.WriteFile(architecturePage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s is stale: run go test . -run Architecture -update", architecturePage)
	}
}

// packageTable has a row for each group of the layers, the highest first. What a package does is in
// its comment, which every package has.
func packageTable(t *testing.T) string {
	commented := groupSet{}
	for _, s := range sources(t) {
		commented[s.pkg] = commented[s.pkg] || s.file.Doc != nil
	}
	packages, _ := groupGraph(t)
	var b strings.Builder
	b.WriteString("\n| group | what it does |\n|---|---|\n")
	for _, layer := range slices.Backward(layers) {
		for _, group := range layer {
			for pkg := range packages[group] {
				if !commented[pkg] {
					t.Errorf("package %s has no comment", pkg)
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", group, purpose[group])
		}
	}
	return b.String() + "\n"
}

type groupSet map[string]bool

// groupGraph returns the packages of each group, and the groups that it imports.
func groupGraph(t *testing.T) (packages, imports map[string]groupSet) {
	packages, imports = map[string]groupSet{}, map[string]groupSet{}
	for _, s := range sources(t) {
		from, _ := groupOf(s.pkg)
		if packages[from] == nil {
			packages[from], imports[from] = groupSet{}, groupSet{}
		}
		packages[from][s.pkg] = true
		for _, imp := range s.file.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			inner, ours := strings.CutPrefix(path, module)
			if to, _ := groupOf(inner); ours && to != from {
				imports[from][to] = true
			}
		}
	}
	return packages, imports
}

// reduce drops the imports that follow from others: the arrows that are left
// reach the same groups.
func reduce(imports map[string]groupSet) map[string]groupSet {
	reach := map[string]groupSet{}
	for _, groups := range layers { // lower layers first
		for _, g := range groups {
			reach[g] = reachable(g, imports, groupSet{})
		}
	}
	reduced := map[string]groupSet{}
	for g, direct := range imports {
		reduced[g] = maps.Clone(direct)
		for via := range direct {
			for further := range reach[via] {
				delete(reduced[g], further)
			}
		}
	}
	return reduced
}

func reachable(g string, imports map[string]groupSet, seen groupSet) groupSet {
	for next := range imports[g] {
		if !seen[next] {
			seen[next] = true
			reachable(next, imports, seen)
		}
	}
	return seen
}

const (
	pictureWidth = 1240
	rowGap       = 46
	lineHeight   = 15
	boxGap       = 16
)

type groupBox struct {
	name       string
	x, y, w, h int
	purpose    []string
	packages   []string
}

func drawArchitecture(t *testing.T) string {
	packages, imports := groupGraph(t)
	for g := range packages {
		if purpose[g] == "" {
			t.Errorf("group %q has no purpose in architecture_test.go", g)
		}
	}
	boxes := map[string]*groupBox{}
	y := 16
	for i := len(layers) - 1; i >= 0; i-- {
		y += layOut(layers[i], packages, boxes, y) + rowGap
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12" xml:space="preserve">
  <!-- Drawn by go test . -run Picture -update from the imports. Do not edit. -->
  <defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#777"/></marker></defs>
  <rect width="100%%" height="100%%" fill="#fff"/>
`, pictureWidth, y-rowGap+16)
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		arrows(&out, boxes, from, reduce(imports)[from])
	}
	for _, name := range slices.Sorted(maps.Keys(boxes)) {
		boxes[name].draw(&out)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// layOut places the groups of a layer side by side, as wide as their packages
// ask for, and returns the height of the row.
func layOut(groups []string, packages map[string]groupSet, boxes map[string]*groupBox, y int) (height int) {
	var names []string
	total := 0
	weight := func(g string) int { return 6 + min(len(packages[g]), 8) }
	for _, g := range groups {
		if packages[g] != nil {
			names = append(names, g)
			total += weight(g)
		}
	}
	width := min(pictureWidth-2*boxGap-(len(names)-1)*boxGap, len(names)*380)
	x := (pictureWidth - width - (len(names)-1)*boxGap) / 2
	for _, g := range names {
		b := &groupBox{name: g, x: x, y: y, w: width * weight(g) / total}
		b.purpose = wrap(strings.Fields(purpose[g]), " ", b.w-20)
		b.packages = wrap(shortNames(g, packages[g]), "  ", b.w-20)
		b.h = 28 + lineHeight*(len(b.purpose)+len(b.packages))
		boxes[g], x, height = b, x+b.w+boxGap, max(height, b.h)
	}
	for _, g := range names {
		boxes[g].h = height
	}
	return height
}

// shortNames are the packages below a group, by their names within it.
func shortNames(group string, packages groupSet) (names []string) {
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		if inner, ok := strings.CutPrefix(pkg, group+"/"); ok {
			names = append(names, inner)
		}
	}
	return names
}

// wrap fills lines of a width in pixels.
func wrap(words []string, between string, width int) (lines []string) {
	const perRune = 6.5
	line := ""
	for _, word := range words {
		switch {
		case line == "":
			line = word
		case float64(len(line+between+word))*perRune > float64(width):
			lines, line = append(lines, line), word
		default:
			line += between + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func (b *groupBox) draw(out *strings.Builder) {
	fill := "#eef4ff"
	if !strings.HasPrefix(b.name, "internal/") {
		fill = "#fff7e0"
	}
	fmt.Fprintf(out, `  <rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="#444"/>`+"\n", b.x, b.y, b.w, b.h, fill)
	text := func(dy int, style, s string) {
		fmt.Fprintf(out, `  <text x="%d" y="%d"%s>%s</text>`+"\n", b.x+10, b.y+dy, style, html.EscapeString(s))
	}
	text(18, ` font-weight="600" font-size="13"`, b.name)
	for i, line := range append(b.purpose, b.packages...) {
		style := ""
		if i < len(b.purpose) {
			style = ` fill="#555"`
		}
		text(34+i*lineHeight, style, line)
	}
}

// arrows draws the imports of a group, which are all in lower layers.
func arrows(out *strings.Builder, boxes map[string]*groupBox, from string, to groupSet) {
	a := boxes[from]
	targets := slices.SortedFunc(maps.Keys(to), func(x, y string) int {
		return cmp.Or(cmp.Compare(boxes[x].x, boxes[y].x), cmp.Compare(x, y))
	})
	for i, name := range targets {
		b := boxes[name]
		x1 := a.x + a.w*(i+1)/(len(targets)+1)
		x2 := min(max(x1, b.x+20), b.x+b.w-20)
		y1, y2 := a.y+a.h, b.y
		fmt.Fprintf(out, `  <path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="#777" marker-end="url(#tip)"/>`+"\n", x1, y1, x1, y1+30, x2, y2-30, x2, y2)
	}
}
