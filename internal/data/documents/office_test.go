package documents_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/data/documents"
	"github.com/spiced-sql/spiced/internal/test/cputime"
	"github.com/spiced-sql/spiced/internal/test/doctest"
	"github.com/spiced-sql/spiced/internal/test/full"
)

func text(s string) string { return "<w:r><w:t>" + s + "</w:t></w:r>" }
func para(s string) string { return "<w:p>" + s + "</w:p>" }

func TestWord(t *testing.T) {
	const styles = `<w:styles ` + doctest.WordSpaces + `><w:style w:styleId="H"><w:name w:val="heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Sub"><w:basedOn w:val="H"/></w:style>
<w:style w:type="paragraph"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="LB"><w:name w:val="List"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="LB2"><w:basedOn w:val="LB"/></w:style><w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style></w:styles>`
	const numbering = `<w:numbering ` + doctest.WordSpaces + `><w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num></w:numbering>`
	styled := func(style, s string) string {
		return para(`<w:pPr><w:pStyle w:val="` + style + `"/></w:pPr>` + text(s))
	}
	item := func(level, s string) string {
		return para(`<w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="1"/></w:numPr></w:pPr>` + text(s))
	}
	cell := func(s string) string { return "<w:tc>" + s + "</w:tc>" }
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"runs":           {para(text("Ga") + `<w:proofErr/>` + text("te ") + `<w:r><w:t xml:space="preserve"> 4</w:t><w:tab/><w:br/></w:r>` + text("x")), "Gate  4\t\nx"},
		"headings":       {styled("T", "Manual") + styled("H", "Pay") + styled("Sub", "Hours") + para(text("x")), "# Manual\n\n## Pay\n\n## Hours\n\nx"},
		"lists":          {item("0", "one") + item("1", "two") + para(`<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>`+text("no level")), "1. one\n   - two\n1. no level"},
		"lists by style": {styled("LB", "one") + styled("LB2", "two"), "1. one\n1. two"},
		"table": {
			"<w:tbl><w:tr>" + cell(para(text("rank"))) + cell(`<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>`+para(text("pay"))) + "</w:tr><w:tr>" +
				cell(`<w:tcPr><w:vMerge w:val="restart"/></w:tcPr>`+para(text("captain"))) + cell(para(text("a|b"))+para(text("c"))) + "</w:tr><w:tr>" +
				cell(`<w:tcPr><w:vMerge/></w:tcPr>`+para("")) + cell(para(text("9"))) + "</w:tr></w:tbl>",
			"| rank | pay |  |\n| --- | --- | --- |\n| captain | a\\|b<br>c |  |\n|  | 9 |  |",
		},
		"nested table": {"<w:tbl><w:tr>" + cell("<w:tbl><w:tr>"+cell(para(text("in")))+cell(para(text("ner")))+"</w:tr></w:tbl>"+para(text("out"))) +
			cell(para(text("x"))) + "</w:tr></w:tbl>", "| in \\| ner<br>out | x |\n| --- | --- |"},
		"tracked changes": {para(text("Gate ") + "<w:del>" + `<w:r><w:delText>3</w:delText><w:t>3</w:t></w:r>` + "</w:del><w:ins>" + text("4") + "</w:ins>"), "Gate 4"},
		"moved":           {para("<w:moveFrom>" + text("old") + "</w:moveFrom><w:moveTo>" + text("new") + "</w:moveTo>"), "new"},
		"text box, twice in the file": {para(text("before ") + `<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:txbxContent>` + para(text("box")) +
			`</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>` + para(text("box")) + `</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>` + text("after")), "box\n\nbefore after"},
		"two boxes":              {para(strings.Repeat(`<mc:AlternateContent><mc:Choice>`+text("a")+`</mc:Choice><mc:Choice>`+text("b")+`</mc:Choice><mc:Fallback>`+text("c")+`</mc:Fallback></mc:AlternateContent>`, 2)), "aa"},
		"a fallback alone":       {para(`<mc:AlternateContent><mc:Fallback>` + text("old") + `</mc:Fallback></mc:AlternateContent>`), "old"},
		"content control":        {`<w:sdt><w:sdtContent>` + para(text("chosen")) + `</w:sdtContent></w:sdt>`, "chosen"},
		"field":                  {para(`<w:r><w:instrText>PAGEREF _Toc1</w:instrText></w:r>` + text("12")), "12"},
		"link":                   {para(`<w:hyperlink r:id="rId9">` + text("site") + `</w:hyperlink>`), "[site](https://example.com/)"},
		"a link in the document": {para(`<w:hyperlink w:anchor="x">` + text("part") + `</w:hyperlink>`), "part"},
		"footnote":               {para(text("Rest") + `<w:r><w:footnoteReference w:id="2"/></w:r>`), "Rest[^f2]\n\n[^f2]: ten hours"},
		"math":                   {para(`<m:oMath xmlns:m="urn:m"><m:r><m:t>a+b</m:t></m:r></m:oMath>`), "a+b"},
		"empty":                  {"", ""},
	} {
		more := []string{
			"word/styles.xml", styles, "word/numbering.xml", numbering,
			"word/_rels/document.xml.rels", `<ns0:Relationships xmlns:ns0="urn:x"><ns0:Relationship Id="rId9" Target="https://example.com/" TargetMode="External"/></ns0:Relationships>`,
		}
		if name == "footnote" {
			more = append(more, "word/footnotes.xml", `<w:footnotes `+doctest.WordSpaces+`><w:footnote w:id="2">`+para(text("ten ")+text("hours"))+`</w:footnote></w:footnotes>`)
		}
		if d := read(t, "a.docx", doctest.Word(t, c.body, more...)); d.Content != c.want || len(d.Metadata.Notes) > 0 {
			t.Errorf("%s:\n%q, want\n%q %v", name, d.Content, c.want, d.Metadata.Notes)
		}
	}
}

// The main part may have any name, and the strict form other namespaces and relations.
func TestStrictWord(t *testing.T) {
	data := doctest.Archive(t, map[string]string{
		"_rels/.rels":        `<Relationships><Relationship Id="a" Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" Target="/word/Document2.xml"/></Relationships>`,
		`word\document2.xml`: `<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"><w:body><w:p><w:r><w:t>strict &e;</w:t></w:r></w:p></w:body></w:document>`,
		"docProps/core.xml":  `<cp:coreProperties xmlns:cp="a" xmlns:dc="b" xmlns:dcterms="c"><dc:title>T</dc:title><dc:creator>Ada</dc:creator><dcterms:created>2026-03-01T08:00:00Z</dcterms:created></cp:coreProperties>`,
	})
	d := read(t, "a.docx", data)
	if d.Content != "strict &e;" || d.Metadata.Title != "T" || d.Metadata.Author != "Ada" || d.Metadata.Created != "2026-03-01T08:00:00Z" {
		t.Errorf("%+v", d)
	}
}

const sheetStyles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[$-409]d\-mmm\-yyyy;@"/><numFmt numFmtId="165" formatCode="0.00 &quot;days&quot;"/>` +
	`<numFmt numFmtId="166" formatCode="[Red]0"/><numFmt numFmtId="167" formatCode="[h]:mm"/></numFmts>` +
	`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/>` +
	`<xf numFmtId="167"/><xf numFmtId="22"/></cellXfs></styleSheet>`

func TestExcel(t *testing.T) {
	header := func(names ...string) string {
		row := "<row>"
		for _, n := range names {
			row += `<c t="inlineStr"><is><t>` + n + `</t></is></c>`
		}
		return row + "</row>"
	}
	for name, c := range map[string]struct{ rows, want string }{
		"types": {
			header("n", "f", "b", "s", "e", "none") + `<row><c><v>3</v></c><c><v>0.10000000000000001</v></c><c t="b"><v>1</v></c><c t="s"><v>1</v></c><c t="e"><v>#N/A</v></c><c/></row>`,
			`[{"n":3,"f":0.1,"b":true,"s":"NA","e":"#N/A","none":null}]`,
		},
		"dates": {
			header("a", "b", "c", "d", "e", "f", "g") + `<row><c s="1"><v>45000</v></c><c s="2"><v>59</v></c><c s="3"><v>2.5</v></c><c s="4"><v>7</v></c><c s="5"><v>0.5</v></c><c s="6"><v>45000.25</v></c><c s="1"><v>61</v></c></row>`,
			`[{"a":"2023-03-15","b":"1900-02-28","c":2.5,"d":7,"e":"12:00:00","f":"2023-03-15T06:00:00","g":"1900-03-01"}]`,
		},
		"references":      {header("a", "b", "c") + `<row r="9"><c r="C9"><v>3</v></c></row>`, `[{"a":null,"b":null,"c":3}]`},
		"a title above":   {`<row><c t="inlineStr"><is><t>PROGRESS</t></is></c></row>` + header("Task", "", "Owner", "Status") + header("Design", "", "Ana", "Done"), `[{"Task":"Design","Owner":"Ana","Status":"Done"}]`},
		"formula":         {header("a", "b") + `<row><c><f>SUM(A1)</f><v>4</v></c><c t="str"><f>"x"</f><v>x</v></c></row>`, `[{"a":4,"b":"x"}]`},
		"text as number":  {header("a", "b") + header("007", "1"), `[{"a":"007","b":"1"}]`},
		"rich, phonetic":  {header("a", "b") + `<row><c t="s"><v>0</v></c><c t="s"><v>2</v></c></row>`, `[{"a":"Tokyo","b":null}]`},
		"shared, missing": {header("a", "b") + `<row><c t="s"><v>99</v></c><c t="s"></c></row>`, ``},
		"twice":           {header("a", "A", "a") + header("1", "2", "3"), `[{"a":"1","A_2":"2","a_3":"3"}]`},
		"empty":           {"", ""},
	} {
		d := read(t, "a.xlsx", doctest.Book(t, c.rows, "xl/styles.xml", sheetStyles,
			"xl/sharedStrings.xml", `<sst><si><r><t>To</t></r><r><t>kyo</t></r><rPh><t>トウキョウ</t></rPh></si><si><t>NA</t></si><si/></sst>`))
		if c.want == "" && name != "empty" {
			c.want = `[]`
		}
		if string(d.Data) != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, d.Data, c.want)
		}
	}
}

// Workbooks with 1904 dates, also where a later element of an extension has the same name,
// and several sheets.
func TestWorkbooks(t *testing.T) {
	row := func(v string) string {
		return "<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>a|b</t></is></c></row><row><c s=\"1\"><v>" + v + "</v></c></row></sheetData></worksheet>"
	}
	d := read(t, "a.xlsx", doctest.Archive(t, map[string]string{
		"xl/workbook.xml": `<x:workbook xmlns:x="http://purl.oclc.org/ooxml/spreadsheetml/main"><x:workbookPr date1904="1"/><x:sheets><x:sheet name="One" sheetId="1"/><x:sheet name="Two" sheetId="2"/><x:sheet name="None" sheetId="3"/></x:sheets>` +
			`<x:extLst><x15:workbookPr chartTrackingRefBase="1" xmlns:x15="urn:x"/></x:extLst></x:workbook>`,
		"xl/worksheets/sheet1.xml": row("100"), "xl/worksheets/sheet2.xml": row("0.5"), "xl/worksheets/sheet3.xml": "<worksheet/>", "xl/styles.xml": sheetStyles,
	}))
	if want := `{"One":[{"a|b":"1904-04-10"}],"Two":[{"a|b":"12:00:00"}]}`; string(d.Data) != want {
		t.Errorf("data %s, want %s", d.Data, want)
	}
	if want := "## One\n\n| a\\|b |\n| --- |\n| 1904-04-10 |\n\n## Two\n\n| a\\|b |\n| --- |\n| 12:00:00 |"; d.Content != want {
		t.Errorf("content %q", d.Content)
	}
	if fmt.Sprint(d.Metadata.Sheets) != "[One Two None]" {
		t.Errorf("sheets %q", d.Metadata.Sheets)
	}
}

func TestManyRows(t *testing.T) {
	rows := `<row><c t="inlineStr"><is><t>name</t></is></c></row>` + strings.Repeat(`<row><c t="inlineStr"><is><t>`+strings.Repeat("x", 100)+`</t></is></c></row>`, 60_000)
	d := read(t, "a.xlsx", doctest.Book(t, rows))
	if len(d.Data) > 5<<20 || !d.Metadata.Truncated || len(d.Content) > documents.MaxContent || len(d.Metadata.Notes) != 2 {
		t.Errorf("%d bytes of data, %d of content, %v", len(d.Data), len(d.Content), d.Metadata.Notes)
	}
}

func TestWideSheets(t *testing.T) {
	d := read(t, "a.xlsx", doctest.Book(t, `<row><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>`))
	if !d.Metadata.Truncated || len(d.Metadata.Notes) != 1 || !strings.Contains(d.Metadata.Notes[0], "more than 500 columns") {
		t.Errorf("%+v", d)
	}
}

// Documents that cost no worker: Read ends them at limits of its own. Those that a worker is
// for are in package runtime.
func TestHostile(t *testing.T) {
	quick := []string{"aliases.md", "far.xlsx", "nested.docx", "nested.html", "rows.xlsx", "tables.docx", "wide.docx"}
	for name, data := range doctest.Hostile(t) {
		if strings.HasSuffix(name, ".pdf") || !full.Test() && !slices.Contains(quick, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			defer cputime.Limit(t, time.Minute)()
			d := documents.Read(name, data(), documents.Options{})
			if len(d.Content) > documents.MaxContent || len(d.Data) > 5<<20 {
				t.Errorf("%d bytes of content, %d of data", len(d.Content), len(d.Data))
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a.docx", doctest.Word(f, `<w:tbl><w:tr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`))
	f.Add("a.xlsx", doctest.Book(f, `<row><c r="B2" t="s" s="1"><v>1</v></c></row>`, "xl/styles.xml", sheetStyles))
	f.Add("a.md", []byte("---\ntitle: x\n---\n# y"))
	f.Add("a.csv", []byte("a,b\n1,\"x\n"))
	f.Add("a.html", []byte("<title>x</title><p>y"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		d := documents.Read(name, data, documents.Options{Content: 1000})
		if d.Metadata.Format == "pdf" {
			t.Skip()
		}
		if !utf8.ValidString(d.Content) || len(d.Content) > 1000 || len(d.Data) > 0 && !json.Valid(d.Data) {
			t.Errorf("%+v", d)
		}
	})
}

// FuzzXML fuzzes the main parts, which a fuzzer of archives seldom reaches.
func FuzzXML(f *testing.F) {
	f.Add(`<w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>x</w:t></w:r></w:p>`, `<row r="1"><c r="A1" t="inlineStr"><is><t>x</t></is></c></row>`)
	f.Add(`<mc:AlternateContent><mc:Choice/><mc:Fallback>`, `<row><c t="s"><v>9</v></c></row></sheetData>`)
	f.Fuzz(func(t *testing.T, body, rows string) {
		for name, data := range map[string][]byte{
			"a.docx": doctest.Word(t, body, "word/styles.xml", body, "word/numbering.xml", body, "word/footnotes.xml", body),
			"a.xlsx": doctest.Book(t, rows, "xl/styles.xml", rows, "xl/sharedStrings.xml", rows),
		} {
			d := documents.Read(name, data, documents.Options{})
			if strings.Contains(d.Metadata.Error, "the file cannot be read") || len(d.Data) > 0 && !json.Valid(d.Data) {
				t.Errorf("%s: %+v", name, d)
			}
		}
	})
}
