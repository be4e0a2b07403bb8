package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/chat/scripted"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// settings are the parsed params of a model.
type settings struct {
	system    string
	wish      wish
	limits    toolloop.Limits
	xml       bool
	responses bool            // use POST /v1/responses
	cache     bool            // cache prompts, where it must be requested
	thinking  bool            // with a token budget
	formats   bool            // the provider takes a JSON Schema of the answer
	dialect   dialect.Dialect // of the schemas of tools; "": they are sent as text
	defaults  map[string]json.RawMessage

	script *scripted.Model // of a model in this process

	endpoint      *url.URL
	timeout, idle time.Duration
	retries       int
}

// settings parses all params; faults are added to e.Problems.
func (e *entry) settings() *settings {
	s := &settings{
		system: e.Text("system_prompt"), wish: e.wish(), limits: e.limits(),
		xml:   e.Word("tool_format", "native", "xml") == "xml",
		cache: e.Word("prompt_cache", "enabled", "disabled") == "enabled",

		timeout: e.Duration("timeout", 0, MaxTimeout), idle: e.Duration("idle_timeout", 0, MaxTimeout),
		retries: e.Number("max_retries", upstream.DefaultRetries, 0, upstream.MaxRetries),
	}
	if !e.kind.inProcess {
		s.endpoint = e.Endpoint(e.kind.endpoint, e.kind.key, e.kind.routes...)
	}
	e.script(s)
	if len(s.system) > MaxSystemPrompt {
		e.FailParam("system_prompt", "", "params.system_prompt has %d bytes; the limit is %d", len(s.system), MaxSystemPrompt)
	}
	if s.xml && s.wish.native {
		e.FailParam("tool_search", "take one of them out",
			"params.tool_search: native and params.tool_format: xml exclude each other")
	}
	e.headers()
	e.form(s)
	e.patterns()
	return s
}

// headers rejects values that are invalid in a header.
func (e *entry) headers() {
	for _, p := range e.kind.params {
		if p.Secret {
			e.Header(p.Name)
		}
	}
}

// form parses the params that only the provider's form has.
func (e *entry) form(s *settings) {
	asked := e.Word("responses_api", "disabled", "enabled") == "enabled"
	if e.Params.Has("responses_api") && !asked && s.wish.native {
		e.FailParam("responses_api", "take one of them out", "params.tool_search: native needs the Responses API")
	}
	s.responses = e.kind.responses && (asked || s.wish.native)
	s.defaults = e.overridden(s.responses)
	s.dialect = e.dialect(s)
	s.thinking = thinks(s.defaults[paramThinking])
	s.formats = e.kind.formats
	for _, key := range e.kind.cacheKeys {
		if text := e.Text(key); text != "" {
			s.defaults[key], _ = json.Marshal(text) // of text
		}
	}
}

// subsetHosts are the hosts whose models take a subset of JSON Schema.
var subsetHosts = []string{"generativelanguage.googleapis.com", "aiplatform.googleapis.com"}

// dialect parses tool_schemas.
func (e *entry) dialect(s *settings) dialect.Dialect {
	words := []string{"full", "subset"}
	if s.endpoint != nil && slices.ContainsFunc(subsetHosts, func(host string) bool {
		return s.endpoint.Hostname() == host || strings.HasSuffix(s.endpoint.Hostname(), "-"+host)
	}) {
		words = []string{"subset", "full"}
	}
	switch {
	case e.Word("tool_schemas", words...) == "subset":
		return dialect.Subset
	case s.xml:
		return ""
	}
	return e.kind.dialect
}

// wish parses the declared tools. `tools` takes precedence over the older name.
func (e *entry) wish() wish {
	key := e.toolsKey()
	return wish{
		declared: e.Params.Has(key), text: e.Text(key), embedding: e.Text("tool_embedding_model"),
		threshold: e.Number("auto_threshold", DefaultThreshold, 0, MaxThreshold),
		pinned:    parseList(e.Text("pinned_tools")),
		preselect: e.Number("preselect", 0, 0, MaxPreselect),
		native:    e.Word("tool_search", "registry", "native") == "native",
		hosted:    e.kind.responses,
	}
}

func (e *entry) toolsKey() string {
	if !e.Params.Has("tools") && e.Params.Has("spice_tools") {
		return "spice_tools"
	}
	return "tools"
}

func (e *entry) limits() toolloop.Limits {
	return toolloop.Limits{
		Rounds:      e.rounds(),
		Parallel:    e.Number("tool_concurrency", 0, 1, MaxParallel),
		ResultBytes: int(e.Size("tool_result_max_bytes", MaxResultBytes)),
		Images:      e.images(),
		PDFs:        e.Number("tool_result_pdfs", e.pdfs(), 0, MaxImages),
	}
}

// images parses tool_result_images; 0 means that the model is sent none.
func (e *entry) images() int {
	n := e.Number("tool_result_images", toolloop.DefaultImages, 0, MaxImages)
	if n == 0 {
		return -1
	}
	return n
}

// pdfs is the default of tool_result_pdfs. Servers that are compatible with OpenAI's API often
// refuse files, and would then refuse every later request of the chat.
func (e *entry) pdfs() int {
	if e.Params.Has("endpoint") || e.kind.keyless {
		return 0
	}
	return DefaultPDFs
}

// rounds parses tool_recursion_limit; 0 means that no call is made. The text of
// the error is Spice's.
func (e *entry) rounds() int {
	const key = "tool_recursion_limit"
	if !e.Params.Has(key) {
		return toolloop.DefaultRounds
	}
	n, err := strconv.Atoi(e.Text(key))
	if err == nil && (n < 0 || n > MaxRounds) {
		err = fmt.Errorf("it takes 0 to %d", MaxRounds)
	}
	if err != nil {
		var syntax *strconv.NumError
		if errors.As(err, &syntax) { // the error text repeats the value, which may be a secret
			err = syntax.Err
		}
		e.FailParam(key, "write a whole number such as 10",
			"Invalid value specified for `params.recursion_depth`: %v. Error: %v", e.Params[key], err)
	}
	if n == 0 {
		return -1
	}
	return n
}

// patterns rejects invalid patterns of datasets.
func (e *entry) patterns() {
	for i, p := range e.declared.Datasets {
		if !validPattern(p) {
			e.Fail(fmt.Sprintf(".datasets[%d]", i),
				"", "%q is not a pattern: * matches any text, ? a character, [ab] one of several", p)
		}
	}
}

// unmatched returns the patterns that match no dataset.
func (e *entry) unmatched(names []string) []int {
	var list []int
	for i, p := range e.declared.Datasets {
		if !slices.ContainsFunc(names, func(name string) bool { return matches(p, name) }) {
			list = append(list, i)
		}
	}
	return list
}
