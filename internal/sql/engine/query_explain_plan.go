package engine

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// planCall is a call in a logical plan.
type planCall struct {
	id       string
	site     site
	constant bool // it has the same arguments for every row
}

// site is how a physical plan shows the expression that a call is in.
type site struct {
	alias  string // of the whole expression; "": the expression is shown as it is
	unnest bool   // by the operator alone
	lambda bool   // the call is one for each element of a list
}

// estimateCalls returns the estimated number of calls of the functions with these IDs, by
// DuckDB's serialized logical plan and its physical plan, both as JSON, and why it cannot estimate
// the others.
func estimateCalls(logical, physical []byte, ids []string) (estimates map[string]int64, missing string) {
	var plans struct {
		Error bool   `json:"error"`
		Type  string `json:"error_type"`
		Plans []any  `json:"plans"`
	}
	var nodes []planNode
	switch {
	case json.Unmarshal(logical, &plans) != nil, json.Unmarshal(physical, &nodes) != nil:
		return nil, notInPlan
	case plans.Type == "not implemented": // CSVReaderSerialize, JSONScan Serialize
		return nil, readsInPlace
	case plans.Error:
		return nil, notInPlan
	}
	calls := map[string][]planCall{}
	for _, plan := range plans.Plans {
		findCalls(plan, "", nil, func(c planCall) { calls[c.id] = append(calls[c.id], c) })
	}
	estimates = map[string]int64{}
	for _, id := range ids {
		if n, ok := estimate(calls[id], nodes); ok {
			estimates[id] = n
		}
	}
	return estimates, notInPlan
}

// estimate returns the estimated number of calls of one function.
func estimate(calls []planCall, nodes []planNode) (total int64, ok bool) {
	sites := map[site]int{}
	for _, c := range calls {
		if c.constant {
			total++
			continue
		}
		sites[c.site]++
	}
	for at, n := range sites {
		rows := at.rows(nodes, calls[0].id)
		slices.SortFunc(rows, func(a, b int64) int { return cmp.Compare(b, a) })
		if len(rows) == 0 || rows[0] == 0 || at.lambda { // DuckDB says 0 where it does not know
			return 0, false
		}
		for i := range n {
			total = plus(total, rows[min(i, len(rows)-1)])
		}
	}
	return total, true
}

// rows returns the number of rows that reach each operator where calls of a function may be.
func (s site) rows(nodes []planNode, id string) []int64 {
	if s.unnest {
		return rowsAt(nodes, func(n *planNode) int { return strings.Count(n.Name, "UNNEST") })
	}
	if s.alias != "" {
		if rows := rowsAt(nodes, func(n *planNode) int {
			return n.shows(func(text string) bool { return text == s.alias })
		}); len(rows) > 0 {
			return rows
		}
	}
	return rowsAt(nodes, func(n *planNode) int {
		return n.shows(func(text string) bool { return strings.Contains(text, Literal(id)) })
	})
}

// findCalls calls found for each call of a function that is not SQL in a part of a serialized
// plan. of is the operator that the part belongs to, and top the expression that it is in; nil: it
// is in none. Lambdas are in the function_data of the functions that call them.
func findCalls(part any, of string, top *site, found func(planCall)) {
	switch part := part.(type) {
	case []any:
		for _, p := range part {
			findCalls(p, of, top, found)
		}
	case map[string]any:
		kind, _ := part["type"].(string)
		if _, ok := part["expression_class"]; !ok && strings.HasPrefix(kind, "LOGICAL_") {
			of = kind
		} else if ok && top == nil {
			alias, _ := part["alias"].(string)
			top = &site{alias: alias, unnest: of == "LOGICAL_UNNEST"}
		}
		if id, args, ok := batchCall(part); ok && top != nil {
			found(planCall{id, *top, !top.lambda && !slices.ContainsFunc(args, varies)})
		}
		for _, key := range slices.Sorted(maps.Keys(part)) {
			inner := top
			if key == "function_data" && top != nil {
				inner = &site{lambda: true}
			}
			findCalls(part[key], of, inner, found)
		}
	}
}

// batchCall returns the ID and the arguments if an expression is a call of [BatchName].
func batchCall(e map[string]any) (id string, args []any, ok bool) {
	name, _ := e["name"].(string)
	args, _ = e["children"].([]any)
	if !strings.HasPrefix(name, batchPrefix) || len(args) == 0 {
		return "", nil, false
	}
	first, _ := args[0].(map[string]any)
	value, _ := first["value"].(map[string]any)
	id, ok = value["value"].(string)
	return id, args[1:], ok
}

// varies reports whether an expression may have several values: it refers to a column, or calls
// a function.
func varies(part any) bool {
	switch part := part.(type) {
	case []any:
		return slices.ContainsFunc(part, varies)
	case map[string]any:
		switch part["expression_class"] {
		case "BOUND_REF", "BOUND_COLUMN_REF", "BOUND_FUNCTION":
			return true
		}
		for _, p := range part {
			if varies(p) {
				return true
			}
		}
	}
	return false
}

// planNode is an operator of a physical plan.
type planNode struct {
	Name     string         `json:"name"`
	Children []planNode     `json:"children"`
	Info     map[string]any `json:"extra_info"`
}

// rowsAt returns the number of rows that reach some operators, as often as count says.
func rowsAt(nodes []planNode, count func(*planNode) int) (rows []int64) {
	for i := range nodes {
		for range count(&nodes[i]) {
			rows = append(rows, nodes[i].reached())
		}
		rows = append(rows, rowsAt(nodes[i].Children, count)...)
	}
	return rows
}

// shows returns how many texts of an operator match.
func (n *planNode) shows(matches func(text string) bool) (count int) {
	for _, info := range n.Info {
		texts, ok := info.([]any)
		if !ok {
			texts = []any{info}
		}
		for _, text := range texts {
			if s, ok := text.(string); ok && matches(s) {
				count++
			}
		}
	}
	return count
}

// reached returns the estimated number of rows for which an operator evaluates its expressions.
func (n *planNode) reached() int64 {
	switch {
	case len(n.Children) == 0, n.Name == "PROJECTION":
		return n.rows()
	case n.Name == "BLOCKWISE_NL_JOIN": // its condition is one on pairs of rows
		return n.combine(times)
	}
	return n.combine(most)
}

// rows returns the estimated number of rows of an operator.
func (n *planNode) rows() int64 {
	if text, ok := n.Info["Estimated Cardinality"].(string); ok {
		if rows, err := strconv.ParseInt(text, 10, 64); err == nil {
			return rows
		}
	}
	switch n.Name {
	case "UNION":
		return n.combine(plus)
	case "CROSS_PRODUCT":
		return n.combine(times)
	case "UNGROUPED_AGGREGATE", "SIMPLE_AGGREGATE":
		return 1
	}
	top, _ := n.Info["Top"].(string)
	if limit, err := strconv.ParseInt(top, 10, 64); err == nil {
		return min(limit, n.combine(most))
	}
	return n.combine(most)
}

// combine returns the rows of the children as one number; 1 if there are none.
func (n *planNode) combine(with func(a, b int64) int64) int64 {
	if len(n.Children) == 0 {
		return 1
	}
	rows := n.Children[0].rows()
	for i := range n.Children[1:] {
		rows = with(rows, n.Children[i+1].rows())
	}
	return rows
}

// maxEstimate is the largest estimate; larger ones would overflow.
const maxEstimate = 1 << 53

func most(a, b int64) int64 { return max(a, b) }

func plus(a, b int64) int64 { return min(maxEstimate, min(a, maxEstimate)+min(b, maxEstimate)) }

func times(a, b int64) int64 {
	if b != 0 && a > maxEstimate/b {
		return maxEstimate
	}
	return a * b
}
