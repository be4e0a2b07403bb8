package documents

import (
	"context"
	"encoding/json"
	"path"
	"regexp"
	"strings"

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
// brackets, as in `report [2024].pdf`: both are found. Without a wildcard it matches every name that has
// it. A regular expression takes a time that is linear in the name, whatever the pattern.
func globExpression(glob string) string {
	glob = norm.NFC.String(strings.ReplaceAll(glob, `\`, "/"))
	literal := globPart(glob, false)
	if !strings.ContainsAny(glob, "*?[") {
		return "(?is).*" + literal + ".*"
	}
	if !strings.ContainsAny(glob, "*?") && strings.Contains(glob, "[") {
		return "(?is).*(?:" + globPart(glob, true) + "|" + literal + ").*"
	}
	return "(?is)(?:" + globPart(glob, true) + "|" + literal + ")"
}

// globClass is a class of a glob.
var globClass = regexp.MustCompile(`^\[([!^]?)(\]?[^\]]*)\]`)

// globPart converts a glob; without classes, brackets are characters of the name.
func globPart(glob string, classes bool) string {
	var b strings.Builder
	for rest := glob; rest != ""; {
		class := globClass.FindStringSubmatch(rest)
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString("(?:.*/)?")
			rest = rest[3:]
		case rest[0] == '*':
			b.WriteString(".*")
			rest = strings.TrimLeft(rest, "*")
		case rest[0] == '?':
			b.WriteByte('.')
			rest = rest[1:]
		case classes && class != nil && validClass(class[2]):
			b.WriteByte('[')
			if class[1] != "" {
				b.WriteByte('^')
			}
			b.WriteString(escapedClass(class[2]) + "]")
			rest = rest[len(class[0]):]
		default:
			r := []rune(rest)[0]
			b.WriteString(regexp.QuoteMeta(string(r)))
			rest = rest[len(string(r)):]
		}
	}
	return b.String()
}

// validClass reports whether a class is not empty and its ranges ascend.
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
