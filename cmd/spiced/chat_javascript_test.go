package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/clients"
)

// installing is how long the clients may take to come.
const installing = 3 * time.Minute

// jsQuestion is what testdata/clients/ask.mjs asks.
type jsQuestion struct {
	Protocol chat.Form `json:"protocol"`
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Text     string    `json:"text"`
	Image    string    `json:"image,omitempty"`
	Tools    []string  `json:"tools,omitempty"`
	Reply    string    `json:"reply,omitempty"` // the result of every call
}

// jsAnswer is what a client understood.
type jsAnswer struct {
	Text, Reason string
	Calls        []struct{ ID, Name string }
	Usage        chat.Usage
	Replied      bool
	Error        *struct {
		Own                  bool
		Class, Kind, Message string
		Status               int
	}
}

// jsClients is the script that asks with the official clients for JavaScript.
func jsClients(t *testing.T) string {
	t.Helper()
	return jsScript(t, jsPackages(t, "testdata/clients"), "testdata/clients/ask.mjs")
}

// jsPackages is where the packages of a folder of testdata are, which are
// installed once per version of the lock file.
func jsPackages(t *testing.T, from string) string {
	t.Helper()
	clients.Need(t, "JAVASCRIPT")
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("THE JAVASCRIPT CLIENTS ARE NOT TESTED: there is no %s here: install nodejs and npm", program)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	lock := sha256.Sum256([]byte(read(t, from+"/package-lock.json")))
	dir := filepath.Join(cache, "spiced", "test-clients", fmt.Sprintf("%x", lock[:8]))
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		install(t, from, dir)
	}
	return dir
}

// jsScript writes a script next to the packages that it imports, under the name
// of the text: tests may run in parallel.
func jsScript(t *testing.T, dir, from string) string {
	t.Helper()
	text := read(t, from)
	name := strings.TrimSuffix(filepath.Base(from), ".mjs")
	script := filepath.Join(dir, fmt.Sprintf("%s-%x.mjs", name, sha256.Sum256([]byte(text))))
	write(t, script, text)
	return script
}

// install fetches the packages next to dir and moves them there.
func install(t *testing.T, from, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		write(t, filepath.Join(fresh, name), read(t, filepath.Join(from, name)))
	}
	npm := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir, npm.WaitDelay = fresh, time.Second
	late := time.AfterFunc(installing, func() { npm.Process.Kill() }) //nolint:errcheck // it may have ended
	defer late.Stop()
	if out, err := npm.CombinedOutput(); err != nil {
		t.Skipf("THE JAVASCRIPT CLIENTS ARE NOT TESTED: let npm reach its registry: npm ci: %v\n%s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			t.Fatal(err)
		}
	}
}

// javascript asks all questions, one after the other.
func (c *chatting) javascript(script string, questions []jsQuestion) []jsAnswer {
	c.t.Helper()
	input, err := json.Marshal(map[string]any{"url": c.url, "questions": questions})
	if err != nil {
		c.t.Fatal(err)
	}
	var out, complaints bytes.Buffer
	node := exec.Command("node", script)
	node.Stdin, node.Stdout, node.Stderr = bytes.NewReader(input), &out, &complaints
	if err := node.Run(); err != nil {
		c.t.Fatalf("node: %v\n%s", err, complaints.String())
	}
	var answers []jsAnswer
	if err := json.Unmarshal(out.Bytes(), &answers); err != nil || len(answers) != len(questions) {
		c.t.Fatalf("%v: %s\n%s", err, out.String(), complaints.String())
	}
	return answers
}

// onEveryProtocol is a question at each protocol, streaming and not.
func onEveryProtocol(q jsQuestion) []jsQuestion {
	var all []jsQuestion
	for _, protocol := range []chat.Form{chat.FormOpenAI, chat.FormResponses, chat.FormAnthropic} {
		for _, stream := range []bool{false, true} {
			one := q
			one.Protocol, one.Stream = protocol, stream
			if one.Model == "" {
				one.Model = modelOf[protocol]
			}
			all = append(all, one)
		}
	}
	return all
}

// TestChatJavaScript has the conversations of the other tests with the
// official clients for JavaScript.
func TestChatJavaScript(t *testing.T) {
	t.Parallel()
	script := jsClients(t)
	for name, k := range map[string]struct {
		pod      chatPod
		answers  func(chattest.Request) chattest.Answer
		requests int64
	}{
		"through search": {registryPod, searching, 3},
		"direct":         {directPod, calling, 2},
		"no embeddings":  {chatPod{functions: 25, tools: "auto"}, calling, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startChat(t, k.pod)
			c.model.Script(k.answers)
			questions := onEveryProtocol(jsQuestion{Text: distance})
			for i, a := range c.javascript(script, questions) {
				if a.Error != nil {
					t.Errorf("%+v: %+v", questions[i], *a.Error)
					continue
				}
				got := said{text: a.Text, reason: a.Reason, calls: make([]chat.Call, len(a.Calls)), usage: a.Usage}
				wantAnswer(t, got, nil, k.requests)
			}
		})
	}
}

// TestChatJavaScriptTools returns the client's calls to it, next to one of the
// runtime, and passes an image on.
func TestChatJavaScriptTools(t *testing.T) {
	t.Parallel()
	script := jsClients(t)
	c := startChat(t, directPod)
	c.model.Script(beside)
	questions := onEveryProtocol(jsQuestion{Text: distance, Tools: []string{"get_location"}, Reply: "the ferry", Image: dot})
	for i, a := range c.javascript(script, questions) {
		if a.Error != nil || !a.Replied || !strings.Contains(a.Text, "From the ferry: It is 4129.") {
			t.Errorf("%+v: %+v", questions[i], a)
		}
	}
	if !slices.ContainsFunc(c.model.Requests(), func(r chattest.Request) bool { return bytes.Contains(r.Body, []byte(dot)) }) {
		t.Error("the provider got no image")
	}
}

// TestChatJavaScriptErrors come as errors of the clients' own types.
func TestChatJavaScriptErrors(t *testing.T) {
	t.Parallel()
	script := jsClients(t)
	c := startChat(t, directPod)
	for status, k := range map[int]struct {
		model  string
		answer chattest.Answer
	}{
		404: {"helpr", chattest.Say()},
		429: {"", chattest.RateLimited(0)},
		502: {"", chattest.Unauthorized()},
	} {
		c.model.Script(chattest.Always(k.answer))
		questions := onEveryProtocol(jsQuestion{Model: k.model, Text: distance})
		for i, a := range c.javascript(script, questions) {
			if e := a.Error; e == nil || !e.Own || e.Status != status || e.Kind == "" || strings.Contains(e.Message, modelKey) {
				t.Errorf("%d: %+v: %+v", status, questions[i], a)
			}
		}
	}
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("half of"), chattest.Fail("Overloaded"))))
	for i, a := range c.javascript(script, onEveryProtocol(jsQuestion{Text: distance})) {
		if stream := i%2 == 1; stream && a.Error == nil {
			t.Errorf("half a stream passes for a whole one: %+v", a)
		}
	}
}
