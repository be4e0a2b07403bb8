package sqlapi

import (
	"cmp"
	"net/http"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// embeddingsHandler serves embedding models.
type embeddingsHandler struct {
	models func() *embeddings.Set
	bodies bodyReader
}

// embed turns texts into vectors, in OpenAI's form.
func (h *embeddingsHandler) embed(w http.ResponseWriter, r *http.Request) error {
	var set *embeddings.Set
	if h.models != nil {
		set = h.models()
	}
	if set == nil {
		return newError(codeNotServed, "", "embeddings are not served here")
	}
	body, err := h.bodies.read(w, r, embeddings.MaxRequestBytes)
	if err != nil {
		return err
	}
	request, err := embeddings.ParseRequest(body)
	if err != nil {
		return embeddingError(err)
	}
	model, err := set.Model(request.Model)
	if err != nil {
		return embeddingError(err)
	}
	response, err := embeddings.Answer(r.Context(), model, request)
	if err != nil {
		return embeddingError(err)
	}
	return writeJSON(w, http.StatusOK, response)
}

// embeddingError is what is sent of an error of package embeddings, which
// knows the status: it distinguishes our faults from the provider's.
func embeddingError(err error) error {
	wire := embeddings.AsWireError(err)
	switch {
	case wire.Status == embeddings.StatusClientClosed:
		return newError(errcode.ShuttingDown, "", "the embedding was cancelled") // a client that left gets no answer
	case wire.Status == http.StatusInternalServerError:
		return err
	}
	return &requestError{
		Code: cmp.Or(errcode.Code(wire.Code), errcode.InvalidRequest), Message: wire.Message,
		status: wire.Status, body: wire,
	}
}

// openAIError is an error of the API's own in OpenAI's form.
func openAIError(r *http.Request, e *requestError) any {
	if e.sentStatus() == http.StatusUnauthorized {
		return completionsProtocol.errorBody(r, e)
	}
	wire := &embeddings.WireError{Message: e.Error(), Type: "invalid_request_error", Code: string(e.Code)}
	if e.sentStatus() >= http.StatusInternalServerError {
		wire.Type = "server_error"
	}
	return wire
}
