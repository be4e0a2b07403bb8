package embeddings

import (
	"slices"

	"github.com/spiced-sql/spiced/spicepod"
)

// ollamaEndpoint is the base URL of an Ollama server, as that of models from ollama.
const ollamaEndpoint = "http://127.0.0.1:11434"

// ollamaParams are the params of an embedding from ollama.
var ollamaParams = append([]spicepod.Param{
	{Name: "ollama_api_key", Secret: true, Doc: "Key of a proxy, sent as a bearer token."},
}, slices.DeleteFunc(slices.Clone(openAIParams), func(p spicepod.Param) bool {
	return p.Secret && p.Name != "endpoint"
})...)

// openOllama opens a model of an Ollama server, by its API in OpenAI's form, which has all
// that POST /api/embed has, https://docs.ollama.com/api/openai-compatibility.
func openOllama(e *entry) (Model, *spicepod.Problem) {
	const key = "ollama_api_key"
	return e.openAI(e.Endpoint(ollamaEndpoint, key, "/embeddings", "/api/embed", "/api", "/v1"), key, "v1/embeddings"), nil
}
