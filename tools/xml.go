package tools

import (
	"bufio"
	"encoding/xml"
	"io"
	"strconv"
)

// WriteXML writes the definitions as a block of a prompt for models that do not
// accept tools as JSON: one <tool> each, in the given order, within <tools>.
// The XML is always well-formed; characters that XML does not allow become
// U+FFFD. The error is that of w.
func WriteXML(w io.Writer, definitions []*Definition) error {
	x := &xmlWriter{bufio.NewWriter(w)}
	x.raw("<tools>\n")
	for _, d := range definitions {
		x.tool(d)
	}
	x.raw("</tools>\n")
	return x.w.Flush()
}

// xmlWriter leaves errors to Flush, since [bufio.Writer] returns the first one
// there.
type xmlWriter struct{ w *bufio.Writer }

func (x *xmlWriter) tool(d *Definition) {
	x.raw("  <tool>\n")
	x.element("    ", "name", d.Name)
	x.element("    ", "description", d.Text())
	x.raw("    <parameters>\n")
	if doc, err := Decode(d.Parameters); err == nil {
		for _, p := range propertiesOf(doc) {
			x.raw("      <parameter>\n")
			x.element("        ", "name", p.Name)
			x.element("        ", "type", p.Type)
			x.element("        ", "required", strconv.FormatBool(p.Required))
			x.element("        ", "description", p.Description)
			x.raw("      </parameter>\n")
		}
	}
	x.raw("    </parameters>\n")
	if returns, err := Decode(d.Returns); err == nil {
		x.element("    ", "returns", typeText(returns, returns, 0))
	}
	x.raw("  </tool>\n")
}

// element writes a text element, unless the text is empty.
func (x *xmlWriter) element(indent, name, text string) {
	if text == "" {
		return
	}
	x.raw(indent + "<" + name + ">")
	_ = xml.EscapeText(x.w, []byte(text))
	x.raw("</" + name + ">\n")
}

func (x *xmlWriter) raw(text string) { _, _ = x.w.WriteString(text) }
