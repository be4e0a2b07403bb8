package sqlapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/spiced-sql/spiced/internal/sql/format"
)

// pageHandler serves the page for people who open the address in a browser. It has no
// script, and no text of the Spicepod or of a caller but the Host header, which html/template
// escapes.
type pageHandler struct {
	inventory Inventory
	guard     *Guard
	version   string
	encrypted bool
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// pagePolicy permits the one style sheet that is in the page, by its hash.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

func pageRoute(h handler) route {
	return route{
		method: "GET", path: "/", match: "/{$}", id: "page", tag: "General", is: public,
		summary:  "Show a page with links, for browsers.",
		about:    "The page says whether the runtime is ready and links to the routes that browsers can open.",
		answers:  []answer{{http.StatusOK, "The page.", []content{{"text/html", nil, ""}}}},
		failures: failures{http.StatusNotFound: "The Accept header does not name text/html."},
		handle:   h,
	}
}

func (h *pageHandler) serve(w http.ResponseWriter, r *http.Request) error {
	if !format.AcceptsHTML(accept(r)) {
		return newError(codeNoRoute, "GET /v1/openapi.json lists the routes", "there is no route /")
	}
	origin := "http://" + r.Host
	if h.encrypted {
		origin = "https://" + r.Host
	}
	keys := h.guard.Keys != nil && h.guard.Keys().Enabled()
	version := h.version
	if keys {
		version = "" // for callers with a key, in /v1/status
	}
	var page bytes.Buffer
	err := pageTemplate.Execute(&page, map[string]any{
		"Style": template.CSS(pageCSS), "Ready": h.inventory.Ready(), "Version": version, "Keys": keys, "Origin": origin,
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err = w.Write(page.Bytes())
	return err
}
