package sqlapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// Sandboxes are where the code of functions runs.
type Sandboxes interface {
	// Sandboxes are those of the Spicepod, sorted by name, with the functions that the caller
	// may see.
	Sandboxes(who caller.Caller) []Sandbox
	// BuildSandbox installs the packages of a sandbox, and waits for that and for the load of
	// the functions. An error that is [spicepod.Problems] is one of the packages.
	BuildSandbox(ctx context.Context, name string) error
}

// Sandbox is where the code of functions runs.
type Sandbox struct {
	Name           string           `json:"name"`
	Runtime        string           `json:"runtime" enum:"python,command,wasm"`
	Description    string           `json:"description,omitempty"`
	Dependencies   []string         `json:"dependencies" doc:"The packages that the sandbox and its functions need, sorted."`
	Secrets        []string         `json:"secrets" doc:"The names of the variables that the code sees, sorted."`
	MissingSecrets []string         `json:"missing_secrets,omitempty" doc:"Those of them that are not set."`
	Checksum       string           `json:"checksum" doc:"SHA-256 over the code, the requirements and the settings, in hex."`
	Built          bool             `json:"built" doc:"Whether the packages are installed; true if there are none."`
	Functions      []string         `json:"functions" doc:"The functions in the sandbox, sorted."`
	Isolation      string           `json:"isolation" enum:"required,best_effort" doc:"As declared."`
	Isolated       *bool            `json:"isolated,omitempty" doc:"Whether this system isolates the code in full, as measured; absent if no code runs in the sandbox."`
	Layers         []string         `json:"layers,omitempty" doc:"The parts of the isolation that are in use."`
	MissingLayers  []string         `json:"missing_layers,omitempty" doc:"The parts of the isolation that the system lacks."`
	Network        string           `json:"network" enum:"none,all" doc:"As declared."`
	Python         string           `json:"python,omitempty" doc:"The version of Python."`
	Packages       []SandboxPackage `json:"packages,omitempty" doc:"What is installed."`
}

// SandboxPackage is an installed package.
type SandboxPackage struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	SHA256  []string `json:"sha256" doc:"Of the wheels that were accepted."`
}

// sandboxesHandler lists and builds sandboxes.
type sandboxesHandler struct{ sandboxes Sandboxes }

func (h *sandboxesHandler) list(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	if h.sandboxes == nil {
		return newError(codeNotServed, "", "sandboxes are not served here")
	}
	header := []string{
		"name", "runtime", "dependencies", "secrets", "checksum", "built", "functions", "isolation",
		"isolated", "layers", "missing_layers",
	}
	join := func(list []string) string { return strings.Join(list, ";") }
	return writeList(w, r, append([]Sandbox{}, h.sandboxes.Sandboxes(who)...), header, func(s Sandbox) []string {
		isolated := ""
		if s.Isolated != nil {
			isolated = strconv.FormatBool(*s.Isolated)
		}
		return []string{
			s.Name, s.Runtime, join(s.Dependencies), join(s.Secrets), s.Checksum, strconv.FormatBool(s.Built),
			join(s.Functions), s.Isolation, isolated, join(s.Layers), join(s.MissingLayers),
		}
	})
}

func (h *sandboxesHandler) get(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	s, err := h.named(r.PathValue("name"), who)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s)
}

func (h *sandboxesHandler) named(name string, who caller.Caller) (Sandbox, error) {
	if h.sandboxes == nil {
		return Sandbox{}, newError(codeNotServed, "", "sandboxes are not served here")
	}
	var names []string
	for _, s := range h.sandboxes.Sandboxes(who) {
		if strings.EqualFold(s.Name, name) {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Sandbox{}, newError(codeNoSandbox, nearest.Hint(name, names, "GET /v1/sandboxes lists them"),
		"there is no sandbox %q", truncate.Ellipsis(name, maxShown))
}

// build installs the packages of a sandbox.
func (h *sandboxesHandler) build(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	s, err := h.named(r.PathValue("name"), who)
	if err != nil {
		return err
	}
	if err := h.sandboxes.BuildSandbox(r.Context(), s.Name); err != nil {
		if problems, ok := err.(spicepod.Problems); ok && len(problems) > 0 { //nolint:errorlint // not wrapped
			e := newError(codeNotBuilt, problems[0].Hint, "%s", problems[0].Message)
			e.Problems = problems
			return e
		}
		return err
	}
	if s, err = h.named(s.Name, who); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s)
}

// keep returns which tools are functions of the sandbox that a request names; all, if it names
// none.
func (h *sandboxesHandler) keep(r *http.Request, who caller.Caller) (func(*tools.Definition) bool, error) {
	if !r.URL.Query().Has("sandbox") {
		return func(*tools.Definition) bool { return true }, nil
	}
	s, err := h.named(r.URL.Query().Get("sandbox"), who)
	if err != nil {
		return nil, err
	}
	return func(d *tools.Definition) bool {
		return d.Source == tools.SourceFunction && slices.Contains(s.Functions, d.Name)
	}, nil
}

func sandboxRoutes(h *sandboxesHandler) []route {
	name := param{"name", "path", "the sandbox", text}
	const example = `{"name":"analytics","runtime":"python","dependencies":["numpy","pandas"],"secrets":["ANALYTICS_TOKEN","DB_URL"],"checksum":"9f2c…","built":true,"functions":["analyze_behavior"],"isolation":"required","isolated":true,"layers":["Landlock 6","seccomp","resource limits","user, network, IPC and UTS namespaces","PID namespace"],"network":"none"}`
	return []route{
		{
			method: "GET", path: "/v1/sandboxes", id: "list_sandboxes", tag: "Functions", is: scoped,
			summary: "List the sandboxes, where the code of functions runs.",
			about: "Each has the dependencies and secrets of its own and of its functions, without the values of secrets. " +
				"The sandbox `default` always exists.",
			params:  []param{formatParam},
			answers: []answer{{http.StatusOK, "The sandboxes.", asList(ref("Sandbox"), "["+example+"]")}},
			failures: failures{
				http.StatusBadRequest: "A parameter or a header is wrong.",
				http.StatusNotFound:   "This process does not serve sandboxes.",
			},
			handle: withCaller(caller.HTTP, h.list),
		},
		{
			method: "GET", path: "/v1/sandboxes/{name}", id: "get_sandbox", tag: "Functions", is: scoped,
			summary:  "Show a sandbox.",
			params:   []param{name},
			answers:  []answer{{http.StatusOK, "The sandbox.", asJSON(ref("Sandbox"), example)}},
			failures: failures{http.StatusBadRequest: "A header is wrong.", http.StatusNotFound: "There is no such sandbox."},
			handle:   withCaller(caller.HTTP, h.get),
		},
		{
			method: "POST", path: "/v1/sandboxes/{name}/build", id: "build_sandbox", tag: "Functions", is: scoped | writes,
			summary: "Install the packages of a sandbox.",
			about: "Answers when the packages are installed and the functions that need them are loaded, which may take " +
				"minutes. A client that disconnects does not end the installation. Packages that are installed stay as they are.",
			params:  []param{name},
			answers: []answer{{http.StatusOK, "The packages are installed.", asJSON(ref("Sandbox"), example)}},
			failures: failures{
				http.StatusBadRequest: "A header is wrong.", http.StatusNotFound: "There is no such sandbox.",
				http.StatusUnprocessableEntity: "The packages cannot be installed.",
			},
			handle: withCaller(caller.HTTP, h.build),
		},
	}
}
