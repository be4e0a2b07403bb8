package spicepod

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const otherHead = "version: v1\nkind: Spicepod\nname: other\n"

func TestDependencies(t *testing.T) {
	t.Setenv("MAIN", "main's")
	dir := write(t, map[string]string{
		"spicepod.yaml": head + "dependencies: [shared, acme/sales@v1, spicepods/flat]\ndatasets:\n- {name: own, from: 'file:own.csv', params: {x: '${env:MAIN}'}}\n",
		"shared/spicepod.yaml": otherHead + "runtime: {functions: {enabled: true}, auth: {api-key: {enabled: true, keys: ['${env:NOT_SET}']}}}\n" +
			"dependencies: [./nested]\ndatasets:\n- {name: one, from: 'file:one.csv', params: {x: '${env:KEY}', y: 1}}\n- {ref: datasets/two.yaml}\nviews:\n- {name: " +
			"v, sql_ref: v.sql}\n",
		"shared/.env":                        "KEY=its own\n",
		"shared/datasets/two.yaml":           "name: two\nfrom: file:two.csv\n",
		"shared/v.sql":                       "SELECT 1",
		"shared/nested/spicepod.yml":         otherHead + "functions: [{name: f, from: sql, signature: {returns: int64}, body: '1'}]\n",
		"spicepods/acme/sales/spicepod.yaml": otherHead + "datasets: [{name: sales, from: 'file:sales.csv'}]\ndependencies: [acme/base]\n",
		"spicepods/base/spicepod.yaml":       otherHead + "models: [{name: m, from: 'openai:x'}]\n",
		"spicepods/flat/spicepod.yaml":       otherHead + "dependencies: [acme/base]\n",
	})
	pod, files, err := LoadFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range pod.Datasets {
		names = append(names, d.Name)
	}
	if want := []string{"own", "one", "two", "sales"}; !slices.Equal(names, want) || len(pod.Functions) != 1 || len(pod.Models) != 1 ||
		pod.Views[0].SQL != "SELECT 1" {
		t.Errorf("datasets %q, functions %v, models %v", names, pod.Functions, pod.Models)
	}
	for path, want := range map[string]string{
		"datasets[0].from": "spicepod.yaml:6:21", "datasets[1].params.y": "shared/spicepod.yaml:7:66", "datasets[2].from": "shared/datasets/two.yaml:2:7",
		"datasets[3].name": "spicepods/acme/sales/spicepod.yaml:4:19", "functions[0].name": "shared/nested/spicepod.yml:4:20",
		"models[0].from": "spicepods/base/spicepod.yaml:4:26",
	} {
		if got := pod.At(path).String(); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
	if got := pod.TextAt("views[0].sql", 7).String(); got != "shared/v.sql:1:8" {
		t.Errorf("a text is at %s", got)
	}
	if p := pod.Problem("datasets[1].from", "m", ""); p.Path != "datasets[0].from" || p.Position.File != "shared/spicepod.yaml" {
		t.Errorf("a problem is at %s of %s", p.Path, p.Position)
	}
	if got, _ := pod.Datasets[1].Params.String("x"); got != "its own" {
		t.Errorf("a variable of the dependency is %q", got)
	}
	if got := pod.DependencyDir("datasets[2]"); got != filepath.Join(dir, "shared") {
		t.Errorf("datasets[2] is from %q", got)
	}
	if got := pod.DependencyDir("datasets[0]"); got != "" {
		t.Errorf("datasets[0] is from %q", got)
	}
	for _, file := range []string{
		"shared/spicepod.yaml", "shared/.env", "shared/.env.local", "shared/datasets/two.yaml", "spicepods/base/spicepod.yaml",
		"acme/sales@v1/spicepod.yaml",
	} {
		if !slices.Contains(files, filepath.Join(dir, file)) {
			t.Errorf("%s is not watched: %q", file, files)
		}
	}
	faults := pod.Faults()
	if len(faults) != 1 || faults[0].Message != "runtime of a dependency has no effect" || faults[0].Severity != Warning ||
		faults[0].Position.File != "shared/spicepod.yaml" {
		t.Errorf("faults: %v", faults)
	}
}

func TestDependencyFaults(t *testing.T) {
	t.Setenv("SECRET_OF_THE_PROCESS", "hunter2")
	outside := write(t, map[string]string{"spicepod.yaml": otherHead, "passwd": "root:x\n", "secrets": "SECRET=hunter2\n"})
	for _, c := range []struct{ name, dependencies, other, message, hint, at string }{
		{"missing", "[nowhere]", "", `there is no Spicepod at "nowhere"`, "write the path of a folder", "spicepod.yaml:4:16"},
		{
			"missing in the registry", "[acme/none@v2]", "", `there is no Spicepod at "acme/none@v2"`, "put it into the folder spicepods/acme/none next to",
			"spicepod.yaml:4:16",
		},
		{
			"cycle", "[other]", "dependencies: ['..']", "dependency cycle: spicepod.yaml → other/spicepod.yaml → spicepod.yaml", "leave one of them out",
			"other/spicepod.yaml:4:16",
		},
		{"itself", "['.']", "", "dependency cycle: spicepod.yaml → spicepod.yaml", "", "spicepod.yaml:4:16"},
		{
			"name twice", "[other]", "datasets: [{name: Own, from: 'file:x'}]", `dataset "Own" is declared twice: first at spicepod.yaml:5:19`, "rename one",
			"other/spicepod.yaml:4:19",
		},
		{"unknown key", "[other]", "datasets: [{name: x, form: 'file:x'}]", `unknown key "form"`, "from", "other/spicepod.yaml:4:22"},
		{"not YAML", "[other]", "datasets: [", "", "", "other/spicepod.yaml"},
		{
			"file outside", "[other]", "views: [{name: v, sql_ref: '" + outside + "/passwd'}]", "is outside of the folder of the dependency",
			"files of its own folder only", "other/spicepod.yaml:4:28",
		},
		{"file above", "[other]", "views: [{name: v, sql_ref: ../spicepod.yaml}]", "is outside of the folder of the dependency", "", "other/spicepod.yaml:4:28"},
		{"link", "[other]", "views: [{name: v, sql_ref: link}]", "is outside of the folder of the dependency", "", "other/spicepod.yaml:4:28"},
		{
			"Spicepod outside", "[other]", "dependencies: ['" + outside + "']", "there is no Spicepod at", "a dependency names only Spicepods in its own folder",
			"other/spicepod.yaml:4:16",
		},
		{
			"variable of the process", "[other]", "datasets: [{name: x, from: 'https://e.invalid/${env:SECRET_OF_THE_PROCESS}'}]",
			"the variable SECRET_OF_THE_PROCESS is not set", "to .env in the folder of the dependency", "",
		},
		{
			"variable of the Spicepod", "[other]", "datasets: [{name: x, from: 'https://e.invalid/${env:OF_THE_SPICEPOD}'}]",
			"the variable OF_THE_SPICEPOD is not set", "", "",
		},
		{"process", "[other]", "tools: [{name: x, from: 'mcp:sh'}]", "a dependency starts no process", "in the Spicepod itself", "other/spicepod.yaml:4:25"},
		{
			"exec body", "[other]", "functions: [{name: x, from: exec, body: 'pass', signature: {returns: utf8}}]", "a dependency starts no process",
			"in the Spicepod itself", "other/spicepod.yaml:4:29",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, map[string]string{
				"spicepod.yaml":       otherHead + "dependencies: " + c.dependencies + "\ndatasets: [{name: own, from: 'file:x'}]\n",
				".env":                "OF_THE_SPICEPOD=hunter2\n",
				"other/spicepod.yaml": otherHead + c.other + "\n",
			})
			if err := os.Symlink(filepath.Join(outside, "passwd"), filepath.Join(dir, "other", "link")); err != nil {
				t.Fatal(err)
			}
			pod, err := Load(dir, testBodies...)
			text := ""
			if err != nil {
				text = err.Error()
			} else {
				text = pod.Faults().Error()
				for _, u := range pod.Unset("datasets[1]") {
					text += u.Message + "\n" + u.Hint + "\n"
				}
			}
			for _, want := range []string{c.message, c.hint, c.at} {
				if !strings.Contains(text, want) {
					t.Errorf("got %s\nwant %q", text, want)
				}
			}
			if strings.Contains(text, "hunter2") || strings.Contains(text, "root:x") {
				t.Errorf("it shows what a dependency must not read: %s", text)
			}
		})
	}
	dir := write(t, map[string]string{"spicepod.yaml": otherHead + "dependencies: [other]\n", "other/spicepod.yaml": otherHead})
	if err := os.Symlink(filepath.Join(outside, "secrets"), filepath.Join(dir, "other", ".env")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "it leads out of the folder of the dependency") {
		t.Errorf("variables elsewhere: got %v", err)
	}
}
