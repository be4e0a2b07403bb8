package mcpclient

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

// target is the address of a server and how to connect to it.
type target struct {
	name   string
	from   string // as displayed: without the query of a URL
	key    string // equal declarations have equal keys
	redact func(string) string

	// A process:
	dir     string // its working directory
	command string
	args    []string
	env     []string // added to the base environment, sorted

	// peer: another spiced runtime, which sends more than MCP defines.
	peer bool

	// A URL; nil for a process:
	url    *url.URL
	header http.Header
}

// Params of an entry.
const (
	paramArgs    = "mcp_args"
	paramToken   = "mcp_auth_token"
	paramHeaders = "mcp_headers"
	paramKey     = "api_key"
)

var commandParams = []spicepod.Param{
	{Name: paramArgs, Secret: true, Doc: "Arguments of the command, split at white space; quotes keep them together."},
}

var urlParams = []spicepod.Param{
	{Name: paramToken, Secret: true, Doc: "Sent as Authorization: Bearer …."},
	{Name: paramHeaders, Secret: true, Doc: "More headers: Name: value, Name: value."},
}

var peerParams = []spicepod.Param{
	{Name: paramKey, Secret: true, Doc: "A key of the other runtime."},
}

// kind is what a message calls the server.
func (t *target) kind() string {
	if t.peer {
		return "runtime"
	}
	return "MCP server"
}

func (t *target) keyParam() string {
	if t.peer {
		return paramKey
	}
	return paramToken
}

// entry is one entry of `tools:` being parsed.
type entry struct {
	spicepod.Entry
	declared spicepod.Tool
	secrets  []string
}

func newEntry(pod *spicepod.Pod, i int) *entry {
	declared := pod.Tools[i]
	return &entry{declared: declared, Entry: spicepod.Entry{
		Pod: pod, Path: fmt.Sprintf("tools[%d]", i), Component: "tool " + declared.Name, Params: declared.Params,
	}}
}

// target parses the entry; nil if a problem prevents it from serving.
func (e *entry) target() *target {
	if e.CheckReferences(); e.Problems.HasErrors() {
		return nil
	}
	if e.declared.AsSQL {
		e.warn(".as_sql", "a server is not a SQL function; write an entry for each of its tools: from: tool:"+e.declared.Name+
			"__NAME, as_sql: true")
	}
	_, id, _ := strings.Cut(strings.TrimSpace(e.declared.From), ":")
	id = strings.TrimSpace(id)
	t := &target{name: e.declared.Name, from: e.declared.From, dir: e.Pod.Dir}
	lower := strings.ToLower(id)
	switch {
	case e.declared.Scheme() == "spiced":
		e.readPeer(t, id)
	case strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://"):
		e.readURL(t, id)
	default:
		e.readCommand(t, id)
	}
	if e.Problems.HasErrors() {
		return nil
	}
	t.key = spicepod.Fingerprint([]any{t.name, e.declared.From, e.Params, e.declared.Env, t.dir})
	t.redact = httpx.Redaction(e.secrets)
	return t
}

// scheme matches the scheme of a URL.
var scheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*://`)

func (e *entry) readCommand(t *target, id string) {
	first, rest, spaced := strings.Cut(id, " ")
	switch {
	case id == "" || scheme.MatchString(id):
		e.invalid(id, "write mcp:<command>, or mcp:http://… or mcp:https://…")
	case spaced && !strings.ContainsAny(first, `/\`):
		e.invalid(id, fmt.Sprintf("write mcp:%s, and %q in params.%s", first, strings.TrimSpace(rest), paramArgs))
	}
	if e.Known("an MCP server from a command", commandParams); e.Problems.HasErrors() {
		return
	}
	if t.command = id; strings.ContainsAny(id, `/\`) && !filepath.IsAbs(id) {
		t.command = filepath.Join(e.Pod.Dir, filepath.FromSlash(id))
	}
	args, err := splitArgs(e.Text(paramArgs))
	if err != nil {
		e.FailParam(paramArgs, "", "params.%s: %s", paramArgs, err)
	}
	t.args = args
	if e.hidden(paramArgs) {
		e.secrets = append(e.secrets, args...)
	}
	for _, name := range slices.Sorted(maps.Keys(e.declared.Env)) {
		value := e.declared.Env[name]
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value.Reveal(), "\x00") {
			e.Fail(".env", "", "%q is not a name for an environment variable", name)
			continue
		}
		t.env = append(t.env, name+"="+value.Reveal())
		if value.Secret() {
			e.secrets = append(e.secrets, value.Reveal())
		}
	}
}

func (e *entry) readURL(t *target, id string) {
	if e.Known("an MCP server from a URL", urlParams); e.Problems.HasErrors() {
		return
	}
	u, err := url.Parse(id)
	if err != nil || u.Host == "" {
		e.invalid("…", "write mcp:https://host/path") // an invalid URL may contain a secret
		return
	}
	if u.User != nil || u.Fragment != "" {
		e.invalid("…", "leave user and fragment out; the key goes to params."+paramToken)
		return
	}
	if len(e.declared.Env) > 0 {
		e.warn(".env", "env is for commands; a URL has no use for it")
	}
	t.url = u
	e.secrets = append(e.secrets, u.RawQuery)
	for _, values := range u.Query() {
		e.secrets = append(e.secrets, values...)
	}
	shown := *u
	shown.RawQuery = ""
	t.from = "mcp:" + shown.String()
	t.header = e.headers()
}

// peerPath is where a runtime serves MCP.
const peerPath = "/v1/mcp"

// readPeer reads the address of another runtime. Its list must have all tools, whatever its
// other clients see.
func (e *entry) readPeer(t *target, id string) {
	if e.Known("another runtime", peerParams); e.Problems.HasErrors() {
		return
	}
	u, err := url.Parse(id)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		e.invalid("…", "write spiced:http://host:8090")
		return
	case u.User != nil || u.Fragment != "" || u.RawQuery != "":
		e.invalid("…", "leave user, query and fragment out; the key goes to params."+paramKey)
		return
	case strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), peerPath):
		e.invalid(id, "leave "+peerPath+" out")
		return
	}
	if len(e.declared.Env) > 0 {
		e.warn(".env", "env is for commands; a URL has no use for it")
	}
	t.peer, t.from = true, "spiced:"+u.String()
	t.url = u.JoinPath(peerPath)
	t.url.RawQuery = "mode=direct"
	t.header = http.Header{"User-Agent": {"spiced"}}
	if key := e.Header(paramKey); key != "" {
		t.header.Set("X-Api-Key", key)
		e.secrets = append(e.secrets, key)
	}
}

// reserved are headers that the protocols set.
var reserved = []string{
	"Accept", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id", "Mcp-Protocol-Version",
	"Mcp-Session-Id", "Transfer-Encoding",
}

// headers are the headers of every request.
func (e *entry) headers() http.Header {
	h := http.Header{"User-Agent": {"spiced"}}
	pairs, err := httpx.SplitHeaders(e.Text(paramHeaders))
	if err != nil {
		e.FailParam(paramHeaders, `write "Name: value, Name: value"`, "params.%s: %s", paramHeaders, err)
	}
	for _, pair := range pairs {
		name := http.CanonicalHeaderKey(pair[0])
		if slices.Contains(reserved, name) {
			e.FailParam(paramHeaders, "", "params.%s: the protocol sets %s itself", paramHeaders, name)
		}
		h.Set(name, pair[1])
		e.secrets = append(e.secrets, pair[1])
	}
	if token := e.Header(paramToken); token != "" {
		if h.Get("Authorization") != "" {
			e.warn(".params."+paramHeaders, fmt.Sprintf("its Authorization is not sent: params.%s goes before it", paramToken))
		}
		h.Set("Authorization", "Bearer "+token)
		e.secrets = append(e.secrets, token)
	}
	return h
}

// hidden reports whether a param was written as a reference to a secret.
func (e *entry) hidden(key string) bool {
	text, ok := e.Params[key].(spicepod.Text)
	return ok && text.Secret()
}

func (e *entry) invalid(id, hint string) {
	if scheme := e.declared.Scheme(); scheme != "mcp" {
		e.Fail(".from", hint, "invalid address 'from: %s:%s'", scheme, truncate.Line(id, maxLine))
		return
	}
	e.Fail(".from", hint, "Invalid MCP directive 'from: mcp:%s'", truncate.Line(id, maxLine))
}

func (e *entry) warn(path, message string) {
	e.Problems = append(e.Problems, e.Remark(path, "", message))
}
