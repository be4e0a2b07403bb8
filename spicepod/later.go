package spicepod

// The components in this file are read and their keys are checked, but they are not
// served yet; Pod.NotServed lists them.

// Reranker is one entry of `rerankers:`.
type Reranker struct {
	Name        string   `yaml:"name" required:"true" doc:"Name of the reranker."`
	From        string   `yaml:"from" required:"true" doc:"Provider and model as provider:model."`
	Description string   `yaml:"description" doc:"What the reranker is for."`
	Params      Params   `yaml:"params" doc:"Settings of the provider."`
	DependsOn   []string `yaml:"dependsOn" doc:"Components that must be loaded first."`
}

// Worker is one entry of `workers:`.
type Worker struct {
	Name        string   `yaml:"name" required:"true" doc:"Name of the worker."`
	Type        string   `yaml:"type" doc:"Kind of worker."`
	Description string   `yaml:"description" doc:"What the worker does."`
	Models      []any    `yaml:"models" doc:"Models that it routes between."`
	LoadBalance any      `yaml:"load_balance" doc:"How it chooses a model."`
	SQL         string   `yaml:"sql" doc:"Statement it runs."`
	Cron        string   `yaml:"cron" doc:"When it runs."`
	Params      Params   `yaml:"params" doc:"Settings of the worker."`
	DependsOn   []string `yaml:"dependsOn" doc:"Components that must be loaded first."`
}

// Eval is one entry of `evals:`.
type Eval struct {
	Name        string   `yaml:"name" required:"true" doc:"Name of the evaluation."`
	Description string   `yaml:"description" doc:"What is evaluated."`
	Dataset     string   `yaml:"dataset" doc:"Dataset of questions and answers."`
	Scorers     []string `yaml:"scorers" doc:"How answers are scored."`
	DependsOn   []string `yaml:"dependsOn" doc:"Components that must be loaded first."`
}
