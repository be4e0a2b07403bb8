package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/eval"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/spicepod"
)

// embeddingNone is the value of --embedding without a model.
const embeddingNone = "none"

// searchEvalFlags are the flags of `spiced search-eval`.
type searchEvalFlags struct {
	embedding, pod string
	tables         string
	run            string
	abstain        bool
	fields         bool
	log            bool
	format         string
}

func newSearchEval(std streams) *cobra.Command {
	var f searchEvalFlags
	cmd := &cobra.Command{
		Use:   "search-eval DIR...",
		Short: "Measure tool search against queries with known answers",
		Long: `Search the tools of each folder for its queries, and compare the rankings with the right answers.
A folder has two files with one JSON object per line:
  tools.jsonl    {"name", "description", "parameters": JSON Schema, "tags": [...], "when_to_use"}
  queries.jsonl  {"id", "query", "relevant": [names of tools]}

The figures are percentages, means over the queries: nDCG@10; R@1, R@5 and R@10, the share of the right tools
among the first 1, 5 and 10; MRR; hit@5, whether a right tool is among the first five. The settings are
spiced's defaults.

--run FILE writes the rankings, one {"id", "tools"} per line. With several folders it writes a file for each:
--run out.jsonl writes out-<folder>.jsonl.
--abstain shows how many queries of the other folders, which a catalog cannot answer, are flagged as having
no good match, and how many of their own are.
--fields measures each folder again with when_to_use and examples for a third of its tools. They are written by
rule, from the declarations and from general knowledge of how people ask, without the queries.
--log splits the queries of each folder into two halves by a hash. It asks one half, and asks it again with the
other half as past queries, which ended in calls of their right tools (learning from use).`,
		Example: `  spiced search-eval FOLDER
  spiced search-eval FOLDER1 FOLDER2 --embedding small --pod DIR --run rankings.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("search-eval needs folders with tools.jsonl and queries.jsonl, got none")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", f.format, "table", "json"); err != nil {
				return err
			}
			return runSearchEval(cmd.Context(), std, args, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.embedding, "embedding", "builtin:semantic",
		"model of the vectors: builtin:semantic, builtin:hash, none, or one of the Spicepod's by its name")
	flags.StringVar(&f.pod, "pod", ".", "Spicepod that declares the model")
	flags.StringVar(&f.tables, "tables", "",
		"folder with a table of builtin:semantic for each folder, <folder>.bin, that was made without it")
	flags.StringVar(&f.run, "run", "", "file for the rankings")
	flags.BoolVar(&f.abstain, "abstain", false, "also measure how well queries of other folders are recognised")
	flags.BoolVar(&f.fields, "fields", false,
		"also measure each folder with when_to_use and examples for a third of its tools, written by rule")
	flags.BoolVar(&f.log, "log", false, "measure learning: half of the queries are asked, the others are the past")
	flags.StringVar(&f.format, "format", "table", "table or json")
	return cmd
}

func runSearchEval(ctx context.Context, std streams, dirs []string, f searchEvalFlags) error {
	sets, err := loadSets(dirs)
	if err != nil {
		return err
	}
	if measurements := f.measurements(); len(measurements) > 1 {
		return usageError{fmt.Errorf("%s are separate measurements; use one", strings.Join(measurements, " and "))}
	}
	if f.abstain && len(sets) < 2 {
		return usageError{errors.New("--abstain needs two folders: each is asked the queries of the others")}
	}
	options, done, err := f.options()
	if err != nil {
		return err
	}
	defer done()
	if f.tables != "" {
		for _, set := range sets {
			if set.Model, err = embeddings.Table(filepath.Join(f.tables, set.Name+".bin")); err != nil {
				return fmt.Errorf("--tables: %w", err)
			}
		}
	}
	again := make([]*eval.Set, len(sets)) // as they are measured for comparison
	for i, set := range sets {
		switch {
		case f.fields:
			again[i] = set.Documented()
		case f.log:
			sets[i], again[i] = set.Halves()
			if len(again[i].Log) == 0 || len(sets[i].Queries) == 0 {
				return fmt.Errorf("--log: the queries of %q (%d) are all in one half; add queries", set.Name, len(set.Queries))
			}
		}
	}
	result, err := f.evaluate(ctx, sets, options)
	if err != nil {
		return err
	}
	if f.fields || f.log {
		f.run = "" // the rankings are those of the folders
		with, err := f.evaluate(ctx, again, options)
		if err != nil {
			return err
		}
		if f.fields {
			result.Fields = &with
		} else {
			result.Log = &with
		}
	}
	if f.abstain {
		abstentions, err := eval.Abstain(ctx, sets, options, []float64{options.Settings.NoGoodMatch})
		if err != nil {
			return err
		}
		result.Abstain = &abstentions[0]
	}
	if f.format == "json" {
		return writeJSON(std.out, result)
	}
	if err := eval.WriteTable(std.out, result.Sets); err != nil {
		return err
	}
	if result.Fields != nil {
		fmt.Fprint(std.out, "\nwith when_to_use and examples for a third of the tools\n\n")
		return eval.WriteTable(std.out, result.Fields.Sets)
	}
	if result.Log != nil {
		fmt.Fprint(std.out, "\nwith the other half of the queries as past queries\n\n")
		return eval.WriteTable(std.out, result.Log.Sets)
	}
	if result.Abstain == nil {
		return nil
	}
	_, err = fmt.Fprintf(std.out, "\nno good match, threshold %.2f: %.1f %% of foreign queries, %.1f %% of own\n",
		result.Abstain.Threshold, result.Abstain.Rightly, result.Abstain.Falsely)
	return err
}

// measurements are the flags of those measurements that exclude one another.
func (f *searchEvalFlags) measurements() (flags []string) {
	for _, m := range []struct {
		flag string
		set  bool
	}{{"--abstain", f.abstain}, {"--fields", f.fields}, {"--log", f.log}} {
		if m.set {
			flags = append(flags, m.flag)
		}
	}
	return flags
}

// evaluate searches each set and writes the rankings.
func (f searchEvalFlags) evaluate(ctx context.Context, sets []*eval.Set, options eval.Options) (evaluation, error) {
	result := evaluation{Sets: make([]eval.Report, len(sets))}
	for i, set := range sets {
		report, rankings, err := set.Run(ctx, options)
		if err != nil {
			return result, err
		}
		result.Sets[i] = report
		if err := writeRun(runFile(f.run, set.Name, len(sets)), rankings); err != nil {
			return result, err
		}
	}
	result.Mean = eval.Mean(result.Sets)
	return result, nil
}

// evaluation is the result as JSON.
type evaluation struct {
	Sets    []eval.Report    `json:"sets"`
	Mean    eval.Report      `json:"mean"`
	Abstain *eval.Abstention `json:"abstain,omitempty"`
	Fields  *evaluation      `json:"fields,omitempty"`
	Log     *evaluation      `json:"log,omitempty"`
}

// loadSets reads the folders. Their names must differ.
func loadSets(dirs []string) ([]*eval.Set, error) {
	sets := make([]*eval.Set, len(dirs))
	named := map[string]string{}
	for i, dir := range dirs {
		dir = filepath.Clean(dir)
		set, err := eval.Load(dir)
		if err != nil {
			return nil, err
		}
		if other, taken := named[set.Name]; taken {
			return nil, usageError{fmt.Errorf("%s and %s are both named %q; rename one", other, dir, set.Name)}
		}
		named[set.Name] = dir
		sets[i] = set
	}
	return sets, nil
}

// options returns the settings with the requested vectors; done closes the
// model.
func (f searchEvalFlags) options() (o eval.Options, done func(), err error) {
	o, done = eval.Options{Settings: search.Default()}, func() {}
	switch f.embedding {
	case embeddingNone:
		return o, done, nil
	}
	var pod *spicepod.Pod
	if strings.HasPrefix(f.embedding, "builtin:") {
		pod, err = &spicepod.Pod{Embeddings: []spicepod.Embedding{{Name: f.embedding, From: f.embedding}}}, nil
	} else {
		pod, err = spicepod.Load(f.pod, runtime.Bodies...)
	}
	if err != nil {
		return o, done, err
	}
	set, problems := embeddings.NewSet(pod, embeddings.Options{})
	done = func() { set.Close() }
	o.Model, err = set.Model(f.embedding)
	switch {
	case errors.Is(err, embeddings.ErrNotLoaded):
		done()
		return o, nil, problems
	case err != nil:
		done()
		return o, nil, fmt.Errorf("--embedding: %w", err)
	}
	return o, done, nil
}

// runFile returns the file for the rankings of one set, or "".
func runFile(run, set string, sets int) string {
	if run == "" || sets == 1 {
		return run
	}
	ext := filepath.Ext(run)
	return strings.TrimSuffix(run, ext) + "-" + set + ext
}

func writeRun(path string, rankings []eval.Ranking) error {
	if path == "" {
		return nil
	}
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	return errors.Join(eval.WriteRun(out, rankings), out.Close())
}
