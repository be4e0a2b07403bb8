package spicepod

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// At returns the position of the value at a path such as
// functions[2].signature.args[0].type. If the file has no such value, it is the position
// of the nearest parent. A key that is not a plain word is written ["like this"].
func (p *Pod) At(path string) Position {
	if p.index == nil {
		return Position{}
	}
	return p.shown(p.find(path)).position()
}

// find returns where the value at a path, or the nearest parent, is declared.
func (p *Pod) find(path string) place {
	at, own := p.locate(path)
	return at.find(parsePath(own))
}

// declared returns the path of what declares the value at a path, in its own file.
func (p *Pod) declared(path string) string {
	_, own := p.locate(path)
	return own
}

// locate returns the index with the value at a path, and the path there, which differ for
// components of dependencies and tables of catalogs.
func (p *Pod) locate(path string) (*index, string) {
	path = p.declaredPath(path)
	list, rest, ok := strings.Cut(path, "[")
	number, below, _ := strings.Cut(rest, "]")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return p.index, path
	}
	for _, d := range p.dependencies {
		if s := d.lists[list]; n >= s.first && n < s.first+s.count {
			return d.index, fmt.Sprintf("%s[%d]%s", list, n-s.first, below)
		}
	}
	return p.index, path
}

// shown is the node whose position is reported for a place: for a `ref:` entry, the
// referenced component.
func (p *Pod) shown(found place) located {
	if target, ok := p.index.refs[found.value.node]; ok {
		return target
	}
	return found.value
}

// TextAt returns the position of byte offset in the text at path. It is exact for every
// YAML style. For text from body_ref or sql_ref the position is in that file. An offset
// beyond the text means its end.
func (p *Pod) TextAt(path string, offset int) Position {
	src, at := p.textOffset(path, offset)
	if src == nil {
		return p.At(path)
	}
	return src.position(at)
}

// Problem is a Problem at At(path).
func (p *Pod) Problem(path, message, hint string) Problem {
	if p.index == nil {
		return Problem{Path: path, Message: message, Hint: hint}
	}
	return p.shown(p.find(path)).problem(p.declared(path), message, hint)
}

// KeyProblem is Problem for the key of the value.
func (p *Pod) KeyProblem(path, message, hint string) Problem {
	if p.index == nil {
		return Problem{Path: path, Message: message, Hint: hint}
	}
	found := p.find(path)
	if !found.complete {
		return p.shown(found).problem(p.declared(path), message, hint)
	}
	return found.key.problem(p.declared(path), message, hint)
}

// ToolPath returns the path of the function or tool of that name, ignoring case, or "".
func (p *Pod) ToolPath(name string) string {
	for i := range p.Functions {
		if strings.EqualFold(p.Functions[i].Name, name) {
			return fmt.Sprintf("functions[%d]", i)
		}
	}
	for i := range p.Tools {
		if strings.EqualFold(p.Tools[i].Name, name) {
			return fmt.Sprintf("tools[%d]", i)
		}
	}
	for i := range p.Toolsets {
		if t := &p.Toolsets[i]; t.From != "" && slices.Contains(t.Tools, name) {
			return fmt.Sprintf("toolsets[%d]", i)
		}
	}
	return ""
}

// TextProblem is a Problem at TextAt(path, offset).
func (p *Pod) TextProblem(path string, offset int, message, hint string) Problem {
	src, at := p.textOffset(path, offset)
	if src == nil {
		return p.Problem(path, message, hint)
	}
	return src.problem(at, p.declared(path), message, hint)
}

// textOffset maps a byte of a text to a byte of the file.
func (p *Pod) textOffset(path string, offset int) (*source, int) {
	if p.index == nil {
		return nil, 0
	}
	found := p.find(path)
	if !found.complete {
		return nil, 0
	}
	if found.text != nil {
		return found.text, max(0, min(offset, len(found.text.text)))
	}
	value := p.index.resolve(found.value)
	if value.node == nil || value.node.Kind != yaml.ScalarNode {
		return nil, 0
	}
	return value.src, scalarOffset(value.src, value.node, offset)
}
