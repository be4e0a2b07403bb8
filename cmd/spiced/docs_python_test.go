package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/clients"
)

// pythonBlock matches a block of Python.
var pythonBlock = regexp.MustCompile("(?s)```python\n(.*?)```")

// runPython runs the Python blocks of a page as one program, with other texts in place of
// its addresses.
func runPython(t *testing.T, page string, replace ...string) {
	t.Helper()
	python := clients.Find(t, "PYTHON", "python/bin/python")
	var program strings.Builder
	for _, block := range pythonBlock.FindAllStringSubmatch(read(t, "../../docs/"+page), -1) {
		program.WriteString(strings.NewReplacer(replace...).Replace(block[1]) + "\n")
	}
	if status, out := session(t, nil, python, "-c", program.String()); status != 0 {
		t.Errorf("%s: status %d:\n%s", page, status, out)
	}
}

func TestDocsNotebook(t *testing.T) {
	t.Parallel()
	p := start(t, "../../examples/quickstart", sqlProtocols()...)
	runPython(t, "notebook.md", "127.0.0.1:5432", p.address("postgres"), "127.0.0.1:50051", p.address("flight"))
}

func TestDocsSDKs(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("About 5,540 km."))))
	runPython(t, "openaiclients.md", "http://127.0.0.1:8090", c.url, `"assistant"`, `"helper"`)
	if n := len(c.model.Requests()); n != 4 {
		t.Errorf("the provider got %d requests", n)
	}
}
