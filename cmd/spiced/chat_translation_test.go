package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/sdkfields"
)

// fieldSample is a request with one field of the table, and what a provider of each form gets
// for it, as path=JSON. A form without an entry must not get it.
type fieldSample struct {
	field string
	body  string // without model; without messages or input: a question. $ANSWER and $ITEM are ids of an answer
	want  map[chat.Form]string
}

// translations are the samples by the client's form. There is one for each row.
var translations = map[chat.Form][]fieldSample{
	chat.FormOpenAI: completionsSamples, chat.FormResponses: responsesSamples, chat.FormAnthropic: messagesSamples,
}

// chatRoutes are the routes by form.
var chatRoutes = map[chat.Form]string{
	chat.FormOpenAI: "/v1/chat/completions", chat.FormResponses: "/v1/responses", chat.FormAnthropic: "/v1/messages",
}

// TestTranslation sends every field of the table to a model behind each form: it arrives,
// arrives translated, is reported as without effect, or is refused by name, as the table
// says. The provider is strict: it has no field that the official SDKs lack.
func TestTranslation(t *testing.T) {
	t.Parallel()
	c := startChat(t, chatPod{tools: "disabled"})
	c.model.Script(chattest.Always(chattest.Say(chattest.Text("yes"))))
	for form, samples := range translations {
		var fields []string
		for _, s := range samples {
			fields = append(fields, s.field)
		}
		for _, row := range translation.Table(form) {
			if !slices.Contains(fields, row.Field) {
				t.Errorf("%s: no sample for %s", form, row.Field)
			}
		}
		for _, s := range samples {
			i := slices.IndexFunc(translation.Table(form), func(r translation.Row) bool { return r.Field == s.field })
			if i < 0 {
				t.Errorf("%s: the table has no row for the sample %s", form, s.field)
				continue
			}
			for _, to := range []chat.Form{chat.FormOpenAI, chat.FormResponses, chat.FormAnthropic} {
				x := &cell{chatting: c, T: t, name: fmt.Sprintf("%s %s → %s", form, s.field, to), from: form, to: to, sample: s}
				x.test(translation.Table(form)[i].To[to])
			}
		}
	}
}

// cell is a cell of the table in test.
type cell struct {
	*chatting
	*testing.T
	name     string
	from, to chat.Form
	sample   fieldSample

	status  int
	ignored []string
	answer  string
	got     []byte // by the provider; nil: nothing
}

func (c *cell) test(v translation.Verdict) {
	c.send()
	switch v.Kind {
	case translation.Refused:
		c.isRefused()
	case translation.NoEffect:
		if c.status != http.StatusOK || !slices.Contains(c.ignored, c.sample.field) {
			c.Errorf("%s: status %d, ignored %q; it should be reported: %s", c.name, c.status, c.ignored, c.answer)
		}
	default:
		c.arrives(v)
	}
}

// body returns the request.
func (c *cell) body() []byte {
	fields := map[string]json.RawMessage{}
	question := json.RawMessage(`[{"role":"user","content":"hi"}]`)
	switch c.from {
	case chat.FormResponses:
		fields["input"] = json.RawMessage(`"hi"`)
	case chat.FormAnthropic:
		fields["messages"], fields["max_tokens"] = question, json.RawMessage("9")
	default:
		fields["messages"] = question
	}
	sample := c.sample.body
	if strings.Contains(sample, "$") {
		sample = c.stored(sample)
	}
	if err := json.Unmarshal([]byte("{"+sample+"}"), &fields); err != nil {
		c.Fatalf("%s: %v", c.name, err)
	}
	fields["model"], _ = json.Marshal(modelOf[c.to])
	body, _ := json.Marshal(fields)
	return body
}

// stored replaces $ANSWER and $ITEM by the ids of an answer of the model and of an item in
// it.
func (c *cell) stored(sample string) string {
	var answer struct {
		ID     string
		Output []struct{ ID string }
	}
	resp, err := http.Post(c.url+chatRoutes[chat.FormResponses], "application/json", strings.NewReader(`{"model":"`+modelOf[c.to]+`","input":"hi"}`))
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Output) == 0 {
		c.Fatalf("%s: status %d, %v", c.name, resp.StatusCode, err)
	}
	return strings.NewReplacer("$ANSWER", answer.ID, "$ITEM", answer.Output[0].ID).Replace(sample)
}

func (c *cell) send() {
	before := len(c.model.Requests())
	resp, err := http.Post(c.url+chatRoutes[c.from], "application/json", bytes.NewReader(c.body()))
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	c.status, c.answer = resp.StatusCode, string(answer)
	if header := resp.Header.Get("X-Spiced-Ignored"); header != "" {
		c.ignored = strings.Split(header, ", ")
	}
	if all := c.model.Requests(); len(all) > before {
		c.got = all[len(all)-1].Body
	}
}

// isRefused checks the error, in the client's form: it names the field with its place.
func (c *cell) isRefused() {
	var failed struct {
		Error struct{ Type, Message, Param string }
	}
	if err := json.Unmarshal([]byte(c.answer), &failed); err != nil || failed.Error.Type != "invalid_request_error" {
		c.Errorf("%s: %s", c.name, c.answer)
	}
	place, _, _ := strings.Cut(failed.Error.Message, " ")
	if c.status != http.StatusBadRequest || !placeOf(c.sample.field).MatchString(place) || c.got != nil {
		c.Errorf("%s: status %d, provider asked %t: %s", c.name, c.status, c.got != nil, c.answer)
	}
	if c.from != chat.FormAnthropic && failed.Error.Param != place {
		c.Errorf("%s: param %q", c.name, failed.Error.Param)
	}
}

// placeOf matches the place of a field in a request.
func placeOf(field string) *regexp.Regexp {
	inner := regexp.MustCompile(`\\\[[^\]]*\]`)
	return regexp.MustCompile(`^` + inner.ReplaceAllString(regexp.QuoteMeta(field), `([.\[]\d+\]?)?`))
}

func (c *cell) arrives(v translation.Verdict) {
	if c.status != http.StatusOK || c.got == nil || slices.Contains(c.ignored, c.sample.field) {
		c.Errorf("%s: status %d, ignored %q: %s", c.name, c.status, c.ignored, c.answer)
		return
	}
	unknown := slices.DeleteFunc(sdkfields.Unknown(c.to, c.got), func(path string) bool {
		return strings.HasSuffix(path, ".reasoning_content") // of DeepSeek and others
	})
	if c.from != c.to && len(unknown) > 0 {
		c.Errorf("%s: the SDK does not have %q: %s", c.name, unknown, c.got)
	}
	var got map[string]any
	if err := json.Unmarshal(c.got, &got); err != nil {
		c.Fatal(err)
	}
	want, ok := c.sample.want[c.to]
	switch {
	case c.from == c.to && v.Kind == translation.Carried:
		c.unchanged(got)
		return
	case !ok:
		c.Errorf("%s: the sample does not say what arrives: %s", c.name, c.got)
		return
	}
	for line := range strings.SplitSeq(want, "\n") {
		path, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		var expected any
		if value != "" {
			if err := json.Unmarshal([]byte(value), &expected); err != nil {
				c.Fatalf("%s: %s: %v", c.name, line, err)
			}
		}
		if there := at(got, path); !reflect.DeepEqual(there, expected) {
			c.Errorf("%s: %s is %v, want %s: %s", c.name, path, there, value, c.got)
		}
	}
}

// unchanged checks that the fields of the sample reach a provider of the client's form as
// they are.
func (c *cell) unchanged(got map[string]any) {
	var sent map[string]any
	if err := json.Unmarshal([]byte("{"+c.sample.body+"}"), &sent); err != nil {
		c.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if !covers(got[name], sent[name]) {
			c.Errorf("%s: %s is %v, want %v", c.name, name, got[name], sent[name])
		}
	}
}

// covers reports whether a value is what was sent, apart from marks of the cache that the
// runtime adds.
func covers(got, sent any) bool {
	switch want := sent.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		for name, value := range want {
			ok = ok && covers(fields[name], value)
		}
		if _, marked := fields["cache_control"]; marked && want["cache_control"] == nil {
			return ok && len(fields) == len(want)+1
		}
		return ok && len(fields) == len(want)
	case []any:
		list, _ := got.([]any)
		return slices.EqualFunc(list, want, covers)
	}
	return reflect.DeepEqual(got, sent)
}

// at returns the value at a path such as messages.0.content, or nil.
func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}
