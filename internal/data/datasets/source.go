package datasets

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

var paramFileFormat = spicepod.Param{Name: "file_format", Doc: "Format of the files, if their names do not show it."}

var httpParams = []spicepod.Param{
	paramFileFormat,
	{Name: "http_username", Doc: "User of basic authentication."},
	{Name: "http_password", Secret: true, Doc: "Password of basic authentication."},
	{Name: "http_headers", Type: spicepod.ParamTextMap, Secret: true, Doc: "More headers, by name."},
	{Name: "client_timeout", Type: spicepod.ParamDuration, Doc: "Of one download."},
	{Name: "max_retries", Type: spicepod.ParamInt, Doc: "How often a download is tried again."},
}

// connectors that this build serves, with their params beside the options of
// the file format.
var connectors = map[string][]spicepod.Param{
	"file":  {paramFileFormat, {Name: "file_extension", Doc: "Extension of the files of a folder."}},
	"http":  httpParams,
	"https": httpParams,
	"duckdb": {
		{Name: "open", Doc: "Path of the database; from names the table."},
		{Name: "duckdb_open", Doc: "Another name of open."},
		{Name: "table", Doc: "The table, if from is the path of the database."},
	},
}

const servedConnectors = "file, duckdb, http, https"

// source is the `from` of a dataset, read but not opened.
type source struct {
	connector string
	target    string // path, URL or table; it may hold a secret
	shown     string // from as written, for messages
	dir       string // folder that relative paths begin at
	secrets   []string
}

func (s source) remote() bool { return s.connector == "http" || s.connector == "https" }

// parseSource reads `from`: connector:path, connector://path or
// connector/path.
func parseSource(from spicepod.Text, dir string) (source, error) {
	text := strings.TrimSpace(from.Reveal())
	end := strings.IndexAny(text, ":/")
	name := ""
	if end > 0 {
		name = strings.ToLower(text[:end])
	}
	_, served := connectors[name]
	if end <= 0 || text[end] == '/' && !served {
		return source{}, newFault("from", "write connector:path, for example file:"+from.Raw, "%q names no connector", from.Raw)
	}
	if !served {
		hint := "served: " + servedConnectors
		if near := nearest.Name(name, []string{"file", "duckdb", "http", "https"}); near != "" {
			hint = "did you mean \"" + near + "\"? " + hint
		}
		return source{}, newFault("from", hint, "connector %q is not served by this build", shownConnector(from, name))
	}
	s := source{connector: name, shown: from.Raw, dir: dir, secrets: secretParts(from)}
	switch {
	case s.remote():
		s.target = text
	default:
		s.target = strings.TrimPrefix(text[end+1:], "//")
	}
	if s.target == "" || s.remote() && !strings.HasPrefix(strings.ToLower(text), name+"://") {
		return source{}, newFault("from", "write "+name+":path", "%q has no path", from.Raw)
	}
	return s, nil
}

// shownConnector keeps a secret in the connector's place out of messages.
func shownConnector(from spicepod.Text, name string) string {
	if from.Secret() {
		return from.Raw
	}
	return name
}

// absolute resolves a path of the Spicepod.
func (s source) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.dir, path)
}

// redact replaces every secret of the dataset in a text.
func (d *Dataset) redact(text string) string {
	for _, secret := range d.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// collectSecrets lists the secret parts of every Text in v, longest first.
func collectSecrets(v any) []string {
	var parts []string
	switch v := v.(type) {
	case spicepod.Text:
		parts = secretParts(v)
	case spicepod.Params:
		return collectSecrets(map[string]any(v))
	case map[string]any:
		for _, e := range v {
			parts = append(parts, collectSecrets(e)...)
		}
	case []any:
		for _, e := range v {
			parts = append(parts, collectSecrets(e)...)
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(parts)
}

// secretParts returns what the references in a text stand for: the value
// without the text around them. When that text is ambiguous, the parts are
// the longest there can be.
func secretParts(t spicepod.Text) []string {
	if !t.Secret() {
		return nil
	}
	value := t.Reveal()
	before, rest, _ := strings.Cut(t.Raw, "${")
	last := strings.LastIndexByte(rest, '}')
	if last < 0 {
		return []string{value}
	}
	middle := strings.TrimSuffix(strings.TrimPrefix(value, before), rest[last+1:])
	inner := rest[:last]
	parts := []string{middle}
	for { // text between two references
		_, after, ok := strings.Cut(inner, "}")
		if !ok {
			break
		}
		literal, next, ok := strings.Cut(after, "${")
		if !ok {
			break
		}
		if head, tail, found := strings.Cut(parts[len(parts)-1], literal); found && literal != "" {
			parts = append(parts[:len(parts)-1], head, tail)
		}
		inner = next
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}
