package repl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// chatCommand is a command of the chat.
type chatCommand struct {
	name, args, help string
	run              func(s *conversation, ctx context.Context, arg string) error
}

// chatCommands lists the commands in the order of /help.
func chatCommands() []chatCommand {
	return []chatCommand{
		{"/tools", "[QUERY]", "show the tools that the model gets, or search all tools", (*conversation).tools},
		{"/model", "[NAME]", "list the models, or go on with another one", (*conversation).chooseCommand},
		{"/clear", "", "forget the conversation", (*conversation).clear},
		{"/help", "", "this list", (*conversation).help},
		{"/quit", "", "leave", func(*conversation, context.Context, string) error { return errQuit }},
	}
}

// complete completes commands.
func (s *conversation) complete(line string, pos int) (head string, completions []string, tail string) {
	for _, c := range chatCommands() {
		if pos == len(line) && strings.HasPrefix(line, "/") && strings.HasPrefix(c.name, line) {
			completions = append(completions, c.name)
		}
	}
	return "", completions, ""
}

func (s *conversation) command(ctx context.Context, line string) error {
	name, arg, _ := strings.Cut(line, " ")
	if name == "/exit" {
		name = "/quit"
	}
	var names []string
	for _, c := range chatCommands() {
		if c.name == name {
			return c.run(s, ctx, strings.TrimSpace(arg))
		}
		names = append(names, c.name)
	}
	return fmt.Errorf("unknown command %s (%s)", printable(name), nearest.Hint(name, names, "/help lists the commands"))
}

func (s *conversation) help(context.Context, string) error {
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, c := range chatCommands() {
		fmt.Fprintf(w, "%s %s\t%s\n", c.name, c.args, c.help)
	}
	return w.Flush()
}

func (s *conversation) clear(context.Context, string) error {
	s.messages = nil
	_, err := fmt.Fprintln(s.err, "the conversation is forgotten")
	return err
}

// choose selects the named model, or the only one.
func (s *conversation) choose(ctx context.Context, name string) error {
	models, err := s.api.models(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, m := range models {
		if m.ID == name {
			s.model = name
			return m.fault()
		}
		names = append(names, m.ID)
	}
	switch {
	case len(models) == 0:
		return errors.New("the Spicepod declares no models")
	case name == "" && len(models) == 1:
		s.model = names[0]
		return models[0].fault()
	case name == "":
		return fmt.Errorf("there are several models, choose one: %s", strings.Join(names, ", "))
	}
	return fmt.Errorf("there is no model %q: %s", name, nearest.Hint(name, names, "there are "+strings.Join(names, ", ")))
}

// fault is the reason why the model is unavailable, or nil.
func (m modelInfo) fault() error {
	if m.Error == "" {
		return nil
	}
	return fmt.Errorf("the model %q was not loaded: %s", m.ID, m.Error)
}

func (s *conversation) chooseCommand(ctx context.Context, name string) error {
	if name != "" {
		before := s.model
		if err := s.choose(ctx, name); err != nil {
			s.model = before
			return err
		}
		_, err := fmt.Fprintf(s.err, "the model is %s\n", s.model)
		return err
	}
	models, err := s.api.models(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, m := range models {
		mark, state := " ", m.Tools.Mode+": "+m.Tools.Reason
		if m.ID == s.model {
			mark = "*"
		}
		if m.Error != "" {
			state = "error: " + m.Error
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\n", mark, printable(m.ID), printable(m.From), printable(state))
	}
	return w.Flush()
}

func (s *conversation) tools(ctx context.Context, query string) error {
	if query != "" {
		return s.searchTools(ctx, query)
	}
	models, err := s.api.models(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(models, func(m modelInfo) bool { return m.ID == s.model })
	if i < 0 {
		return fmt.Errorf("the model %q is gone: /model lists those there are", s.model)
	}
	t := models[i].Tools
	fmt.Fprintf(s.out, "%s: %s\n", t.Mode, printable(t.Reason))
	for _, name := range t.Advertised {
		fmt.Fprintf(s.out, "  %s\n", printable(name))
	}
	if rest := t.Count - len(t.Advertised); t.Mode == "registry" && rest > 0 {
		fmt.Fprintf(s.out, "%d tools can be found with tool_search: try /tools QUERY\n", t.Count)
	}
	return nil
}

func (s *conversation) searchTools(ctx context.Context, query string) error {
	found, err := s.api.search(ctx, query)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, t := range found {
		fmt.Fprintf(w, "%.2f\t%s\t%s\n", t.Score, printable(t.ID), printable(t.Description))
	}
	return w.Flush()
}
