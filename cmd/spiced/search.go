package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// maxShownDescription is how many characters of a description a table shows.
const maxShownDescription = 60

// searchWait is how long `spiced search` waits for the embedding model.
const searchWait = time.Minute

// searchUsage is shown where the arguments are wrong.
const searchUsage = `spiced search [DIR|FILE] "what the tool should do"`

// searchFlags are the flags of `spiced search`.
type searchFlags struct {
	limit    int
	keywords []string
	minScore float64
	explain  bool
	tool     string
	format   string
}

func newSearch(std streams) *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search [DIR|FILE] QUERY",
		Short: "Search the tools of a Spicepod, as tool_search does",
		Long: `Load the Spicepod in DIR, by default this folder, and search its tools as a model would with tool_search.
The query * lists all tools by name.

--explain shows, for each tool and channel, the tool's rank and score in the channel, the channel's weight and
its share of the tool's score. --tool NAME shows the same for one tool, found or not, and why it is not found.

Exit status: 0 success, 1 the Spicepod has a fault or the tool does not exist, 2 usage error.`,
		Example: `  spiced search examples/quickstart "distance between two airports"
  spiced search examples/quickstart "flight delay" --keyword minutes --explain
  spiced search examples/quickstart "distance" --tool delay_band`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", f.format, "text", "json"); err != nil {
				return err
			}
			if len(args) == 0 {
				return usageError{errors.New("search needs a query: " + searchUsage)}
			}
			pod, query, err := podFirst(args, searchUsage)
			if err != nil {
				return err
			}
			return runSearch(cmd.Context(), std, query, podPath(pod), f)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.limit, "limit", registry.DefaultLimit,
		fmt.Sprintf("number of tools to show, at most %d", registry.MaxLimit))
	flags.StringArrayVar(&f.keywords, "keyword", nil, "additional phrase to search for; may be repeated")
	flags.Float64Var(&f.minScore, "min-score", 0, "minimum score of a tool, from 0 to 1")
	flags.BoolVar(&f.explain, "explain", false, "show how each score is computed")
	flags.StringVar(&f.tool, "tool", "", "also show why this tool is found or not")
	flags.StringVar(&f.format, "format", "text", "text or json")
	return cmd
}

// searched is the result of a search, and the explanation for one tool.
type searched struct {
	*registry.Found
	Why *registry.Why `json:"why,omitempty"`
}

func runSearch(ctx context.Context, std streams, query, path string, f searchFlags) error {
	if f.limit < 1 {
		return usageError{fmt.Errorf("--limit must be from 1 to %d, got %d", registry.MaxLimit, f.limit)}
	}
	app, err := assembleLoaded(ctx, std, options{Options: runtime.Options{Path: path, InPlace: true}})
	if err != nil {
		return err
	}
	defer app.close()
	request := registry.SearchRequest{
		Query: query, Keywords: f.keywords, Limit: f.limit, MinScore: f.minScore, Explain: f.explain, Wait: searchWait,
		Scope: tools.Scope{Caller: caller.Caller{Protocol: caller.CLI}},
	}
	var answer searched
	if answer.Found, err = app.Tools().Search(ctx, request); err != nil {
		return toolError(err)
	}
	if f.tool != "" {
		if answer.Why, err = app.Tools().Why(ctx, request, f.tool); err != nil {
			return toolError(err)
		}
	}
	if f.format == "json" {
		return writeJSON(std.out, answer)
	}
	for _, notice := range answer.Notices {
		fmt.Fprintln(std.err, "note:", notice)
	}
	return answer.writeText(std.out, f.explain)
}

// toolError turns an invalid request into a fault of the command line.
func toolError(err error) error {
	var refused *tools.Error
	if !errors.As(err, &refused) {
		return err
	}
	text := refused.Message
	if refused.Hint != "" {
		text += " (" + refused.Hint + ")"
	}
	if refused.Code == errcode.InvalidArguments {
		return usageError{errors.New(text)}
	}
	return errors.New(text)
}

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// writeText writes the tools found as a table, best first.
func (s searched) writeText(w io.Writer, explain bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(s.Tools) > 0 {
		fmt.Fprintln(t, "rank\tscore\ttool\tdescription\tmatched")
	}
	for i, tool := range s.Tools {
		fmt.Fprintf(t, "%d\t%.3f\t%s\t%s\t%s\n", i+1, tool.Score, tool.ToolID,
			truncate.Line(tool.Description, maxShownDescription), strings.Join(tool.MatchedTerms, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	switch {
	case len(s.Tools) == 0:
		fmt.Fprintln(w, "no tool matches")
	case s.NoGoodMatch:
		fmt.Fprintln(w, "no tool is a good match")
	case s.Fallback:
		fmt.Fprintln(w, "no tool reaches --min-score; this is the best one")
	}
	if explain {
		if err := s.writeExplain(w); err != nil {
			return err
		}
	}
	if s.Why != nil {
		return s.writeWhy(w)
	}
	return nil
}

// writeExplain writes the rank and score of each tool in each channel.
func (s searched) writeExplain(w io.Writer) error {
	fmt.Fprintf(w, "\n%s, %d matched, confidence %.3f\n", s.SearchMode, s.Total, s.Confidence)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "tool\tchannel\trank\tscore\tweight\tshare")
	for _, tool := range s.Tools {
		for _, source := range tool.MatchSources {
			fmt.Fprintf(t, "%s\t%s\t%d\t%.3f\t%g\t%.3f\n", tool.ToolID, source.Source, source.Rank, source.Score, source.Weight,
				source.Share)
		}
	}
	return t.Flush()
}

// cuts are the reasons why a tool is not found.
var cuts = map[search.Cut]string{
	search.CutRefused:  "it is not available in this scope",
	search.CutNoMatch:  "no channel ranks it: it has none of the words",
	search.CutMinScore: "its score is below --min-score",
	search.CutLimit:    "other tools rank higher: raise --limit",
}

// writeWhy writes why one tool is found or not.
func (s searched) writeWhy(w io.Writer) error {
	y := s.Why
	switch {
	case y.Cut == "":
		fmt.Fprintf(w, "\n%s is found: rank %d, score %.3f\n", y.Tool, y.Rank, y.Score)
	case y.Rank > 0:
		fmt.Fprintf(w, "\n%s is not shown: rank %d, score %.3f; %s\n", y.Tool, y.Rank, y.Score, cuts[y.Cut])
	default:
		fmt.Fprintf(w, "\n%s is not found: %s\n", y.Tool, cuts[y.Cut])
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(y.Channels) > 0 {
		fmt.Fprintln(t, "channel\trank\tscore\tweight\tshare")
	}
	for _, c := range y.Channels {
		rank := fmt.Sprint(c.Rank)
		switch {
		case c.Rank == 0:
			rank = "none"
		case !c.Counts:
			rank += ", too low to count"
		}
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%g\t%.3f\n", c.Source, rank, c.Score, c.Weight, c.Share)
	}
	return t.Flush()
}
