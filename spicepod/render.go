package spicepod

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// WriteText writes each problem as a heading `file:line:column: message`, the source line
// with a caret, the hint, and what waits for the component. It shows at most MaxShown of them
// and the number of the others.
func (p Problems) WriteText(w io.Writer) {
	causes := p.Causes()
	for i, c := range causes {
		if i == MaxShown {
			fmt.Fprintf(w, "… and %d more\n", len(causes)-MaxShown)
			return
		}
		io.WriteString(w, c.text())
		if waiting := c.WaitingText(); waiting != "" {
			io.WriteString(w, "  waiting for it: "+printable(waiting)+"\n")
		}
	}
}

// WaitingText lists what waits for the component of c, at most maxWaiting by name.
func (c Cause) WaitingText() string {
	if n := len(c.Waiting) - maxWaiting; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(c.Waiting[:maxWaiting], ", "), n)
	}
	return strings.Join(c.Waiting, ", ")
}

// text formats a problem as several lines.
func (p Problem) text() string {
	var b strings.Builder
	b.WriteString(printable(p.heading()) + "\n")
	if p.Line > 0 && p.Source != "" {
		number := strconv.Itoa(p.Line)
		gutter := strings.Repeat(" ", len(number))
		line, caret := excerpt(p.Source, p.Column)
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %s | %s", number, line), " ") + "\n")
		if p.Column > 0 {
			fmt.Fprintf(&b, "  %s | %s^\n", gutter, strings.Repeat(" ", caret))
		}
	}
	if p.Hint != "" {
		b.WriteString("  hint: " + printable(p.Hint) + "\n")
	}
	return b.String()
}

// excerpt returns the visible part of a source line around a column, and the number of
// terminal cells before that column. Tabs become four spaces and control characters a
// replacement, so that the caret is right and a file cannot control the terminal. A column
// beyond the end is placed after it.
func excerpt(line string, column int) (shown string, cells int) {
	runes := []rune(line)
	column = max(0, min(column-1, len(runes)))
	first := 0
	if before := textWidth(runes[:column]); before > excerptWidth*2/3 {
		for first = 0; before > excerptWidth/2; first++ {
			before -= cellWidth(runes[first])
		}
	}
	var b strings.Builder
	if first > 0 {
		b.WriteString("…")
	}
	prefix := b.Len()
	cells = textWidth(runes[first:column])
	if prefix > 0 {
		cells++
	}
	width := 0
	for i := first; i < len(runes); i++ {
		if width += cellWidth(runes[i]); width > excerptWidth {
			b.WriteString("…")
			break
		}
		b.WriteString(cellText(runes[i]))
	}
	return b.String(), cells
}

func textWidth(runes []rune) int {
	width := 0
	for _, r := range runes {
		width += cellWidth(r)
	}
	return width
}

func cellWidth(r rune) int {
	switch {
	case r == '\t':
		return 4
	case unsafeRune(r):
		return 1
	default:
		return narrow.RuneWidth(r)
	}
}

func cellText(r rune) string {
	switch {
	case r == '\t':
		return "    "
	case unsafeRune(r):
		return "�"
	default:
		return string(r)
	}
}

// narrow measures characters of ambiguous width as one cell, independent of the locale.
var narrow = runewidth.Condition{}

// unsafeRune reports characters that could move the cursor or reorder text.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// printable makes user text safe for one line of a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unsafeRune(r):
			return '�'
		}
		return r
	}, s)
}
