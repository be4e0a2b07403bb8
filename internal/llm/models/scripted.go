package models

import (
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/scripted"
)

// scriptedModel is the provider `scripted:<name>`: a model that answers from the script of its
// entry, in this process.
var scriptedModel = provider{
	name: "scripted", example: "scripted:demo", inProcess: true, open: openScripted,
}

func openScripted(_ *entry, s *settings) chat.Provider { return s.script }

// script parses the script of the entry, which only models in this process have.
func (e *entry) script(s *settings) {
	if !e.kind.inProcess {
		if e.declared.Script != nil {
			e.Fail(".script", "write from: "+scriptedModel.example+", or take the script out",
				"a model from %s has no script", e.kind.name)
		}
		return
	}
	model, err := scripted.New(e.declared.Script)
	var fault *scripted.Error
	if errors.As(err, &fault) {
		path := ".script"
		switch {
		case len(e.declared.Script) == 0:
			path = ".from"
		case fault.Step >= 0:
			path = fmt.Sprintf(".script[%d]", fault.Step)
			if fault.Field != "" {
				path += "." + fault.Field
			}
		}
		e.Fail(path, "docs/provider-scripted.md has an example of a script", "%s", fault)
	}
	s.script = model
}
