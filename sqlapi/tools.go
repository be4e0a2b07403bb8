package sqlapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// toolsHandler lists, finds and calls tools.
type toolsHandler struct {
	registry  *registry.Registry
	sandboxes *sandboxesHandler
	jobs      *query.Jobs // nil: calls do not run as jobs
	bodies    bodyReader
	keepAlive time.Duration
	log       *slog.Logger
}

// list lists the tools of a scope.
func (t *toolsHandler) list(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	q := r.URL.Query()
	catalog := t.registry.Current()
	inSandbox, err := t.sandboxes.keep(r, who)
	if err != nil {
		return err
	}
	keep := func(d *tools.Definition) bool { return wanted(d, q) && inSandbox(d) }
	list := slices.DeleteFunc(slices.Clone(catalog.Visible(tools.Scope{Caller: who})), func(d *tools.Definition) bool {
		return !keep(d)
	})
	view, format := q.Get("view"), q.Get("format")
	switch {
	case format == "xml":
		var b bytes.Buffer
		if err := tools.WriteXML(&b, list); err != nil {
			return err
		}
		return writeTagged(w, r, "application/xml", b.Bytes())
	case view == "stats":
		return t.listStats(w, r, catalog, who, keep)
	case view == "full" && format != "csv":
		return writeCanonical(w, r, list)
	}
	short := make([]tools.PlannerView, len(list))
	for i, d := range list {
		short[i] = d.Planner()
	}
	if format == "csv" {
		return writeList(w, r, short, []string{"name", "description"}, func(v tools.PlannerView) []string {
			return []string{v.Name, v.Description}
		})
	}
	return writeCanonical(w, r, short)
}

// wanted reports whether a definition passes the filters of a query.
func wanted(d *tools.Definition, q url.Values) bool {
	source, owner, tag := q.Get("source"), q.Get("owner"), q.Get("tag")
	return (source == "" || fromSource(d.Source, source)) && (owner == "" || d.Owner == owner) &&
		(tag == "" || slices.Contains(d.Tags, tag))
}

func (t *toolsHandler) listStats(w http.ResponseWriter, r *http.Request, c *registry.Catalog, who caller.Caller,
	keep func(*tools.Definition) bool,
) error {
	list := t.registry.Stats(c, tools.Scope{Caller: who}, keep)
	header := []string{
		"name", "description", "parameter_count", "total_invocations", "errors", "last_called_at",
		"searches", "owner", "source",
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return writeList(w, r, list, header, func(s registry.Stat) []string {
		last := ""
		if s.LastCalledAt != nil {
			last = s.LastCalledAt.UTC().Format(time.RFC3339Nano)
		}
		return []string{
			s.Name, s.Description, strconv.Itoa(s.ParameterCount), number(s.TotalInvocations), number(s.Errors), last,
			number(s.Searches), s.Owner, s.Source,
		}
	})
}

// get shows a tool's definition, or why it can be called or not.
func (t *toolsHandler) get(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	name := r.PathValue("name")
	explain := flag(r, "explain")
	if owned := t.registry.Current().Owned(name, tools.Scope{Caller: who}); owned != nil && !explain {
		return writeCanonical(w, r, owned)
	}
	def := t.definition(name)
	if def != nil && !explain && registry.Reserved(def.Name) {
		return writeCanonical(w, r, def)
	}
	status, err := t.registry.Status(name, tools.Scope{Caller: who}, explain)
	switch {
	case err != nil:
		return callError(tools.AsError(err))
	case explain:
		return writeJSON(w, http.StatusOK, status)
	case status.HiddenBy == registry.StageAvailable:
		return callError(tools.NewError(errcode.ToolUnavailable, status.Name+" is not available here: "+status.Reason, ""))
	case def == nil:
		return callError(tools.NewError(errcode.ToolNotFound, "there is no tool "+
			strconv.Quote(truncate.Ellipsis(name, maxShown)), "it is declared, but not a tool: "+status.Reason))
	}
	return writeCanonical(w, r, def)
}

// definition is that of the tool a call of this name would reach, or nil.
func (t *toolsHandler) definition(name string) *tools.Definition {
	if def := t.registry.Current().Get(name); def != nil {
		return def
	}
	for _, def := range append(t.registry.MetaTools(), t.registry.DescribeTool()) {
		if def.Name == name {
			return def
		}
	}
	return nil
}

// listDatasets is the tool that models get in addition to tool_search and tool_invoke.
const listDatasets = "list_datasets"

// offered is a definition as models take it.
type offered struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters" type:"object" doc:"JSON Schema of the arguments."`
}

// offeredFunction is one in OpenAI's form.
type offeredFunction struct {
	Type     string  `json:"type" enum:"function"`
	Function offered `json:"function"`
}

// definitions lists what a model of another system gets in place of all
// tools.
func (t *toolsHandler) definitions(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	q := r.URL.Query()
	catalog := t.registry.Current()
	if err := searchable(catalog, q.Get("embedding_model")); err != nil {
		return err
	}
	defs := []*tools.Definition{}
	if visible := catalog.Visible(tools.Scope{Caller: who}); len(visible) > 0 {
		defs = t.registry.MetaTools()
		if i := slices.IndexFunc(visible, func(d *tools.Definition) bool { return d.Name == listDatasets }); i >= 0 {
			defs = append(defs, visible[i])
		}
	}
	list, functions := make([]offered, len(defs)), make([]offeredFunction, len(defs))
	for i, d := range defs {
		list[i] = offered{d.Name, d.Text(), d.Parameters}
		functions[i] = offeredFunction{"function", list[i]}
	}
	switch f := q.Get("format"); f {
	case "", "json":
		return writeCanonical(w, r, list)
	case "openai":
		return writeCanonical(w, r, functions)
	default:
		return newError(errcode.InvalidRequest, "use json or openai", "the format %q is unknown", f)
	}
}

// searchable refuses a catalog that tool_search cannot stand in for: Spice's
// rules.
func searchable(c *registry.Catalog, model string) error {
	if model == "" {
		model = c.EmbeddingModel
	}
	if _, err := resolver(c).Resolve(model); err != nil {
		return newError(errcode.InvalidRequest, "", "%s", err)
	}
	if name := c.ReservedName(); name != "" {
		return newError(errcode.InvalidRequest, "", "Tool name '%s' is reserved for the searchable tool registry. "+
			"Rename the configured tool or disable searchable registry tools.", name)
	}
	return nil
}

// resolver resolves the embedding models of a catalog.
func resolver(c *registry.Catalog) registry.Embeddings {
	if c.Embeddings == nil {
		return &embeddings.Set{}
	}
	return c.Embeddings
}

// embeddingModel is a name that a request gives, unless no model has it. One
// that is there and fails leaves a search without vectors.
func (t *toolsHandler) embeddingModel(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if _, err := resolver(t.registry.Current()).Resolve(name); errors.Is(err, embeddings.ErrUnknownModel) {
		return "", newError(errcode.InvalidRequest, "", "%s", err)
	}
	return name, nil
}

// writeCanonical sends a value as canonical JSON.
func writeCanonical(w http.ResponseWriter, r *http.Request, value any) error {
	body, err := tools.Encode(value)
	if err != nil {
		return err
	}
	return writeTagged(w, r, "application/json", append(body, '\n'))
}

// writeTagged sends a body with a tag of its bytes, unless the client has that
// already.
func writeTagged(w http.ResponseWriter, r *http.Request, media string, body []byte) error {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", tag)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeBytes(w, media, body)
}

// setGeneration names the generation that answers.
func setGeneration(w http.ResponseWriter, generation uint64) {
	w.Header().Set(headerGeneration, strconv.FormatUint(generation, 10))
}
