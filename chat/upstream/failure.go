package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spiced-sql/spiced/chat"
)

// fail is [Endpoint.Fail] with a cause.
func (e *Endpoint) fail(code chat.Code, cause error, format string, args ...any) *chat.Error {
	failed := e.Fail(code, fmt.Sprintf(format, args...))
	failed.Cause = cause
	return failed
}

func (e *Endpoint) cancelled(ctx context.Context) *chat.Error {
	return e.fail(chat.CodeCancelled, ctx.Err(), "the request was cancelled")
}

// unreachable makes an error of an attempt that got no answer, and says
// whether to try again. An attempt that took too long is not repeated: the
// client would wait as long once more. The cause is kept only where it holds
// no text of others.
func (e *Endpoint) unreachable(err error, a *answer) (failed *chat.Error, again bool) {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	var redirect *redirectError
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case a.late.Load():
		return e.fail(chat.CodeTimeout, context.DeadlineExceeded, "the provider did not begin to answer within %s (params.timeout)", e.timeout), false
	case errors.As(err, &redirect), errors.As(err, &certificate):
		return e.fail(chat.CodeUpstream, nil, "%s", err), false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return e.fail(chat.CodeUpstream, io.ErrUnexpectedEOF, "the provider closed the connection without an answer"), true
	case errors.As(err, &network):
		return e.fail(chat.CodeUpstream, nil, "the provider cannot be reached: %s; check params.endpoint", err), true
	}
	return e.fail(chat.CodeUpstream, nil, "the provider cannot be asked: %s", err), true
}

// broken makes an error of a stream that cannot be read on.
func (e *Endpoint) broken(ctx context.Context, a *answer, err error) *chat.Error {
	switch {
	case ctx.Err() != nil:
		return e.cancelled(ctx)
	case a.late.Load():
		return e.fail(chat.CodeTimeout, context.DeadlineExceeded, "the provider sent nothing for %s in the middle of its answer (params.idle_timeout)", e.idle)
	case errors.Is(err, errTooLong):
		return e.fail(chat.CodeBroken, nil, "the provider's answer is too long: at most %d MiB, %d MiB in one event", MaxStreamBytes>>20, MaxEventBytes>>20)
	case errors.Is(err, errPage):
		return e.fail(chat.CodeBroken, nil, "the provider answered a page of HTML; check params.endpoint")
	}
	return e.fail(chat.CodeBroken, io.ErrUnexpectedEOF, "the provider's answer broke off: %s", err)
}

// refused makes an error of an answer with another status than 2xx. final says
// that it is useless to ask again, or would be too long to wait.
func (e *Endpoint) refused(res *http.Response, body []byte) (failed *chat.Error, final bool) {
	message, code := providerMessage(body)
	said := strconv.Itoa(res.StatusCode)
	if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
		// OpenAI repeats parts of the key, which redaction does not find.
		if message = ""; code != "" {
			said += " " + oneLine(e.redact(code), maxCode)
		}
	}
	if text := http.StatusText(res.StatusCode); message == "" && text != "" {
		said += " " + text
	}
	said = "(" + said + ")"
	if message != "" {
		// Before it is cut, for half a secret is not found.
		said += ": " + oneLine(e.redact(message), MaxMessage)
	}
	failed = e.status(res.StatusCode, said)
	failed.RetryAfter = retryAfter(res.Header)
	return failed, code == "insufficient_quota" || failed.RetryAfter > MaxRetryAfter
}

// status says what an HTTP status means for the client.
func (e *Endpoint) status(status int, said string) *chat.Error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return e.fail(chat.CodeRefused, nil, "the provider refused the key %s; check the model's …_api_key in params", said)
	case http.StatusPaymentRequired:
		return e.fail(chat.CodeRefused, nil, "the provider wants to be paid first %s", said)
	case http.StatusNotFound:
		return e.fail(chat.CodeRefused, nil, "the provider does not have the model, or the path %s; check from and params.endpoint", said)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return e.fail(chat.CodeInvalid, nil, "the provider finds the request wrong %s", said)
	case http.StatusRequestEntityTooLarge:
		return e.fail(chat.CodeTooLarge, nil, "the request is too large for the provider %s", said)
	case http.StatusTooManyRequests:
		return e.fail(chat.CodeBusy, nil, "the provider takes no more requests for now %s", said)
	}
	return e.fail(chat.CodeUpstream, nil, "the provider failed %s", said)
}

// retryAfter is how long a provider asks to wait: retry-after-ms as OpenAI
// sends it, or Retry-After in seconds or as a date (RFC 9110, 10.2.3).
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return seconds(ms / 1000)
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 0 {
		return seconds(s)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// seconds keeps large numbers in range.
func seconds(s float64) time.Duration {
	const day = 24 * 60 * 60
	return time.Duration(min(s, day) * float64(time.Second))
}

// providerMessage finds the message in the body of a refusal. Providers write
// {"error": {"message": …}}, {"error": "…"}, {"message": "…"}, {"detail": "…"}
// or one of them in a list; the code is there for OpenAI's own form. A page of
// HTML says nothing.
func providerMessage(body []byte) (message, code string) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var form struct{ Error, Message, Detail json.RawMessage }
	if json.Unmarshal(body, &form) != nil {
		text := strings.TrimSpace(string(body))
		if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			return "", ""
		}
		return text, ""
	}
	var inner struct {
		Message    string
		Code, Type any
	}
	if json.Unmarshal(form.Error, &inner) == nil && inner.Message != "" {
		code, _ = inner.Code.(string)
		if kind, ok := inner.Type.(string); ok {
			code = cmp.Or(code, kind)
		}
		return inner.Message, code
	}
	for _, raw := range []json.RawMessage{form.Error, form.Message, form.Detail} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text, ""
		}
	}
	return "", ""
}

// oneLine makes a foreign text safe to show: one line, no control characters,
// at most so many bytes.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	for text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most] + "…"
}

// redaction replaces secrets in a text, the longest first.
func redaction(secrets []string) func(string) string {
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return func(text string) string {
		for _, secret := range secrets {
			text = strings.ReplaceAll(text, secret, "***")
		}
		return text
	}
}
