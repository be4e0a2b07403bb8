package sqlapi

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/spicepod"
)

// runtimeHandler shows what the runtime is made of, refreshes and reloads it.
type runtimeHandler struct {
	Runtime
	bodies bodyReader
}

func (h *runtimeHandler) health(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, http.StatusOK, "ok\n")
}

func (h *runtimeHandler) ready(w http.ResponseWriter, _ *http.Request) error {
	if !h.Inventory.Ready() {
		w.Header().Set(headerRetryAfter, retryAfterSeconds)
		return writeText(w, http.StatusServiceUnavailable, "not ready")
	}
	return writeText(w, http.StatusOK, "ready")
}

func (h *runtimeHandler) status(w http.ResponseWriter, r *http.Request) error {
	lines := withProblems(h.Inventory.Components(), shownProblems(h.Inventory.Problems(), principalOf(w).Write))
	return writeList(w, r, lines, []string{"name", "endpoint", "status", "message"}, func(c Component) []string {
		return []string{c.Name, c.Endpoint, c.Status, c.Problems.Error()}
	})
}

// shownProblems leaves out the lines of the files that problems are in, for callers who may not read
// the files: see GET /v1/spicepods/files.
func shownProblems(problems spicepod.Problems, mayWrite bool) spicepod.Problems {
	if mayWrite {
		return problems
	}
	shown := slices.Clone(problems)
	for i := range shown {
		shown[i].Source = ""
	}
	return shown
}

// withProblems adds the problems to the components they belong to, and a line
// for each component that has none yet; faults of the file's structure belong
// to "spicepod". The lines have Spice's keys: its clients see more
// components, some of them with the status Error.
func withProblems(components []Component, problems spicepod.Problems) []Component {
	lines := append([]Component{}, components...)
	at := map[string]int{}
	for i, c := range lines {
		at[c.Name] = i
	}
	for _, p := range problems {
		name := p.Component
		if name == "" {
			name = "spicepod"
		}
		i, known := at[name]
		if !known {
			i = len(lines)
			at[name] = i
			lines = append(lines, Component{Name: name, Endpoint: "N/A", Status: StatusReady})
		}
		if p.Severity == spicepod.Error {
			lines[i].Status = StatusError
		}
		lines[i].Problems = append(lines[i].Problems[:len(lines[i].Problems):len(lines[i].Problems)], p)
	}
	for _, c := range problems.Causes() {
		if i, known := at[c.Component]; known && len(c.Waiting) > 0 {
			lines[i].Waiting = c.Waiting
		}
	}
	return lines
}

func (h *runtimeHandler) datasets(w http.ResponseWriter, r *http.Request) error {
	withStatus := flag(r, "status")
	source := r.URL.Query().Get("source")
	list := []Dataset{}
	for _, d := range h.Inventory.Datasets() {
		if source != "" && !fromSource(d.From, source) {
			continue
		}
		if !withStatus {
			d.Status = ""
		}
		list = append(list, d)
	}
	header := []string{"from", "name", "replication_enabled", "acceleration_enabled", "status"}
	return writeList(w, r, list, header, func(d Dataset) []string {
		return []string{
			d.From, d.Name, strconv.FormatBool(d.ReplicationEnabled),
			strconv.FormatBool(d.AccelerationEnabled), d.Status,
		}
	})
}

// fromSource reports whether a dataset's from is the source or its connector.
func fromSource(from, source string) bool {
	connector, _, _ := strings.Cut(from, ":")
	return strings.EqualFold(from, source) || strings.EqualFold(connector, source)
}

func (h *runtimeHandler) functions(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	either, asTool := !r.URL.Query().Has("as_tool"), flag(r, "as_tool")
	list := []Function{}
	for _, f := range h.Inventory.Functions(who) {
		if either || f.AsTool == asTool {
			list = append(list, f)
		}
	}
	header := []string{"name", "kind", "volatility", "from", "description", "signature"}
	return writeList(w, r, list, header, func(f Function) []string {
		return []string{f.Name, f.Kind, f.Volatility, f.From, f.Description, f.Signature}
	})
}

func (h *runtimeHandler) spicepods(w http.ResponseWriter, r *http.Request) error {
	list := append([]Spicepod{}, h.Inventory.Spicepods()...)
	header := []string{
		"name", "version", "datasets_count", "models_count", "dependencies_count", "functions_count",
		"views_count",
	}
	return writeList(w, r, list, header, func(p Spicepod) []string {
		return []string{
			p.Name, p.Version, strconv.Itoa(p.DatasetsCount), strconv.Itoa(p.ModelsCount), strconv.Itoa(p.DependenciesCount),
			strconv.Itoa(p.FunctionsCount), strconv.Itoa(p.ViewsCount),
		}
	})
}

// writeList sends a list as ?format= asks: json, which is the default, or csv.
func writeList[T any](w http.ResponseWriter, r *http.Request, list []T, header []string, row func(T) []string) error {
	if r.URL.Query().Get("format") != "csv" {
		return writeJSON(w, http.StatusOK, list)
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	out := csv.NewWriter(w)
	rows := [][]string{header}
	for _, item := range list {
		rows = append(rows, row(item))
	}
	return out.WriteAll(rows)
}

func writeJSON(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return writeBody(w, status, mediaJSON, append(body, '\n'))
}

func writeText(w http.ResponseWriter, status int, text string) error {
	return writeBody(w, status, "text/plain; charset=utf-8", []byte(text))
}

func writeBytes(w http.ResponseWriter, media string, body []byte) error {
	return writeBody(w, http.StatusOK, media, body)
}

func writeBody(w http.ResponseWriter, status int, media string, body []byte) error {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

type message struct {
	Message string `json:"message"`
}

// refresh begins to refresh a dataset.
func (h *runtimeHandler) refresh(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if h.Refresher == nil {
		return newError(codeNotServed, "", "datasets are not refreshed here")
	}
	o, err := h.readRefresh(w, r)
	if err != nil {
		return err
	}
	switch err := h.Refresher.Refresh(r.Context(), name, o); {
	case errors.Is(err, refresh.ErrUnknown):
		return newError(codeUnknownDataset, "GET /v1/datasets lists them", "Dataset %s not found", name)
	case errors.Is(err, refresh.ErrNotAccelerated):
		return newError(codeNotAccelerated,
			"each statement reads its source; to copy it, declare acceleration: {enabled: true}",
			"Dataset %s does not have acceleration enabled", name)
	case errors.Is(err, refresh.ErrOverride):
		return newError(errcode.InvalidRequest, "", "%s", err)
	case err != nil:
		return err
	}
	return writeJSON(w, http.StatusCreated, message{"Dataset refresh triggered for " + name + "."})
}

func (h *runtimeHandler) readRefresh(w http.ResponseWriter, r *http.Request) (o RefreshOptions, err error) {
	body, err := h.bodies.read(w, r, maxSmallBody)
	if err != nil || len(body) == 0 {
		return o, err
	}
	return o, decodeObject(body, &o)
}

// reload reads the Spicepod again and waits for the outcome.
func (h *runtimeHandler) reload(w http.ResponseWriter, r *http.Request) error {
	if h.Reloader == nil {
		return newError(codeNotServed, "", "the Spicepod is not reloaded here")
	}
	outcome, err := h.Reloader.Reload(r.Context())
	if err != nil {
		return err
	}
	if !outcome.Accepted {
		e := newError(codeReloadRefused, "the previous generation stays in service", "the Spicepod was not applied")
		e.Problems = outcome.Problems
		return e
	}
	if outcome.Changed == nil {
		outcome.Changed = []string{}
	}
	if outcome.Problems == nil {
		outcome.Problems = spicepod.Problems{}
	}
	return writeJSON(w, http.StatusOK, outcome)
}
