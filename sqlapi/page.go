package sqlapi

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/spiced-sql/spiced/internal/console"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// pageRoutes serve the console. It needs no key: it has nothing of the Spicepod in it, and calls
// the other routes with the key that its user enters.
func pageRoutes() []route {
	html := []content{{"text/html", nil, ""}}
	file := append(html,
		content{"text/javascript", nil, ""}, content{"text/css", nil, ""}, content{"image/svg+xml", nil, ""})
	return []route{
		{
			method: "GET", path: "/ui/{page...}", id: "console", tag: "General", is: public,
			summary: "Show the console, for browsers.",
			about: "The console shows and does in a browser what this API offers, by calls of this API alone. Its " +
				"files are below /ui/assets/; every other path is the address of a page of it.",
			params:   []param{{"page", "path", "a page or a file of the console", text}},
			answers:  []answer{{http.StatusOK, "The page or the file.", file}},
			failures: failures{http.StatusNotFound: "There is no such file, or the program was built without the console."},
			handle:   serveConsole,
		},
		{
			method: "GET", path: "/", match: "/{$}", id: "page", tag: "General", is: public,
			summary:  "Lead browsers to the console.",
			answers:  []answer{{http.StatusFound, "To /ui/.", html}},
			failures: failures{http.StatusNotFound: "The Accept header does not name text/html, or there is no console."},
			handle:   leadToConsole,
		},
	}
}

func serveConsole(w http.ResponseWriter, r *http.Request) error {
	err := console.Serve(w, r, r.PathValue("page"))
	if errors.Is(err, fs.ErrNotExist) {
		hint := "the console is at /ui/"
		if !console.Included() {
			hint = "this program was built without the console (tag no_ui)"
		}
		return newError(codeNoRoute, hint, "there is no file %s", r.URL.Path)
	}
	return err
}

func leadToConsole(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Vary", "Accept")
	if !console.Included() || !format.AcceptsHTML(accept(r)) {
		return newError(codeNoRoute, "GET /v1/openapi.json lists the routes", "there is no route /")
	}
	http.Redirect(w, r, console.Prefix, http.StatusFound)
	return nil
}
