package translation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

const docsHead = `# Translation between the forms of chats

<!-- Written by internal/llm/chat/translation/docs_test.go. Do not edit: change the
     tables of the package and run: make docs -->

A client speaks one form, a model's provider may speak another ([models.md](models.md)). This page has what
becomes of each field of a request, and of each part of its content:

- **carried**: sent under the provider's name for it. Between a client and a provider of the same form every field
  is sent as it is, also one that is not on this page; exceptions are marked.
- **translated**: sent as the table says.
- **no effect**: left out. The header ` + "`X-Spiced-Ignored`" + ` of the answer names the fields, and so does the request's line in
  the log.
- **refused**: an error of status 400 that names the field with its place.

A field that is ` + "`null`" + ` or empty, or has the default value that the table shows, is as if it was left out. A field that
no table has is refused where the forms differ. Variants are in brackets: ` + "`content[file]`" + ` is a part of type file,
` + "`messages[user]`" + ` a message of role user.
`

// titles are the forms in the order of the page.
var titles = []struct {
	form chat.Form
	name string
}{
	{chat.FormOpenAI, "Chat Completions"}, {chat.FormResponses, "Responses"}, {chat.FormAnthropic, "Messages"},
}

// TestDocs compares docs/translation.md with the tables.
func TestDocs(t *testing.T) {
	var page strings.Builder
	page.WriteString(docsHead)
	for _, client := range titles {
		rows := translation.Table(client.form)
		if rows == nil {
			continue
		}
		var providers []string
		for _, p := range titles {
			if p.form != client.form {
				providers = append(providers, "to "+p.name)
			}
		}
		fmt.Fprintf(&page, "\n## From %s\n\n| field | %s | note |\n|---|---|---|---|\n", client.name, strings.Join(providers, " | "))
		for _, row := range rows {
			fmt.Fprintf(&page, "| `%s` |", row.Field)
			for _, p := range titles {
				if p.form != client.form {
					fmt.Fprintf(&page, " %s |", described(row.To[p.form]))
				}
			}
			fmt.Fprintf(&page, " %s |\n", note(row, client.form))
		}
	}
	golden.Equal(t, "../../../../docs/translation.md", page.String())
}

func described(v translation.Verdict) string {
	text := v.Kind.String()
	if v.Only != nil {
		text += " (only `" + strings.Join(v.Only, "`, `") + "`)"
	}
	if v.How != "" {
		text += ": " + v.How
	}
	return text
}

func note(row translation.Row, form chat.Form) string {
	var notes []string
	if row.Default != nil {
		notes = append(notes, "default `"+strings.Join(row.Default, "`, `")+"`")
	}
	if own := row.To[form]; own.Kind != translation.Carried {
		notes = append(notes, "same form: "+described(own))
	}
	return strings.Join(notes, "; ")
}
