package sqlapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Tester runs the declared tests of a function that is served.
type Tester interface {
	TestFunction(ctx context.Context, name string) ([]FunctionTest, error)
}

// FunctionTest is the outcome of a test of a function.
type FunctionTest struct {
	Name    string  `json:"name" doc:"As declared, or test 1 and so on."`
	Passed  bool    `json:"passed"`
	Message string  `json:"message,omitempty" doc:"Why it failed."`
	TookMS  float64 `json:"took_ms"`
	File    string  `json:"file,omitempty" doc:"Where the test is declared."`
	Line    int     `json:"line,omitempty"`
}

const (
	matchFunction = "/v1/functions/{name...}"
	verbTest      = ":test"
)

// test runs the tests of a function.
func (h *runtimeHandler) test(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	if h.Tester == nil {
		return newError(codeNotServed, "", "tests are not run here")
	}
	name := strings.TrimSuffix(r.PathValue("name"), verbTest)
	list := h.Inventory.Functions(who)
	i := slices.IndexFunc(list, func(f Function) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		names := make([]string, len(list))
		for i, f := range list {
			names[i] = f.Name
		}
		return newError(codeNoFunction, nearest.Hint(name, names, "GET /v1/functions lists them"), "there is no function %q",
			truncate.Ellipsis(name, maxShown))
	}
	if list[i].Status == StatusInitializing {
		return newError(errcode.Loading, "try again in a moment", "function %q waits for data that is being loaded",
			list[i].Name)
	}
	results, err := h.Tester.TestFunction(r.Context(), list[i].Name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, append([]FunctionTest{}, results...))
}

func testFunctionRoute(h *runtimeHandler) route {
	return route{
		method: "POST", path: "/v1/functions/{name}:test", match: matchFunction, verb: verbTest, id: "test_function",
		tag: "Functions", is: writes | scoped,
		summary: "Run the declared tests of a function.",
		about: "Runs them as a load does, in temporary forms of the function that are dropped afterwards; each may take 5 " +
			"seconds. A function without tests has an empty list.",
		params: []param{{"name", "path", "the function", text}},
		answers: []answer{{
			http.StatusOK, "The outcomes, in the order of the declaration.",
			asJSON(listOf(ref("FunctionTest")),
				`[{"name":"test 1","passed":false,"message":"want 2, got 3","took_ms":4.2,"file":"spicepod.yaml","line":14}]`),
		}},
		failures: failures{
			http.StatusBadRequest:         "A header is wrong.",
			http.StatusNotFound:           "No such function is served, or the caller may not see it.",
			http.StatusServiceUnavailable: "It waits for data that is being loaded.",
		},
		handle: withCaller(caller.HTTP, h.test),
	}
}
