package documents

import (
	"context"
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// listed answers with the rows of a statement.
func (t *toolset) listed(ctx context.Context, d *definition, in tools.Input) (any, error) {
	return t.list(ctx, d, in, nil)
}

// list answers with the rows of a statement with these values, at most as many as the argument limit.
func (t *toolset) list(ctx context.Context, d *definition, in tools.Input, further map[string]any) (any, error) {
	list, more, err := t.selected(ctx, d, in, further, limitOf(in, MaxEntries))
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	return map[string]any{d.Rows: list, "more": more}, nil
}

// limitOf returns the argument limit of a call.
func limitOf(in tools.Input, without int64) int {
	return int(min(number(in, "limit", without), MaxEntries))
}

// number returns an argument that is a whole number, which the schema bounds.
func number(in tools.Input, name string, without int64) int64 {
	if n, ok := in.Arguments[name].(json.Number); ok {
		if value, err := n.Int64(); err == nil && value >= 0 {
			return value
		}
	}
	return without
}

// listFolder answers list_folder_contents. A folder that has nothing does not exist.
func (t *toolset) listFolder(ctx context.Context, d *definition, in tools.Input) (any, error) {
	name, _ := in.Arguments["folder"].(string)
	folder := normalFolder(name)
	answer, err := t.list(ctx, d, in, map[string]any{"folder": folder})
	if err != nil {
		return nil, err
	}
	if list := answer.(map[string]any)[d.Rows].([]json.RawMessage); len(list) == 0 && folder != "" &&
		number(in, "offset", 0) == 0 {
		return nil, tools.NewError(errcode.NotFound, "there is no folder "+quoted(name), "folder_tree shows the folders")
	}
	return answer, nil
}

// normalFolder writes the path of a folder as the documents have it; see columns.go.
func normalFolder(name string) string {
	name = strings.Trim(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
	return name
}

// treeNode is a folder in the answer of folder_tree.
type treeNode struct {
	Name      string      `json:"name"`
	Path      string      `json:"path"`
	Documents int64       `json:"documents"`
	Total     int64       `json:"total"`
	Folders   []*treeNode `json:"folders"`
}

// folderTree answers folder_tree. The statement gives each folder after those that it is in.
func (t *toolset) folderTree(ctx context.Context, d *definition, in tools.Input) (any, error) {
	list, more, err := t.selected(ctx, d, in, nil, MaxEntries)
	if err != nil {
		return nil, err
	}
	root := &treeNode{Folders: []*treeNode{}}
	nodes := map[string]*treeNode{"": root}
	for _, row := range list {
		n := &treeNode{Folders: []*treeNode{}}
		if err := json.Unmarshal(row, n); err != nil {
			return nil, err
		}
		if n.Path == "" {
			root.Documents, root.Total = n.Documents, n.Total
			continue
		}
		above, name := path.Split(n.Path)
		n.Name = name
		if in := nodes[strings.TrimSuffix(above, "/")]; in != nil { // else it was cut off
			in.Folders = append(in.Folders, n)
			nodes[n.Path] = n
		}
	}
	return map[string]any{"documents": root.Documents, "total": root.Total, "folders": root.Folders, "more": more}, nil
}

// findByName answers find_by_name.
func (t *toolset) findByName(ctx context.Context, d *definition, in tools.Input) (any, error) {
	pattern, _ := in.Arguments["pattern"].(string)
	return t.list(ctx, d, in, map[string]any{"expression": globExpression(pattern)})
}

// globExpression returns the regular expression of a glob. A glob may mean two things where names have
// brackets or braces, as in `report [2024].pdf`: both are found. Without * and ? it matches every name
// that has it. A regular expression takes a time that is linear in the name, whatever the pattern.
func globExpression(glob string) string {
	glob = norm.NFC.String(glob)
	either := "(?:" + globPart(glob, true) + "|" + globPart(glob, false) + ")"
	if strings.ContainsAny(glob, "*?") {
		return "(?is)" + either
	}
	return "(?is).*" + either + ".*"
}

// globClass is a class of a glob at the beginning of a text: the ! of one that excludes, and its characters.
var globClass = regexp.MustCompile(`^\[([!^]?)(\]?[^\]]*)\]`)

// globPart converts a glob. Brackets and braces are special, or characters of the name.
func globPart(glob string, special bool) string {
	var b strings.Builder
	braces := 0
	for rest := glob; rest != ""; {
		class := globClass.FindStringSubmatch(rest)
		used := 1
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			used = 3
		case c == '*':
			b.WriteString(".*")
			used = len(rest) - len(strings.TrimLeft(rest, "*"))
		case c == '?':
			b.WriteByte('.')
		case c == '\\' && len(rest) > 1 && strings.IndexByte(`*?[]{}\`, rest[1]) >= 0:
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			used = 2
		case c == '\\': // of a path
			b.WriteByte('/')
		case special && class != nil && validClass(class[2]):
			b.WriteString("[" + strings.Replace(class[1], "!", "^", 1) + escapedClass(class[2]) + "]")
			used = len(class[0])
		case special && c == '{' && strings.Contains(rest, "}"):
			b.WriteString("(?:")
			braces++
		case special && c == ',' && braces > 0:
			b.WriteByte('|')
		case special && c == '}' && braces > 0:
			b.WriteByte(')')
			braces--
		default:
			_, used = utf8.DecodeRuneInString(rest)
			b.WriteString(regexp.QuoteMeta(rest[:used]))
		}
		rest = rest[used:]
	}
	return b.String() + strings.Repeat(")", braces)
}

// validClass reports whether a class has characters and its ranges ascend.
func validClass(class string) bool {
	_, err := regexp.Compile("[" + escapedClass(class) + "]")
	return class != "" && err == nil
}

// escapedClass escapes what only a class of a regular expression has.
func escapedClass(class string) string {
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`).Replace(class)
}

// quoted shows a text of a caller in a message.
func quoted(text string) string { return `"` + truncate.Ellipsis(text, 100) + `"` }
