package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// TestModelsThatOnlyCall has models that call tools in every answer: the chat ends with an
// error, in each form, and not with an empty text.
func TestModelsThatOnlyCall(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	everyProtocol(t, c, func(t *testing.T, ask asker, _ chat.Form, _ bool) {
		before := len(c.model.Requests())
		c.model.Script(func(r chattest.Request) chattest.Answer {
			return chattest.Say(chattest.Call(fmt.Sprint("c", r.N), "get_current_datetime", "{}"))
		})
		got, err := ask(question{text: "what time is it?"})
		// OpenAI's client for Go shows the status of an error, and its text in streams.
		if err == nil || !strings.Contains(err.Error(), "still calls tools after 10 answers") && !strings.Contains(err.Error(), "413") {
			t.Errorf("answer %+v, %v", got, err)
		}
		if n := len(c.model.Requests()) - before; n != 12 {
			t.Errorf("%d requests", n)
		}
		// One that answers once its calls fail has answered.
		n := 0
		c.model.Script(func(r chattest.Request) chattest.Answer {
			if n++; n > 11 {
				return chattest.Say(chattest.Text("late"))
			}
			return chattest.Say(chattest.Call(fmt.Sprint("d", r.N), "get_current_datetime", "{}"))
		})
		if got, err := ask(question{text: "what time is it?"}); err != nil || got.text != "late" {
			t.Errorf("answer %+v, %v", got, err)
		}
	})
}

// TestInventedNamesOfTools has models call tools by names that their provider takes for none, one
// of them next to a good one: the chat goes on, and the model reads what it may have meant.
func TestInventedNamesOfTools(t *testing.T) {
	t.Parallel()
	c := startChat(t, directPod)
	c.model.Judge(chattest.AsVendor)
	everyProtocol(t, c, func(t *testing.T, ask asker, protocol chat.Form, _ bool) {
		for _, form := range []chat.Form{chat.FormOpenAI, chat.FormResponses, chat.FormAnthropic} {
			for _, name := range []string{"functions.list_datasets", "default_api.list_datasets", "odd/opt", "日本", strings.Repeat("x.", 100)} {
				c.model.Script(func(r chattest.Request) chattest.Answer {
					if len(r.Results) == 0 {
						return chattest.Say(chattest.Call("bad", name, "{}"), chattest.Call("good", "get_current_datetime", "{}"))
					}
					return chattest.Say(chattest.Text(r.Results["bad"] + " " + r.Results["good"]))
				})
				got, err := ask(question{model: modelOf[form], text: "what is there?"})
				want := "there is no tool"
				if strings.HasSuffix(name, "list_datasets") {
					want = "did you mean"
				}
				if err != nil || !strings.Contains(got.text, want) || !strings.Contains(got.text, "T") {
					t.Errorf("%s, a provider of %s: answer %+v, %v", name, form, got, err)
				}
			}
		}
	})
}
