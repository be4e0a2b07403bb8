package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
)

// textColumns are n columns of text, a, b, c, ….
func textColumns(n int) []Column {
	columns := make([]Column, n)
	for i := range columns {
		columns[i] = Column{Name: string(rune('a' + i)), Type: Type{OID: pgtype.TextOID}}
	}
	return columns
}

func textCopy() *Copy { return &Copy{Delimiter: '\t', Null: `\N`} }

func csvCopy() *Copy { return &Copy{Format: CopyCSV, Delimiter: ',', Quote: '"', Escape: '"'} }

// TestReadCopy has what PostgreSQL 15 reads from the same data.
func TestReadCopy(t *testing.T) {
	header, match, backslash := csvCopy(), csvCopy(), csvCopy()
	header.Header, match.Header, match.Match, backslash.Escape = true, true, true, '\\'
	for _, tt := range []struct {
		from       *Copy
		data, want string // the rows, with | and ;
	}{
		{textCopy(), "1\tx\n2\t\\N\n", "1|x;2|∅"},
		{textCopy(), "1\tx\r\n2\ty", "1|x;2|y"},
		{textCopy(), "a\\tb\\\\\\n\t\\x41\\101\\q\n\\.\nrest\n", "a\tb\\\n|AAq"},
		{textCopy(), "a\\\nb\tc\\\td\n", "a\nb|c\td"},
		{textCopy(), "", ""},
		{csvCopy(), "1,\n\"\",\"a\"\"b,\nc\"\n", "1|∅;|a\"b,\nc"},
		{csvCopy(), "a\"b c\"d, x \r\ny,z", "ab cd| x ;y|z"},
		{header, "x,y,z,w\n1,2\n", "1|2"},
		{header, "x,y\n1,2\n", "1|2"},
		{match, "a,b\n1,2\n", "1|2"},
		{backslash, `"a\"b","\\"` + "\n", `a"b|\`},
		{&Copy{Delimiter: '|', Null: "NIL"}, "NIL|nil\n", "∅|nil"},
	} {
		rows, _, err := ReadCopy(tt.from, "t", textColumns(2), []byte(tt.data))
		if got := copiedText(rows); err != nil || got != tt.want {
			t.Errorf("%q: %q, %v; want %q", tt.data, got, err, tt.want)
		}
	}
}

// copiedText shows rows.
func copiedText(rows [][]any) string {
	var lines []string
	for _, values := range rows {
		var row []string
		for _, v := range values {
			if v == nil {
				v = "∅"
			}
			row = append(row, fmt.Sprint(v))
		}
		lines = append(lines, strings.Join(row, "|"))
	}
	return strings.Join(lines, ";")
}

func TestReadCopyErrors(t *testing.T) {
	binaryCopy := &Copy{Format: CopyBinary}
	for _, tt := range []struct {
		from                     *Copy
		data, state, text, where string
	}{
		{textCopy(), "1\t2\n3\n", "22P04", `missing data for column "b"`, "COPY t, line 2"},
		{textCopy(), "1\t2\t3\n", "22P04", "extra data", "COPY t, line 1"},
		{textCopy(), "a\\\nb\tc\nx\td\xff\n", "22P02", "UTF-8", `COPY t, line 3, column b: "d\xff"`},
		{csvCopy(), "1,2\n3,\"4\n", "22P04", "unterminated", "COPY t, line 3"},
		{binaryCopy, "PGCOPX\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00", "22P04", "signature", "COPY t, line 0"},
		{binaryCopy, binaryHead + "\x00\x03", "22P04", "row field count is 3, expected 2", "COPY t, line 1"},
		{binaryCopy, binaryHead + "\x00\x02\x00\x00\x00\x01a\xff\xff\xff\xff" + "\x00\x02\x7f\xff\xff\xff", "22P04", "unexpected EOF", "COPY t, line 2"},
		{binaryCopy, binaryHead + "\xff\xff?", "22P04", "after EOF marker", "COPY t, line 1"},
		{binaryCopy, binaryHead[:len(binaryHead)-4] + "\xff\xff\xff\xff", "22P04", "wrong length", "COPY t, line 0"},
		{binaryCopy, binaryHead[:len(binaryHead)-8] + "\x00\x01\x00\x00\x00\x00\x00\x00", "22P04", "critical flags", "COPY t, line 0"},
	} {
		_, _, err := ReadCopy(tt.from, "t", textColumns(2), []byte(tt.data))
		var e *sqlstate.Error
		if !errors.As(err, &e) || e.Code != tt.state || !strings.Contains(e.Message, tt.text) || e.Where != tt.where {
			t.Errorf("%q: %+v; want %s, %q, %q", tt.data, err, tt.state, tt.text, tt.where)
		}
	}
}

// FuzzReadCopy reads any data without a panic, and what was written again as it was.
func FuzzReadCopy(f *testing.F) {
	for _, seed := range []string{"1\t2\n", `"a""b",` + "\n", binaryHead + "\x00\x01\x00\x00\x00\x00\xff\xff", `\.`, "\\", "\\x", "\\\n\\1"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, data, other string) {
		for _, from := range []*Copy{textCopy(), csvCopy(), {Format: CopyBinary}} {
			for n := range 3 {
				_, size, err := ReadCopy(from, "t", textColumns(n+1), []byte(data))
				if e, ok := errors.AsType[*sqlstate.Error](err); err != nil && (!ok || e.Where == "") {
					t.Fatalf("%q: %v", data, err)
				}
				if size > MaxValues {
					t.Fatalf("%d bytes", size)
				}
			}
		}
		data, other = strings.ToValidUTF8(strings.ReplaceAll(data, "\x00", ""), ""), strings.ToValidUTF8(strings.ReplaceAll(other, "\x00", ""), "")
		written := &copying{Copy: textCopy(), names: []string{"a", "b"}}
		text := written.escapeValue([]byte(data), 0)
		text = append(append(append(text, 0x09), written.escapeValue([]byte(other), 0)...), 0x0a)
		csv := append(append(written.csv(data), ','), written.csv(other)...)
		for _, c := range []struct {
			from *Copy
			data []byte
		}{{textCopy(), text}, {csvCopy(), append(csv, '\n')}} {
			rows, _, err := ReadCopy(c.from, "t", textColumns(2), c.data)
			if want := data + "|" + other; err != nil || copiedText(rows) != want {
				t.Fatalf("%q: %v, %q; want %q", c.data, err, rows, want)
			}
		}
	})
}

// csv is a value in quotes.
func (to *copying) csv(value string) []byte {
	quoted := &copying{Copy: csvCopy(), names: to.names}
	return quoted.quoteValue([]byte(value), 0, true)
}
