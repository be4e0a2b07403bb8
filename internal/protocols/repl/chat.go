package repl

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/kit/visible"
)

// Limits of a chat.
const (
	maxMessage   = 1 << 20 // bytes per message
	maxShownJSON = 120     // characters shown of a call's arguments
	maxAskedJSON = 4 << 10 // of those of a call that needs approval
)

// The prompt of a chat.
const chatPrompt = "you> "

// ChatOptions configures [Chat] and [Ask]. Format and Timing are not used.
type ChatOptions struct {
	Options
	Model  string // "": the only model
	System string // instructions before the conversation, or ""
}

// Chat holds a conversation with a model of the server: it reads messages, one
// a line, until the input ends, /quit, or ctx is done. Answers stream to Out;
// tool calls are shown on Err while they run. A script stops at its first
// error; an interactive session prints errors and continues.
func Chat(ctx context.Context, o ChatOptions) error {
	s, err := newChat(ctx, o)
	if err != nil {
		return err
	}
	if !o.Interactive {
		return s.script(ctx, o.In)
	}
	t := newTerminal(openHistory(o.History), s.complete)
	defer t.Close()
	return s.interact(ctx, t)
}

// Ask sends one message and writes the answer.
func Ask(ctx context.Context, o ChatOptions, message string) error {
	s, err := newChat(ctx, o)
	if err != nil {
		return err
	}
	return s.say(ctx, message)
}

// conversation is the state of one Chat.
type conversation struct {
	api      *client
	out, err io.Writer
	model    string
	system   string
	messages []chatMessage
	asker    *asker // nil: no one is at a terminal
}

func newChat(ctx context.Context, o ChatOptions) (*conversation, error) {
	api, err := newClient(o.Options)
	if err != nil {
		return nil, err
	}
	s := &conversation{api: api, out: o.Out, err: o.Err, system: o.System}
	if s.out == nil {
		s.out = io.Discard
	}
	if s.err == nil {
		s.err = io.Discard
	}
	return s, s.choose(ctx, o.Model)
}

// script sends each line of r.
func (s *conversation) script(ctx context.Context, r io.Reader) error {
	if r == nil {
		return nil
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		if err := s.enter(ctx, lines.Text()); err != nil {
			if errors.Is(err, errQuit) {
				return nil
			}
			return err
		}
	}
	return lines.Err()
}

// interact runs the conversation at a terminal.
func (s *conversation) interact(ctx context.Context, t lineReader) error {
	fmt.Fprintf(s.err, "Chat with %s. /help for help, /quit to leave.\n", s.model)
	s.asker = &asker{t, s.api, s.err}
	report := func(err error) { fmt.Fprintf(s.err, "error: %s\n", printable(err.Error())) }
	return loop(ctx, t, s.err, func() string { return chatPrompt }, func() {}, func(line string) error {
		if strings.TrimSpace(line) != "" {
			t.Remember(line)
		}
		return attempt(ctx, s.err, report, func(ctx context.Context) error { return s.enter(ctx, line) })
	})
}

// enter runs a line: a command or a message.
func (s *conversation) enter(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return nil
	case strings.HasPrefix(line, "/"):
		return s.command(ctx, line)
	// not in a script, whose lines are messages
	case s.asker != nil && slices.Contains([]string{"exit", "quit", `\q`}, strings.ToLower(line)):
		return errQuit
	}
	return s.say(ctx, line)
}

// say sends a message with the conversation so far, and writes the answer as it
// arrives. A message without a complete answer is not added to the
// conversation.
func (s *conversation) say(ctx context.Context, message string) error {
	var messages []chatMessage
	if s.system != "" {
		messages = append(messages, chatMessage{"system", s.system})
	}
	asked := chatMessage{"user", message}
	messages = append(append(messages, s.messages...), asked)
	header := http.Header{"X-Spiced-Events": {"include"}}
	if s.asker != nil { // calls wait for the person who is asked
		header.Set("Prefer", "wait=600")
	}
	answer := &answerWriter{notes: s.err, out: &endOfLine{w: s.out}, asker: s.asker}
	var failed error
	for chunk, err := range s.api.chat(ctx, s.model, messages, header) {
		if failed = err; err != nil {
			break
		}
		if err := answer.chunk(ctx, chunk); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	if err := answer.out.finish(); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	if failed != nil {
		return failed
	}
	answer.ended(s.err)
	s.messages = append(s.messages, asked, chatMessage{"assistant", answer.text.String()})
	return nil
}

// answerWriter writes an answer as it arrives.
type answerWriter struct {
	out    *endOfLine
	notes  io.Writer
	text   strings.Builder
	reason string
	asker  *asker
}

func (a *answerWriter) chunk(ctx context.Context, c chatChunk) error {
	if len(c.Event) > 0 {
		return a.event(ctx, c.Event)
	}
	for _, choice := range c.Choices {
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
		text := choice.Delta.Content + choice.Delta.Refusal
		a.text.WriteString(text)
		if _, err := io.WriteString(a.out, printableText(text)); err != nil {
			return err
		}
	}
	return nil
}

// toolEvent is a step of a call, as the server sends it.
type toolEvent struct {
	Type      string          `json:"type"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	OK        bool            `json:"ok"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
	LatencyMS float64 `json:"latency_ms"`
	// Of the steps of agents that work for another one:
	Agent string `json:"agent"`
	Depth int    `json:"depth"`
	Text  string `json:"text"`
	// Of a call that needs approval:
	ApprovalID string `json:"approval_id"`
	MayDecide  bool   `json:"may_decide"`
}

// maxDepth bounds how far the steps of agents are indented.
const maxDepth = 8

// failure is why a call or an agent failed.
func (e toolEvent) failure() string {
	if e.Error == nil {
		return "it failed"
	}
	return printable(e.Error.Message)
}

// shown is an event as a line, "" if it is not shown. The steps of an agent begin with its
// name, since those of several are mixed.
func (e toolEvent) shown() string {
	who := ""
	if e.Agent != "" {
		who = strings.Repeat("  ", min(max(e.Depth, 0), maxDepth)) + printable(e.Agent) + " "
	}
	switch e.Type {
	case "tool_call", "agent_tool_call":
		return fmt.Sprintf("%s→ %s %s\n", who, printable(e.Tool), brief(string(e.Arguments)))
	case "agent_start":
		return fmt.Sprintf("%sbegins: %s\n", who, brief(e.Text))
	case "approval_required":
		return fmt.Sprintf("%s? %s %s needs approval: %s\n", who, printable(e.Tool),
			truncate.Runes(visible.Escape(string(e.Arguments)), maxAskedJSON), printable(e.ApprovalID))
	case "tool_result", "agent_tool_result":
		if e.OK {
			return fmt.Sprintf("%s← %s %.1f ms\n", who, printable(e.Tool), e.LatencyMS)
		}
		return fmt.Sprintf("%s← %s %.1f ms: %s\n", who, printable(e.Tool), e.LatencyMS, e.failure())
	case "agent_end":
		if e.OK {
			return fmt.Sprintf("%sends after %.1f ms\n", who, e.LatencyMS)
		}
		return fmt.Sprintf("%sends after %.1f ms: %s\n", who, e.LatencyMS, e.failure())
	}
	return "" // agent_chunk, and events of a newer server
}

// brief is the beginning of a text in one line.
func brief(text string) string {
	return truncate.Runes(printable(strings.ReplaceAll(text, "\n", " ")), maxShownJSON)
}

// event prints a step of a call on a separate line.
func (a *answerWriter) event(ctx context.Context, raw []byte) error {
	var e toolEvent
	if json.Unmarshal(raw, &e) != nil {
		return nil // sent by a newer server
	}
	line := e.shown()
	if line == "" {
		return nil
	}
	if err := a.out.finish(); err != nil {
		return err
	}
	a.out.last = 0
	if _, err := io.WriteString(a.notes, line); err != nil {
		return err
	}
	if e.Type == "approval_required" {
		return a.asker.approve(ctx, e)
	}
	return nil
}

// ended reports why an answer is incomplete.
func (a *answerWriter) ended(notes io.Writer) {
	switch a.reason {
	case "length":
		fmt.Fprintln(notes, "(cut off: the answer has as many tokens as it may have)")
	case "content_filter":
		fmt.Fprintln(notes, "(the provider withheld the rest)")
	}
}

// printableText is printable that preserves tabs, which code in answers
// contains.
func printableText(text string) string {
	parts := strings.Split(text, "\t")
	for i := range parts {
		parts[i] = printable(parts[i])
	}
	return strings.Join(parts, "\t")
}
