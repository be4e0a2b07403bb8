package semantic

import (
	"fmt"
	"strconv"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// arguments are those of [engine.Metric], after the metrics.
var arguments = []string{"by", "grain", "where", "order_by", "limit"}

// Written returns what writes the queries of calls of [engine.Metric]. layer returns the layer that is
// in service.
func Written(layer func() *Layer) engine.Written {
	return func(c engine.WrittenCall) (string, error) {
		q, err := queryOf(c.Args)
		if err != nil {
			return "", err
		}
		return layer().SQL(q, c.Parse, Visible{
			Relation: func(r engine.Relation) bool {
				_, ok := c.Names.Relation("", r.Schema, r.Name)
				return ok
			},
			Function: func(name string) bool { return c.Names.Function(name) != nil },
		})
	}
}

// queryOf reads the arguments of a call. They decide which columns the result has, so that they
// are constants.
func queryOf(args []sqltree.Arg) (Query, error) {
	q := Query{Limit: -1}
	given := map[string]bool{}
	for i, a := range args {
		name := sqltree.Fold(a.Name)
		if i == 0 && name == "" {
			name = "metrics"
		}
		var err error
		switch name {
		case "metrics":
			q.Metrics, err = texts(name, a)
		case "by":
			q.By, err = texts(name, a)
		case "grain":
			q.Grain, err = text(name, a)
		case "where":
			q.Where, err = text(name, a)
		case "order_by":
			q.OrderBy, err = texts(name, a)
		case "limit":
			q.Limit, err = count(name, a)
		case "":
			err = invalid("write by := [...], where := '…'", "argument %d of %s has no name", i+1, engine.Metric)
		default:
			err = invalid(nearest.Hint(name, arguments, "the arguments are the metrics, "+lists(arguments)),
				"%s has no argument %q", engine.Metric, a.Name)
		}
		if err != nil {
			return q, err
		}
		if given[name] {
			return q, invalid("", "argument %q of %s is given twice", name, engine.Metric)
		}
		given[name] = true
	}
	return q, nil
}

// constant is the error of an argument that is not a constant.
func constant(name, form string) error {
	return invalid(fmt.Sprintf("write it in the statement: %s := %s", name, form),
		"argument %q of %s must be a constant, because it decides what the result has", name, engine.Metric)
}

func text(name string, a sqltree.Arg) (string, error) {
	if a.Kind != sqltree.StringLiteral {
		return "", constant(name, "'…'")
	}
	return a.Text, nil
}

// texts reads a text, or a list of them.
func texts(name string, a sqltree.Arg) ([]string, error) {
	if a.Kind == sqltree.StringLiteral {
		return []string{a.Text}, nil
	}
	if a.List == nil {
		return nil, constant(name, "['…', '…']")
	}
	var list []string
	for _, c := range a.List {
		if c.Kind != sqltree.StringLiteral || c.Cast != "" {
			return nil, constant(name, "['…', '…']")
		}
		list = append(list, c.Text)
	}
	return list, nil
}

func count(name string, a sqltree.Arg) (int64, error) {
	if a.Kind != sqltree.IntegerLiteral || a.Constant == nil {
		return 0, constant(name, "10")
	}
	n, err := strconv.ParseInt(a.Constant.Text, 10, 64)
	if err != nil || n < 0 {
		return 0, invalid("write a number of rows", "argument %q of %s is %s", name, engine.Metric, a.Constant.Text)
	}
	return n, nil
}
