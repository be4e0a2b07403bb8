package sqlapi

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// The forms of /v1/nsql that /v1/sql does not have.
const (
	mediaSQL  = "application/sql" // the statement, which is not run
	mediaJSON = "application/json"
	mediaNSQL = "application/vnd.spiceai.nsql.v1+json" // the rows with the statement
)

// nsqlHandler answers questions by statements that models write.
type nsqlHandler struct {
	sql   *sqlHandler
	chats *chatHandler
}

// run answers a question with rows, or with the statement for them.
func (n *nsqlHandler) run(w http.ResponseWriter, r *http.Request) error {
	if n.chats.chats == nil {
		return newError(codeNotServed, "", "models are not served here")
	}
	nameGeneration(w, n.chats.tools)
	who, err := callerOf(w, r, caller.Chat)
	if err != nil {
		return err
	}
	q, err := n.readNSQL(w, r, who)
	if err != nil {
		return err
	}
	who.Model = q.Model
	ctx, _, end, err := n.chats.begin(r.Context(), who)
	if err == nil {
		defer end()
		err = blame(ctx, n.question(w, r.WithContext(ctx), q, who))
	}
	var failed *chat.Error
	if errors.As(err, &failed) {
		return chatError(w, failed)
	}
	return err
}

// question has the statement written and run.
func (n *nsqlHandler) question(w http.ResponseWriter, r *http.Request, q questionBody, who caller.Caller) error {
	answer, err := n.chats.chats.NSQL(r.Context(), q.Model, q.Request, who)
	if err != nil {
		return unwritten(err)
	}
	note(w, slog.String("model", q.Model), slog.Int("attempts", answer.Attempts))
	media, form := negotiateNSQL(accept(r))
	out := outputOf(form)
	switch media {
	case mediaSQL:
		w.Header().Add("Vary", "Accept")
		return writeBytes(w, mediaSQL, []byte(answer.SQL))
	case mediaNSQL:
		out = withSQL(answer.SQL)
	}
	err = n.sql.statement(w, r, query.Request{
		Request: engine.Request{SQL: answer.SQL, Allow: answer.Allow}, Caller: who, Protocol: query.HTTP,
		Remote: r.RemoteAddr, ByModel: true,
	}, out, nil)
	if err == nil || r.Context().Err() != nil {
		return err
	}
	shown := *asRequestError(err)
	shown.SQL, shown.cause = answer.SQL, err
	return &shown
}

// unwritten is what is sent when no attempt of the model runs: the last one,
// and what is wrong with it.
func unwritten(err error) error {
	var failed *nsql.Error
	if !errors.As(err, &failed) {
		return err
	}
	e := *asRequestError(failed.Cause)
	e.Message, e.SQL, e.cause = failed.Error(), failed.SQL, err
	return &e
}

// questionBody is the body of /v1/nsql.
type questionBody struct {
	nsql.Request
	Model  string `json:"model,omitempty" doc:"May be left out if only one model is served."`
	Stream bool   `json:"stream,omitempty" doc:"Ignored: rows are always streamed."`
}

func (n *nsqlHandler) readNSQL(w http.ResponseWriter, r *http.Request, who caller.Caller) (q questionBody, err error) {
	body, err := n.sql.bodies.read(w, r, maxSmallBody)
	if err != nil {
		return q, err
	}
	if err := decodeObject(body, &q); err != nil {
		return q, err
	}
	if strings.TrimSpace(q.Query) == "" {
		return q, newError(errcode.InvalidRequest, `send {"query": "How many trips were there?"}`, `there is no "query"`)
	}
	if q.Model == "" {
		q.Model, err = onlyModel(n.chats.chats.Models(who))
	}
	return q, err
}

// onlyModel is the one model that is served.
func onlyModel(all []models.Info) (string, error) {
	var names []string
	for _, m := range all {
		if m.Status == models.StatusReady && !m.Agent {
			names = append(names, m.Name)
		}
	}
	switch len(names) {
	case 0:
		return "", newError(errcode.InvalidRequest, "declare one under models:", "no model is served")
	case 1:
		return names[0], nil
	}
	return "", newError(errcode.InvalidRequest, "set model to one of "+strings.Join(names, ", "),
		"several models are served, and the request names none")
}

// negotiateNSQL is [format.Negotiate] with the forms that only answers to
// questions have; media is "" for the others.
func negotiateNSQL(accept string) (media string, form format.Form) {
	for part := range strings.SplitSeq(accept, ",") {
		media, params, err := mime.ParseMediaType(part)
		if q, failed := strconv.ParseFloat(params["q"], 64); err != nil || failed == nil && q == 0 {
			continue
		}
		if media == mediaSQL || media == mediaNSQL {
			return media, form
		}
		if f := format.Negotiate(media); f.MediaType != mediaJSON || meansJSON(media) {
			return "", f
		}
	}
	return "", format.Negotiate("")
}

// meansJSON distinguishes JSON's media types from unknown ones, for which
// [format.Negotiate] chooses JSON as well.
func meansJSON(media string) bool {
	return media == mediaJSON || media == "application/*" || media == "*/*"
}

// withSQL is the form sql with the statement as its first key.
func withSQL(sql string) output {
	form, _ := format.ByName("sql")
	return output{mediaNSQL, func(w io.Writer) format.Writer {
		return form.NewWriter(&headed{Writer: w, head: fmt.Appendf(nil, `{"sql":%s,`, format.AppendString(nil, sql))})
	}}
}

// headed writes a JSON object with another beginning.
type headed struct {
	io.Writer
	head []byte
}

// Write writes head in place of the first byte, the brace.
func (h *headed) Write(p []byte) (int, error) {
	if h.head == nil || len(p) == 0 {
		return h.Writer.Write(p)
	}
	if _, err := h.Writer.Write(h.head); err != nil {
		return 0, err
	}
	h.head = nil
	n, err := h.Writer.Write(p[1:])
	return n + 1, err
}
