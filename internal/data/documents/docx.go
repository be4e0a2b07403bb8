package documents

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// docx writes the body of a Word document as Markdown. It reads the text as a reader of the
// document sees it with all changes accepted: what is deleted or moved away is left out.
func (r *reader) docx() error {
	a, err := openArchive(r.data)
	if err != nil {
		return err
	}
	main, err := a.main("word/document.xml")
	if err != nil {
		return err
	}
	r.properties(a)
	w := &word{archive: a, out: &strings.Builder{}, limit: r.options.Content}
	if w.relations, err = a.relations(main); err != nil {
		return err
	}
	err = w.styles(related(w.relations, "styles", "word/styles.xml"))
	if err != nil {
		r.note("headings are not marked: %s", err)
	}
	w.ordered, err = w.numbering(related(w.relations, "numbering", "word/numbering.xml"))
	if err != nil {
		r.note("lists are not numbered: %s", err)
	}
	if err := w.body(main); err != nil {
		return err
	}
	for _, kind := range []string{"footnotes", "endnotes"} {
		if err := w.notes(kind); err != nil {
			r.note("the %s are not read: %s", kind, err)
		}
	}
	r.Content = strings.TrimSpace(w.out.String())
	if w.full() {
		r.cut()
	}
	if r.Metadata.Title == "" {
		r.Metadata.Title = w.title
	}
	return nil
}

// word is a document that is read.
type word struct {
	*archive
	relations map[string]relation
	levels    map[string]int  // of headings, by style; titleLevel: the title of the document
	lists     map[string]list // by style
	ordered   map[string]bool
	out       *strings.Builder
	limit     int
	title     string

	open   []*paragraph // those of text boxes are in others
	tables []*grid
	link   string // that the text is in
}

const titleLevel = -1

// list is the list that a paragraph is in, at a level.
type list struct {
	number string
	indent int
}

type paragraph struct {
	text  strings.Builder
	level int  // of a heading
	list  list // without a number: none
}

// grid is a table that is read: the text of its cells.
type grid struct {
	rows  [][]any
	cells int
	cell  []string // the paragraphs of the cell
	span  int
	below bool // the cell continues the one above
}

// full reports that there is text enough.
func (w *word) full() bool { return w.out.Len() > w.limit }

// skipped are elements that are no text of the document: what was deleted or moved away,
// and instructions of fields.
var skipped = map[string]bool{
	"del": true, "moveFrom": true, "instrText": true, "delText": true, "delInstrText": true,
	"pPrChange": true, "rPrChange": true, "tblPrChange": true, "sectPrChange": true, "tcPrChange": true, "trPrChange": true,
}

func (w *word) body(name string) error {
	p, err := w.archive.open(name)
	if err != nil {
		return err
	}
	defer p.close()
	texts := 0         // elements with text around the token
	var branched []int // the depths of AlternateContent, if a branch of it was read
	for !w.full() {
		t, err := p.next()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case nil:
			return nil
		case xml.StartElement:
			// AlternateContent has the same content for newer programs and for older ones.
			again := false
			for len(branched) > 0 && branched[len(branched)-1] >= p.depth {
				branched = branched[:len(branched)-1]
			}
			if t.Name.Local == "Choice" || t.Name.Local == "Fallback" {
				if again = len(branched) > 0 && branched[len(branched)-1] == p.depth-1; !again {
					branched = append(branched, p.depth-1)
				}
			}
			if again || skipped[t.Name.Local] {
				if err := p.skip(); err != nil {
					return err
				}
				continue
			}
			if t.Name.Local == "t" {
				texts++
			}
			w.start(t)
		case xml.EndElement:
			if t.Name.Local == "t" {
				texts--
			}
			w.end(t.Name.Local)
		case xml.CharData:
			if texts > 0 {
				w.write(string(t))
			}
		}
	}
	return nil
}

func (w *word) write(text string) {
	if len(w.open) > 0 {
		w.open[len(w.open)-1].text.WriteString(text)
	}
}

func (w *word) start(e xml.StartElement) {
	var p *paragraph
	if len(w.open) > 0 {
		p = w.open[len(w.open)-1]
	}
	value := attribute(e, "val")
	switch e.Name.Local {
	case "p":
		w.open = append(w.open, &paragraph{})
	case "tab", "ptab":
		if p != nil && len(e.Attr) == 0 || e.Name.Local == "ptab" { // with attributes, it is a tab stop
			w.write("\t")
		}
	case "br", "cr":
		w.write("\n")
	case "noBreakHyphen":
		w.write("-")
	case "footnoteReference", "endnoteReference":
		w.write("[^" + e.Name.Local[:1] + attribute(e, "id") + "]")
	case "hyperlink":
		if r := w.relations[attribute(e, "id")]; r.external {
			w.link = r.target
			w.write("[")
		}
	case "tbl":
		w.tables = append(w.tables, &grid{})
	}
	if p != nil {
		p.start(w, e.Name.Local, value)
	}
	if len(w.tables) > 0 {
		w.tables[len(w.tables)-1].start(e.Name.Local, value)
	}
}

func (p *paragraph) start(w *word, name, value string) {
	switch name {
	case "pStyle":
		p.level, p.list = w.levels[value], w.lists[value]
	case "outlineLvl":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < 9 {
			p.level = n + 1
		}
	case "ilvl":
		p.list.indent, _ = strconv.Atoi(value)
	case "numId":
		if p.list.number = value; value == "0" {
			p.list.number = ""
		}
	}
}

func (g *grid) start(name, value string) {
	switch name {
	case "tr":
		g.rows = append(g.rows, nil)
	case "tc":
		g.cell, g.span, g.below = nil, 1, false
	case "gridSpan":
		if n, err := strconv.Atoi(value); err == nil {
			g.span = max(1, min(n, maxColumns))
		}
	case "vMerge":
		g.below = value != "restart"
	}
}

func (w *word) end(name string) {
	switch name {
	case "hyperlink":
		if w.link != "" {
			w.write("](" + w.link + ")")
			w.link = ""
		}
	case "p":
		if len(w.open) > 0 {
			p := w.open[len(w.open)-1]
			w.open = w.open[:len(w.open)-1]
			w.paragraph(p)
		}
	case "tc":
		if len(w.tables) > 0 {
			w.tables[len(w.tables)-1].end()
		}
	case "tbl":
		if len(w.tables) > 0 {
			g := w.tables[len(w.tables)-1]
			w.tables = w.tables[:len(w.tables)-1]
			w.table(g)
		}
	}
}

// end ends a cell.
func (g *grid) end() {
	if len(g.rows) == 0 || g.cells >= maxCells {
		return
	}
	last := &g.rows[len(g.rows)-1]
	var text any
	if !g.below {
		text = strings.Join(g.cell, "\n")
	}
	for ; g.span > 0 && len(*last) < maxColumns; g.span-- {
		*last = append(*last, text)
		text = nil
		g.cells++
	}
	g.cell = nil
}

// paragraph ends a paragraph: it is a line of a cell, or a block of the document.
func (w *word) paragraph(p *paragraph) {
	text := strings.TrimSpace(p.text.String())
	if text == "" {
		return
	}
	indent := max(0, min(p.list.indent, 8))
	switch {
	case len(w.tables) > 0:
		g := w.tables[len(w.tables)-1]
		g.cell = append(g.cell, text)
		return
	case p.level == titleLevel:
		if w.title == "" {
			w.title = strings.ReplaceAll(text, "\n", " ")
		}
		text = "# " + strings.ReplaceAll(text, "\n", " ")
	case p.level > 0:
		text = strings.Repeat("#", min(p.level, 6)) + " " + strings.ReplaceAll(text, "\n", " ")
		if w.title == "" && p.level == 1 {
			w.title = text[2:]
		}
	case p.list.number != "":
		mark := "- "
		if w.ordered[p.list.number+"/"+strconv.Itoa(indent)] {
			mark = "1. "
		}
		w.out.WriteString(strings.Repeat("   ", indent) + mark + strings.ReplaceAll(text, "\n", " ") + "\n")
		return
	}
	w.block(text)
}

// block writes a block with a blank line before and after.
func (w *word) block(text string) {
	if before := w.out.String(); before != "" && !strings.HasSuffix(before, "\n\n") {
		w.out.WriteByte('\n')
	}
	w.out.WriteString(text + "\n\n")
}

// table ends a table. One in a cell is text of the cell.
func (w *word) table(g *grid) {
	t := &table{rows: g.rows}
	if len(w.tables) > 0 {
		outer := w.tables[len(w.tables)-1]
		for _, row := range t.rows {
			var parts []string
			for _, v := range row {
				if text := cellText(v); text != "" {
					parts = append(parts, text)
				}
			}
			outer.cell = append(outer.cell, strings.Join(parts, " | "))
		}
		return
	}
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row))
	}
	if width == 0 {
		return
	}
	var b strings.Builder
	markdownRow(&b, t.rows[0], width)
	b.WriteString("|" + strings.Repeat(" --- |", width) + "\n")
	for _, row := range t.rows[1:] {
		if b.Len() > w.limit {
			break
		}
		markdownRow(&b, row, width)
	}
	w.block(strings.TrimSuffix(b.String(), "\n"))
}

// styles reads the levels of headings by style: by the outline level, else by the name, of the
// style or of one that it is based on. The lists of styles are found likewise.
func (w *word) styles(part string) error {
	levels, lists, based := map[string]int{}, map[string]list{}, map[string]string{}
	w.levels, w.lists = levels, lists
	style := ""
	err := w.each(part, func(_ *xmlPart, e xml.StartElement) error {
		value := attribute(e, "val")
		switch e.Name.Local {
		case "style":
			style = attribute(e, "styleId")
			if t := attribute(e, "type"); t != "" && t != "paragraph" || len(levels) > maxParts {
				style = ""
			}
		case "name":
			name := strings.ToLower(value)
			if n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(name, "heading"))); err == nil && style != "" &&
				strings.HasPrefix(name, "heading") && n > 0 {
				levels[style] = n
			} else if name == "title" && style != "" {
				levels[style] = titleLevel
			}
		case "outlineLvl":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < 9 && style != "" && levels[style] == 0 {
				levels[style] = n + 1
			}
		case "numId", "ilvl":
			l := lists[style]
			if n, err := strconv.Atoi(value); err == nil && e.Name.Local == "ilvl" {
				l.indent = n
			} else if value != "0" {
				l.number = value
			}
			if style != "" {
				lists[style] = l
			}
		case "basedOn":
			if style != "" {
				based[style] = value
			}
		}
		return nil
	})
	for s := range based {
		for at, steps := based[s], 0; steps < 10 && at != ""; steps++ {
			if levels[s] == 0 {
				levels[s] = levels[at]
			}
			if lists[s].number == "" {
				lists[s] = lists[at]
			}
			at = based[at]
		}
	}
	return err
}

// numbering returns which lists are numbered: by list/level.
func (w *word) numbering(part string) (map[string]bool, error) {
	numbered, lists := map[string]bool{}, map[string]string{} // by abstract list/level; list → abstract list
	abstract, level, list := "", "", ""
	err := w.each(part, func(_ *xmlPart, e xml.StartElement) error {
		value := attribute(e, "val")
		switch e.Name.Local {
		case "abstractNum":
			abstract, list = attribute(e, "abstractNumId"), ""
		case "lvl":
			level = attribute(e, "ilvl")
		case "numFmt":
			if value != "bullet" && value != "none" && list == "" && len(numbered) < maxParts {
				numbered[abstract+"/"+level] = true
			}
		case "num":
			list = attribute(e, "numId")
		case "abstractNumId":
			if list != "" && len(lists) < maxParts {
				lists[list] = value
			}
		}
		return nil
	})
	ordered := map[string]bool{}
	for list, abstract := range lists {
		for n := range 9 {
			if numbered[fmt.Sprintf("%s/%d", abstract, n)] {
				ordered[fmt.Sprintf("%s/%d", list, n)] = true
			}
		}
	}
	return ordered, err
}

// notes appends the footnotes or endnotes.
func (w *word) notes(kind string) error {
	name := related(w.relations, kind, "word/"+kind+".xml")
	if w.parts[partName(name)] == nil || w.full() {
		return nil
	}
	p, err := w.archive.open(name)
	if err != nil {
		return err
	}
	defer p.close()
	var text strings.Builder
	id, inText := "", false
	for !w.full() {
		t, err := p.next()
		if err != nil || t == nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch {
			case skipped[t.Name.Local]:
				if err := p.skip(); err != nil {
					return err
				}
			case t.Name.Local == kind[:len(kind)-1]:
				id = attribute(t, "id")
				text.Reset()
			case t.Name.Local == "t":
				inText = true
			}
		case xml.CharData:
			if inText {
				text.Write(t)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				inText = false
			case kind[:len(kind)-1]:
				if note := strings.TrimSpace(text.String()); note != "" {
					w.block("[^" + kind[:1] + id + "]: " + note)
				}
			}
		}
	}
	return nil
}
