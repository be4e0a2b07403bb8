package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// unservedRecipes are Spicepods and datasets of the cookbook whose connectors are served,
// but not what they ask of them.
var unservedRecipes = map[string]string{
	"authorization": "runtime.auth.oidc refuses the Spicepod", "mtls": "client_auth_mode refuses the Spicepod",
	"defaults/rides": "the file is not there",
}

// requestedRecipes are the datasets whose rows are those of requests, with one.
var requestedRecipes = map[string]string{"caching/clock": "/shows", "http_api/shows": "/shows/1"}

// TestCookbookServed serves each dataset of the cookbook whose connector is served from a
// stand-in, with the Spicepod's own text: only hosts and credentials differ. Each is read
// by SQL, a function, a tool and a chat, and again after its source was away.
func TestCookbookServed(t *testing.T) {
	t.Parallel()
	full.Need(t, "it serves every recipe")
	directory := filepath.Dir(exttest.Find(t, "postgres_scanner").Path)
	archive, err := txtar.ParseFile("testdata/cookbook.txtar")
	if err != nil {
		t.Fatal(err)
	}
	stands := startStandIns(t)
	model := startModel(t)
	served := map[string]bool{}
	for _, f := range archive.Files {
		name, path, _ := strings.Cut(f.Name, "/")
		if path != "spicepod.yaml" {
			continue
		}
		if unservedRecipes[name] != "" {
			if status, out := spiced(t, "validate", folder(t, "spicepod.yaml", string(f.Data))); status == 0 {
				t.Errorf("%s is served: remove it from unservedRecipes\n%s", name, out)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := &recipe{t: t, name: name, stands: stands, dir: t.TempDir()}
			r.write(archive, string(f.Data), directory, model.URL)
			if len(r.datasets)+len(r.unserved) == 0 {
				return
			}
			for _, d := range r.datasets {
				served[d.connector] = true
			}
			r.run(model)
		})
	}
	for name, s := range stands {
		if !served[name] && name != "https" && name != "spiceai" && !s.catalogsOnly {
			t.Errorf("no Spicepod of the cookbook reads from %s", name)
		}
	}
}

// recipe is a Spicepod of the cookbook.
type recipe struct {
	*program
	t        *testing.T
	name     string
	dir      string
	stands   map[string]*stand
	datasets []recipeDataset
	unserved []string // datasets, by unservedRecipes
}

type recipeDataset struct {
	name, connector string
	function        string // that counts its rows
	accelerated     bool
	rows            string
	table           string // name, with the request
}

// write writes the files of the Spicepod, which reads from the stand-ins, with a function
// for each dataset and a model.
func (r *recipe) write(archive *txtar.Archive, text, extensions, model string) {
	t := r.t
	t.Helper()
	for _, f := range archive.Files {
		if path, ok := strings.CutPrefix(f.Name, r.name+"/"); ok {
			to := filepath.Join(r.dir, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, to, string(f.Data))
		}
	}
	write(t, filepath.Join(r.dir, ".env"), dotenv("COOKBOOK_PG_PASS", "unused"))
	switch r.name {
	case "duckdb":
		shopDatabase(t, filepath.Join(r.dir, "shop.db"))
	case "sqlite":
		write(t, filepath.Join(r.dir, "shop.sqlite"), read(t, "../../internal/data/datasets/testdata/shop.sqlite"))
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "URL", "http://"+r.stands["http"].gate.Address)), &document); err != nil {
		t.Fatal(err)
	}
	root := document.Content[0]
	for _, dataset := range value(root, "datasets").Content {
		r.declare(dataset)
	}
	var functions []string
	for _, d := range r.datasets {
		functions = append(functions, fmt.Sprintf("{ name: %s, from: sql, description: Rows of %s., signature: { returns: int64 }, body: (SELECT count(*) FROM %s) }",
			d.function, d.name, d.table))
	}
	add(t, root, "functions", strings.Join(functions, ", "))
	add(t, root, "models", fmt.Sprintf("{ name: helper, from: \"openai:gpt-test\", params: { endpoint: \"%s/v1\", openai_api_key: sk, tools: auto } }", model))
	set(value(root, "runtime"), "functions", &yaml.Node{Kind: yaml.MappingNode, Content: pair("enabled", "true")})
	set(value(root, "runtime"), "extensions", &yaml.Node{Kind: yaml.MappingNode, Content: pair("directory", extensions)})
	out, err := yaml.Marshal(&document)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(r.dir, "spicepod.yaml"), string(out))
}

// declare notes a dataset whose connector has a stand-in, and sets its host and
// credentials.
func (r *recipe) declare(n *yaml.Node) {
	name, from := value(n, "name").Value, value(n, "from").Value
	connector, _, _ := strings.Cut(from, ":")
	if strings.HasPrefix(from, "spice.ai") {
		connector = "spice.ai"
	}
	s := r.stands[connector]
	if s == nil {
		return
	}
	if unservedRecipes[r.name+"/"+name] != "" {
		r.unserved = append(r.unserved, name)
		return
	}
	for key, text := range s.params {
		set(value(n, "params"), key, &yaml.Node{Kind: yaml.ScalarNode, Value: text})
	}
	enabled := value(value(n, "acceleration"), "enabled").Value
	table := name
	if path := requestedRecipes[r.name+"/"+name]; path != "" {
		table, enabled = name+" WHERE request_path = '"+path+"'", ""
	}
	r.datasets = append(r.datasets, recipeDataset{
		name: name, table: table, connector: connector, accelerated: enabled == "true" || value(n, "acceleration").Kind == yaml.AliasNode,
		function: "rows_of_" + strings.ReplaceAll(name, ".", "_"),
	})
}

// value returns the value of a key of a mapping, which is made if it is missing.
func value(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	made := &yaml.Node{Kind: yaml.MappingNode}
	if key != "acceleration" && key != "enabled" {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, made)
	}
	return made
}

func set(n *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = v
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v)
}

func pair(key, v string) []*yaml.Node {
	return []*yaml.Node{{Kind: yaml.ScalarNode, Value: key}, {Kind: yaml.ScalarNode, Value: v}}
}

// add adds entries to a list.
func add(t *testing.T, root *yaml.Node, key, entries string) {
	t.Helper()
	var more yaml.Node
	if err := yaml.Unmarshal([]byte("["+entries+"]"), &more); err != nil {
		t.Fatal(err)
	}
	list := value(root, key)
	list.Kind, list.Tag = yaml.SequenceNode, ""
	list.Content = append(list.Content, more.Content[0].Content...)
}

// run serves the Spicepod, and lets its sources go away and come back.
func (r *recipe) run(model *chattest.Server) {
	r.program = start(r.t, r.dir)
	for i, d := range r.datasets {
		r.eventually("to load "+d.name, func() bool { return r.status(d.name) == "" && r.count(d) != "" })
		r.datasets[i].rows = r.count(d)
		r.everyEntrance(r.datasets[i], model)
	}
	for _, name := range r.unserved {
		if r.status(name) == "" {
			r.t.Errorf("%s is served: remove %s/%[1]s from unservedRecipes", name, r.name)
		}
	}
	back := r.away()
	r.want(r.do("POST", "/v1/sql", "SELECT 1 AS one"), 200, `[{"one":1}]`)
	for _, d := range r.datasets {
		if d.accelerated {
			r.want(r.do("POST", "/v1/datasets/"+d.name+"/acceleration/refresh", ""), 201)
			r.eventually("to report that the source of "+d.name+" is away", func() bool { return r.status(d.name) != "" })
		}
		if got := r.count(d); got != d.rows && (got != "" || d.accelerated) {
			r.t.Errorf("%s has %s rows while its source is away, had %s", d.name, got, d.rows)
		}
	}
	back()
	for _, d := range r.datasets {
		r.eventually("to read "+d.name+" again", func() bool {
			if d.accelerated {
				r.do("POST", "/v1/datasets/"+d.name+"/acceleration/refresh", "")
			}
			return r.status(d.name) == "" && r.count(d) == d.rows
		})
		r.everyEntrance(d, model)
	}
}

// status returns the error of a dataset.
func (r *recipe) status(name string) string {
	r.t.Helper()
	var list []struct{ Name, Status, Error string }
	decode(r.t, r.do("GET", "/v1/datasets?status=true", "").body, &list)
	i := slices.IndexFunc(list, func(d struct{ Name, Status, Error string }) bool { return d.Name == name })
	if i < 0 {
		return "there is no dataset " + name
	}
	return list[i].Error
}

// count returns the number of rows, or "" if the dataset cannot be read.
func (r *recipe) count(d recipeDataset) string {
	r.t.Helper()
	answer := r.do("POST", "/v1/sql", "SELECT count(*) AS n FROM "+d.table)
	if answer.status != 200 {
		return ""
	}
	var rows []struct{ N int }
	decode(r.t, answer.body, &rows)
	return fmt.Sprint(rows[0].N)
}

// everyEntrance reads a dataset by SQL, a function, a tool and a chat.
func (r *recipe) everyEntrance(d recipeDataset, model *chattest.Server) {
	r.t.Helper()
	if d.rows == "0" {
		r.t.Errorf("%s has no rows", d.name)
	}
	r.eventually("to serve "+d.function, func() bool { return r.do("POST", "/v1/sql", "SELECT "+d.function+"() AS n").status == 200 })
	r.want(r.do("POST", "/v1/sql", "SELECT "+d.function+"() AS n"), 200, `[{"n":`+d.rows+`}]`)
	r.want(r.do("POST", "/v1/tools/"+d.function+":invoke", `{"args":{}}`), 200, d.rows)
	model.Script(func(q chattest.Request) chattest.Answer {
		if result, ok := q.Results["call_1"]; ok {
			return chattest.Answer{Steps: []chattest.Step{chattest.Text("counted: " + result)}}
		}
		return chattest.Answer{Steps: []chattest.Step{chattest.Call("call_1", d.function, "{}")}}
	})
	r.want(r.do("POST", "/v1/chat/completions", `{"model":"helper","messages":[{"role":"user","content":"How many rows?"}]}`), 200, "counted: "+d.rows)
}

// away makes the sources of the Spicepod go away, and returns how they come back.
func (r *recipe) away() (back func()) {
	var undo []func()
	done := map[*stand]bool{}
	for _, d := range r.datasets {
		s := r.stands[d.connector]
		if done[s] {
			continue
		}
		done[s] = true
		if s.gate != nil {
			s.gate.Close()
			undo = append(undo, s.gate.Reopen)
			continue
		}
		entries, err := os.ReadDir(r.dir)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() == "spicepod.yaml" || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			path, hidden := filepath.Join(r.dir, e.Name()), filepath.Join(r.dir, ".away-"+e.Name())
			if err := os.Rename(path, hidden); err != nil {
				r.t.Fatal(err)
			}
			undo = append(undo, func() {
				if err := os.Rename(hidden, path); err != nil {
					r.t.Error(err)
				}
			})
		}
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}
