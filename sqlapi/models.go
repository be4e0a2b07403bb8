package sqlapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
)

// modelLine is a model as OpenAI's clients list it, with Spice's keys and
// ours.
type modelLine struct {
	models.Info
	Object   string            `json:"object" enum:"model"`
	Created  int64             `json:"created" doc:"0 when unknown."` // seconds since 1970
	Tools    *models.ToolPlan  `json:"tools,omitempty"`               // nil: it was not loaded
	Status   *string           `json:"status" required:"true" nullable:"true" doc:"With ?status=true."`
	Metadata map[string]string `json:"metadata,omitempty" doc:"With ?metadata_fields."`
}

type modelList struct {
	Object string      `json:"object" enum:"list"`
	Data   []modelLine `json:"data"`
}

// anthropicModel is a model as Anthropic's clients list it.
type anthropicModel struct {
	Type        string    `json:"type" enum:"model"`
	ID          string    `json:"id"`
	DisplayName string    `json:"display_name"`
	CreatedAt   time.Time `json:"created_at"`
}

type anthropicModelList struct {
	Data    []anthropicModel `json:"data"`
	HasMore bool             `json:"has_more"`
	FirstID *string          `json:"first_id" required:"true" nullable:"true"`
	LastID  *string          `json:"last_id" required:"true" nullable:"true"`
}

// modelView is what a request wants to see of models.
type modelView struct {
	anthropic bool // in Anthropic's form
	status    bool
	metadata  bool
}

// headerAnthropic is in every request of Anthropic's clients.
const headerAnthropic = "Anthropic-Version"

const supportsResponses = "supports_responses_api"

// modelView reads what a request wants to see of models, if they are served.
func (c *chatHandler) modelView(w http.ResponseWriter, r *http.Request) (modelView, error) {
	v := modelView{anthropic: r.Header.Get(headerAnthropic) != ""}
	if c.chats == nil {
		return v, newError(codeNotServed, "", "models are not served here")
	}
	nameGeneration(w, c.tools)
	v.status = flag(r, "status")
	v.metadata = r.URL.Query().Get("metadata_fields") == supportsResponses
	return v, nil
}

// modelsError is an error in the form of the client's API, except that models are not served.
func modelsError(r *http.Request, e *requestError) any {
	if e.Code == codeNotServed {
		return e
	}
	if r.Header.Get(headerAnthropic) != "" {
		return messagesProtocol.errorBody(r, e)
	}
	return completionsProtocol.errorBody(r, e)
}

// line is a model in OpenAI's form.
func (v modelView) line(m models.Info) modelLine {
	line := modelLine{Info: m, Object: "model"}
	if m.Status == models.StatusReady {
		line.Tools = &m.ToolPlan
	}
	if v.status {
		line.Status = &m.Status
	}
	if v.metadata {
		line.Metadata = map[string]string{supportsResponses: "true"} // every model answers in every form
	}
	return line
}

func anthropicLine(m models.Info) anthropicModel {
	return anthropicModel{Type: "model", ID: m.Name, DisplayName: m.Name, CreatedAt: time.Unix(0, 0).UTC()}
}

func (c *chatHandler) listModels(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	view, err := c.modelView(w, r)
	if err != nil {
		return err
	}
	all := c.chats.Models(who)
	if view.anthropic {
		return writeJSON(w, http.StatusOK, anthropicList(all))
	}
	lines := make([]modelLine, len(all))
	for i, m := range all {
		lines[i] = view.line(m)
	}
	if f := r.URL.Query().Get("format"); f == "" || f == "json" {
		return writeJSON(w, http.StatusOK, modelList{"list", lines})
	}
	header := []string{"id", "object", "owned_by", "datasets", "status", "error"}
	return writeList(w, r, lines, header, func(m modelLine) []string {
		status := ""
		if view.status {
			status = m.Info.Status
		}
		return []string{m.Name, m.Object, m.From, strings.Join(m.Datasets, " "), status, m.Error}
	})
}

// agentList is the answer to GET /v1/agents.
type agentList struct {
	Agents []models.AgentInfo `json:"agents" doc:"In the order of their declarations."`
}

func (c *chatHandler) listAgents(w http.ResponseWriter, _ *http.Request, who caller.Caller) error {
	if c.chats == nil {
		return newError(codeNotServed, "", "agents are not served here")
	}
	nameGeneration(w, c.tools)
	return writeJSON(w, http.StatusOK, agentList{c.chats.Agents(who)})
}

// anthropicList is the whole list, on one page.
func anthropicList(all []models.Info) anthropicModelList {
	list := anthropicModelList{Data: make([]anthropicModel, len(all))}
	for i, m := range all {
		list.Data[i] = anthropicLine(m)
	}
	if n := len(all); n > 0 {
		list.FirstID, list.LastID = &all[0].Name, &all[n-1].Name
	}
	return list
}

// getModel shows one model.
func (c *chatHandler) getModel(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	view, err := c.modelView(w, r)
	if err != nil {
		return err
	}
	m, err := findModel(c.chats.Models(who), r.PathValue("name"))
	switch {
	case err != nil && view.anthropic:
		return messagesProtocol.failed(w, err)
	case err != nil:
		return completionsProtocol.failed(w, err)
	case view.anthropic:
		return writeJSON(w, http.StatusOK, anthropicLine(m))
	}
	return writeJSON(w, http.StatusOK, view.line(m))
}

func findModel(all []models.Info, name string) (models.Info, error) {
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.Name
	}
	if i := slices.Index(names, name); i >= 0 {
		return all[i], nil
	}
	text := fmt.Sprintf("there is no model %q", truncate.Ellipsis(name, maxShown)) + nearest.Clause(name, names)
	return models.Info{}, &chat.Error{Code: errcode.ModelNotFound, Param: "model", Message: text}
}
