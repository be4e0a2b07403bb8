package documents

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/net/html/charset"
)

// archive is an Office Open XML file: XML parts in a ZIP archive. Writers differ in the case
// and the slashes of names, and use the namespaces of the strict form or the transitional one:
// parts are found by the end of the type of a relationship, elements by their local names.
type archive struct {
	parts map[string]*zip.File // by their names in lower case
	left  int64                // bytes that may still be unpacked
}

func openArchive(data []byte) (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("the ZIP archive is damaged: %s", strings.TrimPrefix(err.Error(), "zip: "))
	}
	if len(z.File) > maxParts {
		return nil, fmt.Errorf("the ZIP archive has more than %d files", maxParts)
	}
	a := &archive{map[string]*zip.File{}, maxPacked}
	for _, f := range z.File {
		a.parts[partName(f.Name)] = f
	}
	return a, nil
}

func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

var errNoPart = errors.New("part is missing")

// errPacked is the error of an archive that grows beyond what a document needs.
var errPacked = fmt.Errorf("the ZIP archive has more than %d MB of data", maxPacked>>20)

// open returns a decoder of a part. The bytes of all parts count together.
func (a *archive) open(name string) (*xmlPart, error) {
	f := a.parts[partName(name)]
	if f == nil {
		return nil, fmt.Errorf("the %w: %s", errNoPart, name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("the part %s cannot be unpacked: %s", name, strings.TrimPrefix(err.Error(), "zip: "))
	}
	p := &xmlPart{name: name, close: r.Close}
	p.Decoder = xml.NewDecoder(&counted{r, &a.left})
	p.Strict = false // attributes without quotes and unknown entities are read
	p.CharsetReader = charset.NewReaderLabel
	return p, nil
}

// counted reads while a budget lasts.
type counted struct {
	r    io.Reader
	left *int64
}

func (c *counted) Read(p []byte) (int, error) {
	if *c.left <= 0 {
		return 0, errPacked
	}
	n, err := c.r.Read(p[:min(int64(len(p)), *c.left)])
	*c.left -= int64(n)
	return n, err
}

// maxNested is how deep elements may be nested. Documents of real writers stay below 100.
const maxNested = 1000

// xmlPart is a part that is read token by token. Document types and external entities are
// never resolved: encoding/xml has no support for them.
type xmlPart struct {
	*xml.Decoder
	name  string
	depth int
	close func() error
}

// next returns the next start, end or text, or nil at the end.
func (p *xmlPart) next() (xml.Token, error) {
	for {
		t, err := p.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil //nolint:nilnil // the end is no error
		case errors.Is(err, errPacked):
			return nil, errPacked
		case err != nil:
			return nil, fmt.Errorf("the part %s is damaged: %w", p.name, err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if p.depth++; p.depth > maxNested {
				return nil, fmt.Errorf("the part %s has elements in more than %d others", p.name, maxNested)
			}
			return t, nil
		case xml.EndElement:
			p.depth--
			return t, nil
		case xml.CharData:
			return t, nil
		}
	}
}

// skip skips the rest of the element that has begun.
func (p *xmlPart) skip() error {
	for level := p.depth - 1; p.depth > level; {
		t, err := p.next()
		if err != nil || t == nil {
			return err
		}
	}
	return nil
}

// each calls f for every element of a part that may be missing.
func (a *archive) each(name string, f func(p *xmlPart, e xml.StartElement) error) error {
	p, err := a.open(name)
	if errors.Is(err, errNoPart) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	for {
		t, err := p.next()
		if err != nil || t == nil {
			return err
		}
		if e, ok := t.(xml.StartElement); ok {
			if err := f(p, e); err != nil {
				return err
			}
		}
	}
}

// attribute returns an attribute by its local name.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// relation is a reference of a part to another, or to a URL.
type relation struct {
	kind, target string
	external     bool
}

// relations returns those of a part by their ids; "" is the archive itself.
func (a *archive) relations(part string) (map[string]relation, error) {
	all := map[string]relation{}
	name := path.Join(path.Dir(part), "_rels", path.Base(part)+".rels")
	if part == "" {
		name = "_rels/.rels"
	}
	err := a.each(name, func(_ *xmlPart, e xml.StartElement) error {
		if e.Name.Local != "Relationship" || len(all) >= maxParts {
			return nil
		}
		r := relation{
			kind: path.Base(attribute(e, "Type")), target: attribute(e, "Target"),
			external: strings.EqualFold(attribute(e, "TargetMode"), "External"),
		}
		if target := strings.ReplaceAll(r.target, `\`, "/"); !r.external {
			if r.target = path.Join(path.Dir(part), target); strings.HasPrefix(target, "/") {
				r.target = path.Clean(target[1:])
			}
		}
		all[attribute(e, "Id")] = r
		return nil
	})
	return all, err
}

// main returns the name of the main part, which writers may call as they like.
func (a *archive) main(usual string) (string, error) {
	all, err := a.relations("")
	if err != nil {
		return "", err
	}
	for _, r := range all {
		if r.kind == "officeDocument" && a.parts[partName(r.target)] != nil {
			return r.target, nil
		}
	}
	if a.parts[usual] == nil {
		return "", fmt.Errorf("the %w: %s", errNoPart, usual)
	}
	return usual, nil
}

// related returns the part of a kind among the relations of a part, or the usual one.
func related(all map[string]relation, kind, usual string) string {
	for _, r := range all {
		if r.kind == kind && !r.external {
			return r.target
		}
	}
	return usual
}

// properties reads the title, the author and the time from the core properties. A damaged
// part costs the properties only.
func (r *reader) properties(a *archive) {
	field := ""
	p, err := a.open("docProps/core.xml")
	if err != nil {
		return
	}
	defer p.close()
	for {
		t, err := p.next()
		if err != nil || t == nil {
			return
		}
		switch t := t.(type) {
		case xml.StartElement:
			field = t.Name.Local
		case xml.EndElement:
			field = ""
		case xml.CharData:
			switch text := string(t[:min(len(t), maxField)]); field {
			case "title":
				r.Metadata.Title += text
			case "creator":
				r.Metadata.Author += text
			case "language":
				r.Metadata.Language += text
			case "created":
				r.created(text)
			}
		}
	}
}
