package embeddings

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// fail returns an error whose message contains no secret.
func (o *openAI) fail(status int, again bool, cause error, format string, args ...any) *Error {
	message := truncate.Line(httpx.Redactf(o.redact, format, args...), MaxMessage)
	return &Error{Model: o.name, Status: status, Message: message, Retryable: again, Err: cause}
}

// attempt sends the body once, in one of the model's slots.
func (o *openAI) attempt(ctx context.Context, body []byte, texts int) (answer, *Error) {
	select {
	case o.slots <- struct{}{}:
		defer func() { <-o.slots }()
	case <-ctx.Done():
		return answer{}, o.fail(0, false, ctx.Err(), "cancelled")
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, o.fail(0, false, nil, "cannot build the request; check params.endpoint")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "spiced")
	o.authorize(req)
	resp, err := o.client.Do(req)
	if err != nil {
		return answer{}, o.transferError(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return answer{}, o.refused(resp)
	}
	return o.read(resp.Body, texts)
}

// read decodes an answer of bounded size and checks it.
func (o *openAI) read(body io.Reader, texts int) (answer, *Error) {
	limit := int64(o.answerLimit(texts))
	raw, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return answer{}, o.transferError(err)
	}
	if int64(len(raw)) > limit {
		return answer{}, o.fail(http.StatusOK, false, nil, "the answer is larger than %d bytes, too much for %d texts",
			limit, texts)
	}
	a, err := decodeAnswer(raw, texts)
	if err != nil {
		return answer{}, o.fail(http.StatusOK, false, nil, "%s", err)
	}
	if len(a.vectors) > 0 {
		got := len(a.vectors[0])
		o.known.CompareAndSwap(0, int64(got))
		if want := o.Dimensions(); got != want {
			return answer{}, o.fail(http.StatusOK, false, nil, "the provider returned %d dimensions, not %d", got, want)
		}
	}
	return a, nil
}

// answerLimit returns the largest size of an answer for a number of texts, in bytes.
func (o *openAI) answerLimit(texts int) int {
	dimensions := cmp.Or(o.Dimensions(), MaxDimensions)
	return min(MaxAnswerBytes, answerSlack+texts*(dimensions*numberBytes+answerSlack))
}

// refused returns the error of a response whose status is not 200.
func (o *openAI) refused(resp *http.Response) *Error {
	r := httpx.Refused(resp, resp.Body)
	e := o.fail(resp.StatusCode, r.Again, nil, "%s", r.Message)
	if e.wait = r.After; e.Retryable && e.wait > httpx.MaxProviderWait {
		e.Message = strings.TrimSpace(fmt.Sprintf("%s (requests a wait of %s, longer than %s)", e.Message,
			e.wait.Round(time.Second), httpx.MaxProviderWait))
	}
	return e
}

// transferError converts an error of the HTTP client.
func (o *openAI) transferError(err error) *Error {
	err = httpx.Cause(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return o.fail(0, true, context.DeadlineExceeded, "no complete answer within %s (params.timeout)", o.timeout)
	case httpx.Permanent(err):
		return o.fail(0, false, nil, "%s", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return o.fail(0, true, io.ErrUnexpectedEOF, "the connection was closed before the end of the answer")
	}
	return o.fail(0, true, nil, "%s", err)
}
