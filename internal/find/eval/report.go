package eval

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Report has the quality of the rankings of a set: means over the queries, in percent.
type Report struct {
	Set     string `json:"set"`
	Tools   int    `json:"tools"`
	Queries int    `json:"queries"`

	NDCG10 float64 `json:"ndcg_10"` // discounted cumulative gain of the first ten, relative to the best possible
	R1     float64 `json:"r_1"`     // share of the relevant tools among the first one, five, ten
	R5     float64 `json:"r_5"`
	R10    float64 `json:"r_10"`
	MRR    float64 `json:"mrr"`   // reciprocal rank of the first relevant tool in the first ten
	Hit5   float64 `json:"hit_5"` // a relevant tool is among the first five
}

func (s *Set) report(rankings []Ranking) Report {
	sum := Report{Set: s.Name, Tools: len(s.Tools), Queries: len(s.Queries)}
	for i, r := range rankings {
		sum = sum.plus(score(r.Tools, s.Queries[i].Relevant), 100/float64(len(rankings)))
	}
	return sum
}

// plus adds the figures of another report, times a factor.
func (r Report) plus(other Report, factor float64) Report {
	to := r.figures()
	for i, from := range other.figures() {
		*to[i] += factor * *from
	}
	return r
}

func (r *Report) figures() []*float64 {
	return []*float64{&r.NDCG10, &r.R1, &r.R5, &r.R10, &r.MRR, &r.Hit5}
}

// score scores one ranking; each figure is from 0 to 1.
func score(tools, relevant []string) Report {
	right := map[string]bool{}
	for _, name := range relevant {
		right[name] = true
	}
	var r Report
	all := float64(len(right))
	var ideal float64
	for i := range min(len(right), depth) {
		ideal += gain(i)
	}
	for i, name := range tools[:min(len(tools), depth)] {
		if !right[name] {
			continue
		}
		delete(right, name) // duplicates count once
		r.NDCG10 += gain(i) / ideal
		r.R10 += 1 / all
		if i < 5 {
			r.R5 += 1 / all
			r.Hit5 = 1
		}
		if i < 1 {
			r.R1 += 1 / all
		}
		if r.MRR == 0 {
			r.MRR = 1 / float64(i+1)
		}
	}
	return r
}

// gain returns the gain of a relevant tool at an index.
func gain(i int) float64 { return 1 / math.Log2(float64(i)+2) }

// Mean returns the mean over sets with equal weights.
func Mean(reports []Report) Report {
	mean := Report{Set: "mean"}
	for _, r := range reports {
		mean = mean.plus(r, 1/float64(len(reports)))
		mean.Tools += r.Tools
		mean.Queries += r.Queries
	}
	return mean
}

// WriteTable writes reports and their mean as a Markdown table.
func WriteTable(w io.Writer, reports []Report) error {
	var b strings.Builder
	b.WriteString("| set | tools | queries | nDCG@10 | R@1 | R@5 | R@10 | MRR@10 | hit@5 " +
		"|\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range reports {
		fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", r.Set, r.Tools, r.Queries, r.row(""))
	}
	if len(reports) > 0 {
		mean := Mean(reports)
		fmt.Fprintf(&b, "| **mean** | | | %s |\n", mean.row("**"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) row(mark string) string {
	var cells []string
	for _, figure := range r.figures() {
		cells = append(cells, fmt.Sprintf("%s%.1f%s", mark, *figure, mark))
	}
	return strings.Join(cells, " | ")
}
