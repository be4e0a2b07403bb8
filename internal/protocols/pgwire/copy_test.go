package pgwire_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// copied has values that mean something in one of the formats.
const copied = `(SELECT * FROM (VALUES (1, 'plain', NULL, 0.5), (2, e'tab\t nl\n cr\r back\\slash', '', NULL), (3, 'com,ma "quoted"', '\.', -1), (4, '\N', 'ü;|', 2)) AS v(id, "a,b", c, d))`

// TestCopy has what PostgreSQL 16 writes, but for the digits of the decimals.
func TestCopy(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	for _, tt := range []struct{ sql, want string }{
		{
			"COPY " + copied + " TO STDOUT",
			"1\tplain\t\\N\t0.5\n2\ttab\\t nl\\n cr\\r back\\\\slash\t\t\\N\n3\tcom,ma \"quoted\"\t\\\\.\t-1.0\n4\t\\\\N\tü;|\t2.0\n",
		},
		{
			"COPY " + copied + " TO STDOUT WITH (FORMAT csv, HEADER)",
			"id,\"a,b\",c,d\n1,plain,,0.5\n2,\"tab\t nl\n cr\r back\\slash\",\"\",\n3,\"com,ma \"\"quoted\"\"\",\\.,-1.0\n4,\\N,ü;|,2.0\n",
		},
		{
			"COPY " + copied + " TO STDOUT CSV HEADER DELIMITER AS ';' NULL 'none' FORCE QUOTE c, \"a,b\"",
			"id;a,b;c;d\n1;\"plain\";none;0.5\n2;\"tab\t nl\n cr\r back\\slash\";\"\";none\n3;\"com,ma \"\"quoted\"\"\";\"\\.\";-1.0\n4;\"\\N\";\"ü;|\";2.0\n",
		},
		{
			`COPY (SELECT 'x|y' AS "a|b", 'it''s\' AS c) TO STDOUT (DELIMITER '|', HEADER true, NULL '', ENCODING 'UTF8')`,
			"a\\|b|c\nx\\|y|it's\\\\\n",
		},
		{`COPY (SELECT 'it''s') TO STDOUT (FORMAT "csv", QUOTE '''', ESCAPE '\', FORCE_QUOTE *)`, "'it\\'s'\n"},
		{`COPY (SELECT '\.') TO STDOUT CSV`, "\"\\.\"\n"},
		{"COPY (SELECT e'a\\bb\\tc', 'x') TO STDOUT (DELIMITER E'\\b')", "a\\bb\\tc\bx\n"},
		{"COPY public.one TO STDOUT (DELIMITER ',')", "1,x\n"},
		{"copy one(\"b\", a) to stdout", "x\t1\n"},
		{"COPY (SELECT [1, NULL], 'a'::BLOB, true, DATE '2020-01-02') TO STDOUT", "{1,NULL}\t\\\\x61\tt\t2020-01-02\n"},
		{"COPY (SELECT 1 WHERE false) TO STDOUT", ""},
		{
			"COPY (SELECT 1::INTEGER AS a, NULL, 'x' UNION ALL SELECT 2, NULL, '') TO STDOUT (FORMAT binary)",
			"5047434f50590aff0d0a00" + "00000000" + "00000000" +
				"0003" + "00000004" + "00000001" + "ffffffff" + "00000001" + "78" +
				"0003" + "00000004" + "00000002" + "ffffffff" + "00000000" + "ffff",
		},
		{"COPY (SELECT 1 WHERE false) TO STDOUT WITH BINARY", "5047434f50590aff0d0a00" + "00000000" + "00000000" + "ffff"},
	} {
		var got bytes.Buffer
		tag, err := c.CopyTo(f.context(), &got, tt.sql)
		text := got.String()
		if strings.Contains(strings.ToLower(tt.sql), "binary") {
			text = hex.EncodeToString(got.Bytes())
		}
		if err != nil || text != tt.want {
			t.Errorf("%s\ngot  %.200q\nwant %q\n%v", tt.sql, text, tt.want, err)
		}
		if !strings.HasPrefix(tag.String(), "COPY ") {
			t.Errorf("%s: tag %q", tt.sql, tag)
		}
	}
}

// TestCopyAll copies more than a buffer has room for, by the extended protocol
// too, where a limit of rows does not count and there is no RowDescription.
func TestCopyAll(t *testing.T) {
	f := serve(t, nil)
	var got bytes.Buffer
	tag, err := f.raw().CopyTo(f.context(), &got, "COPY numbers TO STDOUT WITH CSV")
	if lines := bytes.Count(got.Bytes(), []byte("\n")); err != nil || lines != 10000 || tag.RowsAffected() != 10000 {
		t.Errorf("%d lines, %s, %v", lines, tag, err)
	}
	answers := f.frontend().exchange(
		&pgproto3.Parse{Query: "COPY (SELECT name FROM numbers WHERE id < $1 ORDER BY id) TO STDOUT"},
		&pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{Parameters: [][]byte{[]byte("3")}}, &pgproto3.Execute{MaxRows: 1}, &pgproto3.Sync{},
	)
	if want := "ParseComplete [23] NoData BindComplete CopyOutResponse row 1\n row 2\n CopyDone COPY 2 I"; answers != want {
		t.Errorf("got %q, want %q", answers, want)
	}
}

func TestCopyErrors(t *testing.T) {
	f := serve(t, nil)
	c := f.raw()
	for _, tt := range []struct {
		sql, state, text string
		position         int32
	}{
		{"COPY one FROM STDIN", "42501", "read-only", 0},
		{"COPY nosuch FROM STDIN", "42P01", "nosuch", 0},
		{"COPY one FROM '/tmp/x.csv'", "0A000", "COPY from a file", 0},
		{"COPY (SELECT 1) FROM STDIN", "42601", "syntax error", 17},
		{"COPY one FROM STDIN WHERE a > 1", "0A000", "WHERE", 0},
		{"COPY one FROM STDIN (FORMAT csv, FORCE_QUOTE *)", "42601", "FORCE_QUOTE", 0},
		{"COPY one FROM STDIN CSV FORCE QUOTE a", "42601", "FORCE_QUOTE", 0},
		{"COPY one FROM STDIN (FORMAT csv, ON_ERROR ignore)", "0A000", "ON_ERROR", 0},
		{"COPY types FROM STDIN", "0A000", "type is nested", 0},
		{"COPY one TO '/tmp/x.csv'", "0A000", "to a file", 0},
		{"COPY one TO PROGRAM 'cat'", "0A000", "to a file", 0},
		{"COPY (DELETE FROM one) TO STDOUT", "0A000", "COPY of DELETE", 0},
		{"COPY (SELECT 'ä', nosuch FROM one) TO STDOUT", "42703", "nosuch", 19},
		{"COPY nosuch TO STDOUT", "42P01", "nosuch", 0},
		{"COPY one (nosuch) TO STDOUT", "42703", "nosuch", 0},
		{"COPY (SELECT 1 TO STDOUT", "42601", "end of input", 0},
		{"COPY () TO STDOUT", "42601", "syntax error", 0},
		{"COPY one (a, b TO STDOUT", "42601", "syntax error", 0},
		{"COPY one STDOUT", "42601", "syntax error", 10},
		{"COPY one TO STDOUT ()", "42601", "syntax error", 21},
		{"COPY one TO STDOUT (FORMAT csv", "42601", "end of input", 0},
		{"COPY one TO STDOUT CSV BACKWARDS", "42601", "BACKWARDS", 24},
		{"COPY one TO STDOUT (FORMAT xml)", "22023", `"xml"`, 0},
		{"COPY one TO STDOUT (DELIMITER 'ab')", "0A000", "one-byte", 0},
		{"COPY one TO STDOUT (DELIMITER 'a')", "22023", "DELIMITER cannot be 'a'", 0},
		{"COPY one TO STDOUT (DELIMITER E'\\n')", "22023", "newline", 0},
		{"COPY one TO STDOUT (NULL E'\\n')", "22023", "newline", 0},
		{"COPY one TO STDOUT (NULL 'a,b', DELIMITER ',')", "22023", "DELIMITER must not", 0},
		{"COPY one TO STDOUT (FORMAT csv, NULL '\"')", "22023", "QUOTE must not", 0},
		{"COPY one TO STDOUT (FORMAT csv, DELIMITER '\"')", "22023", "different", 0},
		{"COPY one TO STDOUT (QUOTE 'x')", "0A000", "CSV", 0},
		{"COPY one TO STDOUT (FORMAT binary, HEADER)", "42601", "binary", 0},
		{"COPY one TO STDOUT (HEADER match)", "42601", `"match"`, 0},
		{"COPY one TO STDOUT (FORMAT csv, FORMAT csv)", "42601", "twice", 0},
		{"COPY one TO STDOUT (FORMAT csv, FORCE_QUOTE (a, nosuch))", "42703", "nosuch", 0},
		{"COPY one TO STDOUT (FORMAT csv, FORCE_QUOTE)", "42601", "syntax error", 0},
		{"COPY one TO STDOUT (ENCODING 'LATIN1')", "22023", "LATIN1", 0},
		{"COPY one TO STDOUT (FREEZE)", "0A000", "FREEZE", 0},
		{"COPY one TO STDOUT (nosuch 1)", "42601", "nosuch", 0},
		{"COPY (SELECT error('boom')) TO STDOUT", "22000", "boom", 0},
		{"DECLARE c CURSOR FOR COPY one TO STDOUT", "42601", "FOR a SELECT", 0},
	} {
		_, err := c.CopyTo(f.context(), &bytes.Buffer{}, tt.sql)
		if e := wantState(t, err, tt.state, tt.text); tt.position > 0 && e.Position != tt.position {
			t.Errorf("%s: position %d, want %d", tt.sql, e.Position, tt.position)
		}
	}
	if lines, _, err := f.simple(c, "SELECT 1"); err != nil || len(lines) != 1 {
		t.Errorf("after all errors: %v, %v", lines, err)
	}
}
