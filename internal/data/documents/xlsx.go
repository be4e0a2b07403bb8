package documents

import (
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Limits of workbooks.
const (
	maxSheets  = 100
	maxStrings = 2_000_000
)

// xlsx writes each sheet as a Markdown table, and its rows as data. Sheets are read as a
// stream: a million empty rows take time, and no memory.
func (r *reader) xlsx() error {
	a, err := openArchive(r.data)
	if err != nil {
		return err
	}
	main, err := a.main("xl/workbook.xml")
	if err != nil {
		return err
	}
	r.properties(a)
	b := &workbook{archive: a}
	if b.relations, err = a.relations(main); err != nil {
		return err
	}
	if err := b.read(main); err != nil {
		return err
	}
	if len(b.sheets) > maxSheets {
		r.note("%d of the %d sheets are read", maxSheets, len(b.sheets))
		b.sheets = b.sheets[:maxSheets]
	}
	var out strings.Builder
	var tables []*table
	for _, s := range b.sheets {
		r.Metadata.Sheets = append(r.Metadata.Sheets, s.name)
		if s.part == "" {
			continue // a sheet with a chart alone
		}
		t, err := b.sheet(s)
		if err != nil {
			if len(b.sheets) == 1 {
				return err
			}
			r.note("the sheet %s is not read to its end: %s", s.name, err)
		}
		t.prune()
		tables = append(tables, t)
		if len(t.rows) > 0 {
			out.WriteString("## " + s.name + "\n\n")
			t.markdown(&out, r.options.Content)
			out.WriteByte('\n')
		}
	}
	filled := tables[:0]
	for _, t := range tables {
		if len(t.rows) > 0 || t.wide {
			filled = append(filled, t)
		}
	}
	r.Content = strings.TrimSpace(out.String())
	if len(filled) == 0 {
		return nil
	}
	return r.tables(filled)
}

// workbook is a workbook that is read.
type workbook struct {
	*archive
	relations map[string]relation
	sheets    []sheet
	strings   []string
	dates     []bool // by style: the numbers of the style are dates
	since1904 bool
}

type sheet struct{ name, part string }

func (b *workbook) read(main string) error {
	err := b.each(main, func(_ *xmlPart, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			if v := attribute(e, "date1904"); v != "" { // an extension has an element of this name, too
				b.since1904 = v == "1" || v == "true"
			}
		case "sheet":
			if len(b.sheets) >= maxParts {
				return nil
			}
			id := ""
			for _, a := range e.Attr { // r:id, not sheetId
				if a.Name.Local == "id" {
					id = a.Value
				}
			}
			s := sheet{name: attribute(e, "name")}
			switch r, ok := b.relations[id]; {
			case !ok:
				s.part = fmt.Sprintf("xl/worksheets/sheet%d.xml", len(b.sheets)+1)
			case r.kind == "worksheet":
				s.part = r.target
			}
			b.sheets = append(b.sheets, s)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := b.sharedStrings(related(b.relations, "sharedStrings", "xl/sharedStrings.xml")); err != nil {
		return err
	}
	return b.styles(related(b.relations, "styles", "xl/styles.xml"))
}

// sharedStrings reads the texts that cells refer to by number. Phonetic guides are no text.
func (b *workbook) sharedStrings(part string) error {
	if b.parts[partName(part)] == nil {
		return nil
	}
	p, err := b.open(part)
	if err != nil {
		return err
	}
	defer p.close()
	var text strings.Builder
	inText := false
	for {
		t, err := p.next()
		if err != nil || t == nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "si":
				text.Reset()
			case "t":
				inText = true
			case "rPh":
				if err := p.skip(); err != nil {
					return err
				}
			}
		case xml.CharData:
			if inText && text.Len() < maxCellText {
				text.Write(t)
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				inText = false
			case "si":
				if len(b.strings) >= maxStrings {
					return fmt.Errorf("the workbook has more than %d texts", maxStrings)
				}
				b.strings = append(b.strings, text.String())
			}
		}
	}
}

// notDate matches the parts of a number format that have letters and are no parts of a date:
// texts in quotes, colours and conditions in brackets, and characters after a backslash.
var notDate = regexp.MustCompile(`"[^"]*"|\[(?i:[^hms\]][^\]]*|[hms][a-z]*[^hms\]][^\]]*)\]|\\.|_.|\*.`)

// styles finds which styles show numbers as dates.
func (b *workbook) styles(part string) error {
	custom, inCells := map[string]bool{}, false
	return b.each(part, func(_ *xmlPart, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			code := notDate.ReplaceAllString(attribute(e, "formatCode"), "")
			if len(custom) < maxParts && !strings.EqualFold(code, "general") {
				custom[attribute(e, "numFmtId")] = strings.ContainsAny(strings.ToLower(code), "ymdhs")
			}
		case "cellStyleXfs":
			inCells = false
		case "cellXfs":
			inCells = true
		case "cellStyles", "dxfs":
			inCells = false
		case "xf":
			if inCells && len(b.dates) < 100_000 {
				id := attribute(e, "numFmtId")
				date, ok := custom[id]
				n, err := strconv.Atoi(id)
				b.dates = append(b.dates, ok && date || !ok && err == nil && builtinDate(n))
			}
		}
		return nil
	})
}

// builtinDate reports whether a number format that files do not define is one of dates
// (ECMA-376, 18.8.30).
func builtinDate(id int) bool {
	return id >= 14 && id <= 22 || id >= 27 && id <= 36 || id >= 45 && id <= 47 || id >= 50 && id <= 58
}

// cell is a cell that is read.
type cell struct {
	column      int
	kind, style string
	value, text strings.Builder
}

// sheet reads the rows of a sheet.
func (b *workbook) sheet(s sheet) (*table, error) {
	t := newTable(s.name)
	p, err := b.open(s.part)
	if err != nil {
		return t, err
	}
	defer p.close()
	var row []any
	var c *cell
	in := "" // v or t
	for !t.full {
		token, err := p.next()
		if err != nil || token == nil {
			return t, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "row":
				row = row[:0:0]
			case "c":
				c = &cell{column: column(attribute(e, "r"), len(row)), kind: attribute(e, "t"), style: attribute(e, "s")}
			case "v", "t":
				in = e.Name.Local
			case "f", "rPh": // a formula; its value is there too
				if err := p.skip(); err != nil {
					return t, err
				}
			}
		case xml.CharData:
			switch {
			case c == nil || c.value.Len()+c.text.Len() > maxCellText:
			case in == "v":
				c.value.Write(e)
			case in == "t":
				c.text.Write(e)
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "v", "t":
				in = ""
			case "c":
				if c != nil {
					if v := b.value(c); v != nil && c.column >= maxColumns {
						t.wide = true
					} else if v != nil {
						for len(row) <= c.column {
							row = append(row, nil)
						}
						row[c.column] = v
					}
				}
				c = nil
			case "row":
				t.add(row)
				row = nil
			}
		}
	}
	return t, nil
}

// column returns the column of a reference such as AB12, from 0; cells may have none.
func column(ref string, otherwise int) int {
	n := 0
	for _, c := range ref {
		if c |= 0x20; c < 'a' || c > 'z' || n > maxColumns {
			break
		}
		n = n*26 + int(c-'a') + 1
	}
	if n == 0 {
		return otherwise
	}
	return n - 1
}

// value returns the value of a cell; nil if it is empty.
func (b *workbook) value(c *cell) any {
	text := c.value.String()
	switch c.kind {
	case "s":
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 0 || n >= len(b.strings) {
			return nil
		}
		return textOrNil(b.strings[n])
	case "inlineStr":
		return textOrNil(c.text.String() + text)
	case "b":
		return strings.TrimSpace(text) == "1" || strings.TrimSpace(text) == "true"
	case "e", "str", "d":
		return textOrNil(text)
	}
	v := number(strings.TrimSpace(text))
	if v == nil {
		return textOrNil(text)
	}
	style, err := strconv.Atoi(c.style)
	if err != nil || style < 0 || style >= len(b.dates) || !b.dates[style] {
		return v
	}
	serial, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || serial < 0 || serial > 2958466 {
		return v
	}
	return b.date(serial)
}

func textOrNil(text string) any {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return text
}

// date returns the date, the time or both of a serial number: days since 1899-12-30, or since
// 1904-01-01. In the former, day 60 is a 29th of February 1900 that never was, and the days
// before it are one later than they seem.
func (b *workbook) date(serial float64) string {
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case b.since1904:
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case serial < 60:
		epoch = epoch.AddDate(0, 0, 1)
	}
	days, part := math.Modf(serial)
	at := epoch.AddDate(0, 0, int(days)).Add(time.Duration(math.Round(part*86400)) * time.Second)
	switch {
	case part == 0:
		return at.Format(time.DateOnly)
	case days == 0:
		return at.Format(time.TimeOnly)
	}
	return at.Format("2006-01-02T15:04:05")
}
