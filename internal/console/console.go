// Package console serves the console: the pages under /ui/ that show and do in a browser what the
// HTTP API offers. Its sources are in src/ (TypeScript, built by Vite); dist/ is what `npm run build`
// makes of them, committed so that `go build` needs no Node.js. Each file in dist/ is compressed,
// which is how nearly every browser wants it. The build tag no_ui leaves the console out.
package console

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// Prefix is the path under which the console is served.
const Prefix = "/ui/"

// policy lets a page run and show what this server sends, and nothing else: no script or style that
// is written in the page, no frame, no other host. Text that would become HTML is refused by the
// browser (Trusted Types), so that no name or result can become a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types spiced"

// Included reports whether the program was built with the console.
func Included() bool { return files != nil }

// Serve answers with a file of the console; name is its path below [Prefix]. Paths that have no file
// are addresses of pages, which the console itself shows. The error is [fs.ErrNotExist] if there is
// no such file, or no console.
func Serve(w http.ResponseWriter, r *http.Request, name string) error {
	if files == nil {
		return fs.ErrNotExist
	}
	asset := strings.HasPrefix(name, "assets/")
	if !asset {
		name = "index.html"
	}
	packed, err := fs.ReadFile(files, "dist/"+name+".gz")
	if err != nil {
		return errors.Join(fs.ErrNotExist, err)
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy) // that of a worker comes with its file
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Vary", "Accept-Encoding")
	if asset {
		h.Set("Cache-Control", "public, max-age=31536000, immutable") // its name has a hash of it
	} else {
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
	}
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		_, err = w.Write(packed)
		return err
	}
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, text)
	return err
}

// View returns a view that MCP clients show inside chats, as one HTML file: "result" or "cards". The
// error is [fs.ErrNotExist] if there is no such view, or no console.
func View(name string) (string, error) {
	if files == nil {
		return "", fs.ErrNotExist
	}
	packed, err := files.Open("dist/apps/" + name + ".html.gz")
	if err != nil {
		return "", err
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		return "", err
	}
	html, err := io.ReadAll(text)
	return string(html), err
}
