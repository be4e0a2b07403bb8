package client

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/nearest"
	"github.com/spiced-sql/spiced/remote"
	"github.com/spiced-sql/spiced/spicepod"
)

// target is where a server is and how to reach it.
type target struct {
	name   string
	from   string // as shown: without the query of a URL
	key    string // equal for equal declarations
	redact func(string) string

	// A process:
	dir     string // its working directory
	command string
	args    []string
	env     []string // beside the base environment, sorted

	// A URL; nil for a process:
	url    *url.URL
	header http.Header
}

// The params of an entry.
const (
	paramArgs    = "mcp_args"
	paramToken   = "mcp_auth_token"
	paramHeaders = "mcp_headers"
)

// entry is one entry of `tools:` while it is read.
type entry struct {
	pod      *spicepod.Pod
	declared spicepod.Tool
	path     string
	problems spicepod.Problems
	secrets  []string
}

func newEntry(pod *spicepod.Pod, i int) *entry {
	return &entry{pod: pod, declared: pod.Tools[i], path: fmt.Sprintf("tools[%d]", i)}
}

// target reads the entry; nil when a problem keeps it from serving.
func (e *entry) target() *target {
	if e.declared.AsSQL {
		e.warn(".as_sql", "the tools of a server cannot be SQL functions")
	}
	_, id, _ := strings.Cut(strings.TrimSpace(e.declared.From), ":")
	id = strings.TrimSpace(id)
	t := &target{name: e.declared.Name, from: e.declared.From, dir: e.pod.Dir}
	lower := strings.ToLower(id)
	if strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://") {
		e.readURL(t, id)
	} else {
		e.readCommand(t, id)
	}
	if e.problems.HasErrors() {
		return nil
	}
	t.key = spicepod.Fingerprint([]any{t.name, e.declared.From, e.declared.Params, e.declared.Env, t.dir})
	t.redact = remote.Redaction(e.secrets)
	return t
}

// scheme is what a URL begins with.
var scheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*://`)

func (e *entry) readCommand(t *target, id string) {
	first, rest, spaced := strings.Cut(id, " ")
	switch {
	case id == "" || scheme.MatchString(id):
		e.invalid(id, "write mcp:<command>, or mcp:http://… or mcp:https://…")
	case spaced && !strings.ContainsAny(first, `/\`):
		e.invalid(id, fmt.Sprintf("write mcp:%s, and %q in params.%s", first, strings.TrimSpace(rest), paramArgs))
	}
	e.known("a command", paramArgs)
	if t.command = id; strings.ContainsAny(id, `/\`) && !filepath.IsAbs(id) {
		t.command = filepath.Join(e.pod.Dir, filepath.FromSlash(id))
	}
	args, err := splitArgs(e.text(paramArgs))
	if err != nil {
		e.fail(".params."+paramArgs, "", "params.%s: %s", paramArgs, err)
	}
	t.args = args
	if e.hidden(paramArgs) {
		e.secrets = append(e.secrets, args...)
	}
	for _, name := range slices.Sorted(maps.Keys(e.declared.Env)) {
		value := e.declared.Env[name]
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value.Reveal(), "\x00") {
			e.fail(".env", "", "%q is no variable that a command can be given", name)
			continue
		}
		t.env = append(t.env, name+"="+value.Reveal())
		if value.Secret() {
			e.secrets = append(e.secrets, value.Reveal())
		}
	}
}

func (e *entry) readURL(t *target, id string) {
	e.known("a URL", paramToken, paramHeaders)
	u, err := url.Parse(id)
	if err != nil || u.Host == "" {
		e.invalid("…", "write mcp:https://host/path") // a wrong URL may hold a secret
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

// reserved are headers that belong to the protocols.
var reserved = []string{
	"Accept", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id", "Mcp-Protocol-Version",
	"Mcp-Session-Id", "Transfer-Encoding",
}

// headers are those of every request.
func (e *entry) headers() http.Header {
	h := http.Header{"User-Agent": {"spiced"}}
	pairs, err := splitHeaders(e.text(paramHeaders))
	if err != nil {
		e.fail(".params."+paramHeaders, `write "Name: value, Name: value"`, "params.%s: %s", paramHeaders, err)
	}
	for _, pair := range pairs {
		name := http.CanonicalHeaderKey(pair[0])
		if slices.Contains(reserved, name) {
			e.fail(".params."+paramHeaders, "", "params.%s: the protocol sets %s itself", paramHeaders, name)
		}
		h.Set(name, pair[1])
		e.secrets = append(e.secrets, pair[1])
	}
	token := e.text(paramToken)
	if strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r > '~' }) {
		e.fail(".params."+paramToken, "", "params.%s holds a character that no header may hold", paramToken)
	}
	if token != "" {
		if h.Get("Authorization") != "" {
			e.warn(".params."+paramHeaders, fmt.Sprintf("its Authorization is not sent: params.%s goes before it", paramToken))
		}
		h.Set("Authorization", "Bearer "+token)
		e.secrets = append(e.secrets, token)
	}
	return h
}

// text reads a param without the space around it: keys often come from files
// that end in a line break.
func (e *entry) text(key string) string {
	text, err := e.declared.Params.String(key)
	if err != nil {
		e.fail(".params."+key, "", "%s", err)
	}
	return strings.TrimSpace(text)
}

// hidden reports whether a param was written as a reference to a secret.
func (e *entry) hidden(key string) bool {
	text, ok := e.declared.Params[key].(spicepod.Text)
	return ok && text.Secret()
}

// known refuses params that nothing reads.
func (e *entry) known(of string, names ...string) {
	for _, key := range slices.Sorted(maps.Keys(e.declared.Params)) {
		if slices.Contains(names, key) {
			continue
		}
		hint := "known here: " + strings.Join(names, ", ")
		if near := nearest.Name(key, names); near != "" {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
		p := e.pod.KeyProblem(e.path+paramPath(key), fmt.Sprintf("unknown param %q of an MCP server from %s", key, of), hint)
		e.add(p)
	}
}

// paramPath writes a key that is not a plain word as Pod.At wants it.
func paramPath(key string) string {
	if key != "" && plain(key) == key {
		return ".params." + key
	}
	return fmt.Sprintf(".params[%q]", key)
}

func (e *entry) invalid(id, hint string) {
	e.fail(".from", hint, "Invalid MCP directive 'from: mcp:%s'", remote.OneLine(id, maxLine))
}

func (e *entry) fail(path, hint, format string, args ...any) {
	e.add(e.pod.Problem(e.path+path, fmt.Sprintf(format, args...), hint))
}

func (e *entry) warn(path, message string) {
	p := e.pod.Problem(e.path+path, message, "")
	p.Severity = spicepod.Warning
	e.add(p)
}

func (e *entry) add(p spicepod.Problem) {
	p.Component = "tool " + e.declared.Name
	e.problems = append(e.problems, p)
}
