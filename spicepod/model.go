package spicepod

// Model is one entry of `models:`.
type Model struct {
	Name        string         `yaml:"name" required:"true" doc:"Name of the model in requests."`
	From        string         `yaml:"from" required:"true" doc:"Provider and model: openai:<model>, anthropic:<model>, ollama:<model>, scripted:<name>."`
	Description string         `yaml:"description" doc:"What the model is for."`
	Datasets    []string       `yaml:"datasets" doc:"Datasets that the built-in tools may read for the model; patterns with * and ?. Without it: all."`
	Params      Params         `yaml:"params" doc:"Settings of the provider, and the tools of the model; see docs/models.md."`
	Script      []ScriptStep   `yaml:"script" doc:"The answers of a model from scripted:, which needs no provider, for tests and demos: the first step that matches a request answers it. See docs/models.md."`
	Metadata    map[string]any `yaml:"metadata" doc:"Free-form notes; stored, never interpreted."`
	DependsOn   []string       `yaml:"dependsOn" doc:"Components that must be loaded first."`
	Files       []any          `yaml:"files" served:"no" instead:"a server next to spiced that has the API of OpenAI, with 'params.endpoint'" doc:"Files of a local model."`

	// Key is the key of the provider in the environment, as ${secrets:openai_api_key} finds it; see
	// [Entry.UseKey].
	Key Text `yaml:"-" json:"-"`
}
