package sqlapi

import (
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

// Files are the files of the loaded Spicepods.
type Files interface {
	SpicepodFiles() []SpicepodFile
	// ReadSpicepodFile returns the text of one of them as it is now, with literal secrets masked, and how
	// many those are. The error is [spicepod.ErrNoFile], or one that the caller may see.
	ReadSpicepodFile(path string) (text string, masked int, err error)
}

// SpicepodFile is a file of a loaded Spicepod.
type SpicepodFile struct {
	Path     string `json:"path" doc:"As problems name it: relative to the folder of the Spicepod, if the file is below it."`
	Spicepod string `json:"spicepod" doc:"The name of the Spicepod that reads the file: that which is served, or a dependency."`
	Bytes    int64  `json:"bytes"`
	Main     bool   `json:"main" doc:"The spicepod.yaml of the Spicepod that is served."`
}

// headerMasked says how many secrets a text has masks for.
const headerMasked = "X-Spiced-Masked"

func (h *runtimeHandler) files(w http.ResponseWriter, _ *http.Request) error {
	if h.Files == nil {
		return newError(codeNotServed, "", "files are not shown here")
	}
	return writeJSON(w, http.StatusOK, append([]SpicepodFile{}, h.Files.SpicepodFiles()...))
}

func (h *runtimeHandler) file(w http.ResponseWriter, r *http.Request) error {
	if h.Files == nil {
		return newError(codeNotServed, "", "files are not shown here")
	}
	path := r.PathValue("path")
	text, masked, err := h.Files.ReadSpicepodFile(path)
	shown := truncate.Ellipsis(path, maxShown)
	switch {
	case errors.Is(err, spicepod.ErrNoFile):
		var names []string
		for _, f := range h.Files.SpicepodFiles() {
			names = append(names, f.Path)
		}
		return newError(codeNoFile, nearest.Hint(path, names, "GET /v1/spicepods/files lists them"),
			"the Spicepod has no file %q", shown)
	case err != nil:
		return newError(codeNoFile, "", "the file %q cannot be shown: %s", shown, err)
	}
	w.Header().Set(headerMasked, strconv.Itoa(masked))
	w.Header().Set("Cache-Control", "no-store")
	return writeTagged(w, r, "text/plain; charset=utf-8", []byte(text))
}

// jsonSchema is the JSON Schema of spicepod.yaml.
var jsonSchema = sync.OnceValue(spicepod.JSONSchema)

func (h *runtimeHandler) schema(w http.ResponseWriter, r *http.Request) error {
	return writeTagged(w, r, "application/schema+json", jsonSchema())
}

func listFilesRoute(h *runtimeHandler) route {
	return route{
		method: "GET", path: "/v1/spicepods/files", id: "list_spicepod_files", tag: "Spicepods", is: writes,
		summary: "List the files of the loaded Spicepods.",
		about: "Those of the Spicepod and of its dependencies, and what ref, body_ref and sql_ref name. .env files are not " +
			"listed. A key that may write is needed: the files show what others may not see.",
		answers: []answer{{
			http.StatusOK, "The files, that of the Spicepod first.",
			asJSON(listOf(ref("SpicepodFile")), `[{"path":"spicepod.yaml","spicepod":"shop","bytes":1840,"main":true}]`),
		}},
		failures: failures{http.StatusNotFound: "This process does not show files."},
		handle:   h.files,
	}
}

func getFileRoute(h *runtimeHandler) route {
	return route{
		method: "GET", path: "/v1/spicepods/files/{path}", match: "/v1/spicepods/files/{path...}", id: "get_spicepod_file",
		tag: "Spicepods", is: writes,
		summary: "Show a file of the loaded Spicepods.",
		about: "The text as it is on the disk now, also if it was not accepted. Secrets that are written literally are " +
			"replaced by `***`: the values of params and settings whose names are those of keys, passwords and keys in " +
			"URLs; references such as `${secrets:name}` stay. A file that is not YAML at the moment is masked by lines, " +
			"rather too much. Lines stay where they are. X-Spiced-Masked says how many were replaced. A file has at " +
			"most 4 MiB.",
		params: []param{{"path", "path", "one of those that GET /v1/spicepods/files lists", text}},
		answers: []answer{
			{http.StatusOK, "The text.", []content{{"text/plain", nil, "version: v1\nkind: Spicepod\nname: shop\n"}}},
			{http.StatusNotModified, "The client has this text: see If-None-Match.", nil},
		},
		failures: failures{
			http.StatusNotFound: "The Spicepod has no such file, it cannot be read now, or this process does not show files.",
		},
		handle: h.file,
	}
}

func schemaRoute(h *runtimeHandler) route {
	return route{
		method: "GET", path: "/v1/schema/spicepod.json", id: "spicepod_schema", tag: "Spicepods", is: public,
		summary: "Show the JSON Schema of spicepod.yaml.",
		about:   "The schema that `spiced schema` prints, for editors. No key is needed.",
		answers: []answer{
			{http.StatusOK, "The schema.", []content{{"application/schema+json", nil, ""}}},
			{http.StatusNotModified, "The client has it: see If-None-Match.", nil},
		},
		handle: h.schema,
	}
}
