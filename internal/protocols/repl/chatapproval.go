package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/visible"
)

// asker asks the person at the terminal about calls that need approval; nil: there is none.
type asker struct {
	lines lineReader
	api   *client
	notes io.Writer
}

// approve asks about a call that waits, and sends what the person decides. Nothing is decided
// about arguments that are not shown to their end.
func (a *asker) approve(ctx context.Context, e toolEvent) error {
	if a == nil || !e.MayDecide {
		return nil
	}
	if utf8.RuneCountInString(visible.Escape(string(e.Arguments))) > maxAskedJSON {
		fmt.Fprintf(a.notes, "  its arguments are too long to be shown here: read them with GET /v1/approvals/%s, "+
			"and decide with POST\n", printable(e.ApprovalID))
		return nil
	}
	line, err := a.lines.ReadLine(ctx, fmt.Sprintf("  Run %s once? [y/N] ", printable(e.Tool)))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, errAborted) && !errors.Is(err, io.EOF):
		return err
	}
	decision := "deny" // as of Ctrl-C: the call waits, and with it the chat
	if answer := strings.ToLower(strings.TrimSpace(line)); err == nil && (answer == "y" || answer == "yes") {
		decision = "approve"
	}
	status, err := a.api.decide(ctx, e.ApprovalID, decision)
	if err != nil {
		fmt.Fprintf(a.notes, "  the decision was not taken: %s\n", printable(err.Error()))
		return nil
	}
	fmt.Fprintf(a.notes, "  %s\n", printable(status))
	return nil
}
