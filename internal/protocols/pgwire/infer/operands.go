package infer

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// maxChain is how many tokens may be between a parameter and its operand, as
// in $1 + $2 + x.
const maxChain = 16

// operandsOf finds the types of the parameters next to an operator:
// see besideOperator. They are found with one description or, where one is an
// error, with one for each.
func (q *Query) operandsOf(ctx context.Context, which map[string]bool) {
	q.Found = map[string]uint32{}
	at := map[string]int{} // by the names, where one is first
	r := scanner{sqltree.NewCursor(q.Text)}
	for i := range r.Tokens {
		name := r.param(i)
		if _, seen := at[name]; seen || !which[name] || q.known(name) != 0 {
			continue
		}
		if operand, _ := r.operandOf(i); operand != "" {
			at[name] = i
		}
	}
	known := func(r scanner, i int) string {
		if which[r.param(i)] {
			return "NULL"
		}
		return r.null(i, nil)
	}
	try := func(names []string) bool {
		d, err := q.probe(ctx, replaceParams(q.Text, func(r scanner, i int) string {
			if name := r.param(i); slices.Contains(names, name) && at[name] == i {
				operand, _ := r.operandOf(i)
				// For the operator it is a NULL, since there may be none for two operands of one type.
				return "CASE WHEN CASE WHEN true THEN $" + name + " ELSE " + replaceParams(operand, known) +
					" END IS NULL THEN NULL END"
			}
			return known(r, i)
		}))
		if err != nil {
			return false
		}
		for _, param := range d.Params {
			if slices.Contains(names, param.Name) && param.Type != nil && param.Type.ID != engine.Null {
				_, operator := r.operandOf(at[param.Name])
				q.Found[param.Name] = besideOperator(operator, wire.TypeOf(param.Type).OID)
			}
		}
		return true
	}
	names := slices.Sorted(maps.Keys(at))
	if len(names) == 0 || try(names) || len(names) == 1 {
		return
	}
	for i := range min(len(names), maxCasts) {
		try(names[i : i+1])
	}
}

// besideOperator is the type of an operand of unknown type, by the type of the
// other: the same, as in PostgreSQL, except for additions to dates and products
// with intervals.
func besideOperator(operator string, other uint32) uint32 {
	switch other {
	case pgtype.DateOID, pgtype.TimeOID, pgtype.TimetzOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		if operator == "+" {
			return pgtype.IntervalOID
		}
	case pgtype.IntervalOID:
		if operator == "*" || operator == "/" {
			return pgtype.Float8OID
		}
	}
	return other
}

// operandOf is the other operand of an operator next to parameter i; "" without an
// operator, and for a parameter that is cast. Of two operators it is
// the one that binds more tightly, or the first.
func (r scanner) operandOf(i int) (operand, operator string) {
	if _, at := r.cast(i); at > 0 {
		return "", ""
	}
	left, right := r.leftOf(i), r.rightOf(i)
	sum := func(i int) bool { return r.Is(i, "+") || r.Is(i, "-") }
	switch {
	case left != "" && (right == "" || !sum(i-1) || sum(i+1)):
		return left, r.Text(i - 1)
	case right != "":
		return right, r.Text(i + 1)
	}
	return "", ""
}

func (r scanner) operator(i int) bool {
	return i >= 0 && i < len(r.Tokens) && r.Tokens[i].Kind == sqltree.Symbol && strings.Contains("+-*/%", r.Text(i))
}

// leftOf is the operand in front of the operator at which token i is. A
// parameter has its own from the operator in front of it.
func (r scanner) leftOf(i int) string {
	for least := i - maxChain; i >= max(2, least) && r.operator(i-1); i -= 2 {
		if r.param(i-2) != "" {
			continue
		}
		near := r.Tokens[max(0, i-1-maxPart) : i-1]
		from := sqltree.TermStart(r.SQL, near, len(near)-1)
		if from < 0 {
			return ""
		}
		return r.SQL[near[from].Start:near[len(near)-1].End]
	}
	return ""
}

// rightOf is leftOf for the operand behind the operator.
func (r scanner) rightOf(i int) string {
	for most := i + maxChain; i+2 < min(len(r.Tokens), most) && r.operator(i+1); i += 2 {
		if r.param(i+2) != "" && !r.Is(i+3, "::") {
			continue
		}
		near := r.Tokens[i+2 : min(len(r.Tokens), i+2+maxPart)]
		end := i + 2 + sqltree.TermEnd(r.SQL, near, 0)
		for end > i+2 && end < i+maxPart && r.Is(end, "::") {
			typ := end + 1
			if end = r.typeEnd(typ); end == typ {
				return ""
			}
		}
		if end == i+2 || end > len(r.Tokens) {
			return ""
		}
		return r.SQL[r.Tokens[i+2].Start:r.Tokens[end-1].End]
	}
	return ""
}
