package embeddings

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

// Reasons why a Set returns no model, for errors.Is.
var (
	// ErrNoModel means that no model is declared.
	ErrNoModel = errors.New("no embedding model is declared")
	// ErrSeveralModels means that one of several must be named.
	ErrSeveralModels = errors.New("several embedding models are declared")
	// ErrUnknownModel means that no model has the name.
	ErrUnknownModel = errors.New("no such embedding model")
	// ErrNotLoaded means that the model is declared but could not be opened.
	ErrNotLoaded = errors.New("embedding model was not loaded")
)

// refusal is a message with one of the reasons above.
type refusal struct {
	reason  error
	message string
}

func (r *refusal) Error() string { return r.message }
func (r *refusal) Unwrap() error { return r.reason }

// Set holds the embedding models of one Spicepod. It is safe for concurrent use
// until Close; the zero value is empty.
type Set struct {
	names  []string         // all declared models, sorted
	models map[string]Model // the loaded models
}

// NewSet opens every entry of pod.Embeddings. A problem that is no warning keeps
// only the affected model from being served.
func NewSet(pod *spicepod.Pod, o Options) (*Set, spicepod.Problems) {
	s := &Set{models: map[string]Model{}}
	var problems spicepod.Problems
	for i, declared := range pod.Embeddings {
		s.names = append(s.names, declared.Name)
		e := newEntry(pod, i, o)
		model, problem := e.open()
		if problem == nil {
			problems = append(problems, e.Problems...) // warnings
		} else {
			problems = append(problems, *problem)
			continue
		}
		s.models[declared.Name] = model
	}
	slices.Sort(s.names)
	return s, problems
}

// Names returns the names of all declared models, sorted, as a new slice.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Complete reports whether all declared models were loaded.
func (s *Set) Complete() bool { return len(s.models) == len(s.names) }

// Model returns the named model. An error wraps ErrUnknownModel or
// ErrNotLoaded.
func (s *Set) Model(name string) (Model, error) {
	if m, ok := s.models[name]; ok {
		return m, nil
	}
	if slices.Contains(s.names, name) {
		return nil, &refusal{ErrNotLoaded, fmt.Sprintf("embedding model %q was not loaded: the log says why", name)}
	}
	return nil, &refusal{
		ErrUnknownModel,
		fmt.Sprintf("the embedding model %q does not exist%s", name, nearest.Clause(name, s.names)),
	}
}

// Remedy is an entry of `embeddings:` that needs no provider and no network.
const Remedy = `- {name: local, from: "builtin:semantic"}`

// Resolve returns the model for tool search: the one in tool_embedding_model
// or, if named is empty, the only one. An error wraps ErrNoModel,
// ErrSeveralModels, ErrUnknownModel or ErrNotLoaded.
func (s *Set) Resolve(named string) (Model, error) {
	switch {
	case named != "" && !slices.Contains(s.names, named):
		return nil, &refusal{ErrUnknownModel, fmt.Sprintf(
			"Embedding model '%s' specified by `tool_embedding_model` was not found in the `embeddings` section", named)}
	case named == "" && len(s.names) == 0:
		return nil, &refusal{ErrNoModel, "No embedding model configured for searchable tool discovery. " +
			"Add one model to the `embeddings` section, or set `tool_embedding_model` to reference a configured " +
			"embedding model. " +
			"One that works offline: `" + Remedy + "`"}
	case named == "" && len(s.names) > 1:
		return nil, &refusal{
			ErrSeveralModels,
			fmt.Sprintf("Multiple embedding models are configured for searchable tool discovery: %s. "+
				"Set `tool_embedding_model` to one of them", strings.Join(s.names, ", ")),
		}
	case named == "":
		named = s.names[0]
	}
	if m, ok := s.models[named]; ok {
		return m, nil
	}
	return nil, &refusal{
		ErrNotLoaded,
		fmt.Sprintf("Embedding model '%s' configured for searchable tool discovery was not loaded. "+
			"Check earlier embedding model errors and verify the `embeddings` configuration", named),
	}
}

// Close frees the resources of models outside Go. It waits for running calls.
func (s *Set) Close() error {
	var errs []error
	for _, name := range s.names {
		if c, ok := s.models[name].(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
