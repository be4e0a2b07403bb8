package documents_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/tools/builtin/documents"
)

// space is a dataset of the documents of two spaces.
const space = `SELECT * FROM (VALUES
	('1', 'Plan.md', 'finance/2024', 'The plan.', 'mail', 's1', {pages: 2}),
	('2', 'Report [2024].pdf', '/finance//2024/', 'The report.', 'mail', 's1', NULL),
	('3', 'notes.txt', '.', 'Notes.', 'wiki', 's1', NULL),
	('4', 'deep.md', 'finance\2024\q1', 'Deep.', 'mail', 's1', NULL),
	('5', 'a_b.md', 'finance/20', 'Other folder.', 'mail', 's1', NULL),
	('6', 'secret.md', 'secrets', 'Other space.', 'hidden', 's2', NULL),
	('7', NULL, NULL, NULL, NULL, 's1', NULL)
) t(id, name, folder, content, source, space_id, metadata)`

func TestNavigation(t *testing.T) {
	w := newWorld(t, space)
	w.scope.SpaceID = "s1"
	w.expect("list_sources", `{}`, `{"sources":[{"source":"","documents":1,"folders":1},{"source":"mail","documents":4,"folders":3},{"source":"wiki","documents":1,"folders":1}],"more":false}`)
	w.expect("list_folder_contents", `{"source":"mail"}`, `{"entries":[{"type":"folder","id":null,"name":"finance","path":"finance","documents":4}],"more":false}`)
	w.expect("list_folder_contents", `{"folder":"/finance/2024/"}`, `{"entries":[
		{"type":"folder","id":null,"name":"q1","path":"finance/2024/q1","documents":1},
		{"type":"document","id":"1","name":"Plan.md","path":"finance/2024/Plan.md","documents":null},
		{"type":"document","id":"2","name":"Report [2024].pdf","path":"finance/2024/Report [2024].pdf","documents":null}],"more":false}`)
	w.expect("list_folder_contents", `{"folder":"finance/2024","limit":1,"offset":1}`, `{"entries":[{"type":"document","id":"1","name":"Plan.md","path":"finance/2024/Plan.md","documents":null}],"more":true}`)
	w.expect("folder_tree", `{"source":"mail"}`, `{"documents":0,"total":4,"more":false,"folders":[{"name":"finance","path":"finance","documents":0,"total":4,"folders":[
		{"name":"20","path":"finance/20","documents":1,"total":1,"folders":[]},
		{"name":"2024","path":"finance/2024","documents":2,"total":3,"folders":[{"name":"q1","path":"finance/2024/q1","documents":1,"total":1,"folders":[]}]}]}]}`)
	w.expect("folder_tree", `{"depth":1}`, `{"documents":2,"total":6,"more":false,"folders":[{"name":"finance","path":"finance","documents":0,"total":4,"folders":[]}]}`)
	w.refuses("list_folder_contents", `{"folder":"finance/20 24"}`, errcode.NotFound, `there is no folder "finance/20 24"; folder_tree shows`)
	w.refuses("list_folder_contents", `{"folder":"secrets"}`, errcode.NotFound, `there is no folder "secrets"; folder_tree shows`)
	w.scope.SpaceID = "" // all spaces that the row filter lets the caller read
	w.expect("list_folder_contents", `{"source":"hidden"}`, `{"entries":[{"type":"folder","id":null,"name":"secrets","path":"secrets","documents":1}],"more":false}`)
}

// TestFolderTreeIsBounded has a path of very many folders, and very many folders.
func TestFolderTreeIsBounded(t *testing.T) {
	w := newWorld(t, "SELECT i::VARCHAR AS id, CASE WHEN i = 0 THEN repeat('x/', 100000) ELSE 'f' || i END AS folder FROM range(3000) t(i)")
	began := time.Now()
	got := decode[struct {
		Total   int
		Folders []json.RawMessage
		More    bool
	}](w, "folder_tree", `{"depth":32}`)
	if got.Total != 3000 || len(got.Folders) > 1000 || !got.More || time.Since(began) > 20*time.Second {
		t.Errorf("%d documents, %d folders, %v", got.Total, len(got.Folders), got.More)
	}
}

func TestFindByName(t *testing.T) {
	w := newWorld(t, `SELECT * FROM (VALUES ('1', 'Report [2024].pdf', 'finance/2024'), ('2', 'report 2.pdf', 'finance'), ('3', 'index.ts', 'app/[baz]'),
		('4', 'main.java', 'src/main/java'), ('5', 'users.go', ''), ('6', 'Cafe' || chr(769) || '.md', ''), ('7', 'a^b.txt', ''), ('8', 'a*b', ''),
		('9', 'x{y}.md', '')) t(id, name, folder)`)
	for pattern, want := range map[string]string{
		"*.pdf": "12", "REPORT*": "12", "report ?.pdf": "2", "report [0-9].pdf": "2", "Report [2024].pdf": "12", "*[2024]*": "12",
		"**/[baz]/*": "3", `**/\[baz\]/*`: "3", "app/**": "3", "**/*.{java,ts}": "34", "users": "5", "Users.go": "5", "**/*.go": "5",
		"finance/**/*.pdf": "12", "finance/*": "12", "[!r]*.go": "5", "[^u]*.go": "", "Café*": "6", "a^b*": "7", `a\*b`: "8", "a*b": "8", "x{y}.md": "9",
		"[": "13", "[]": "", "[z-a]*": "", "{": "9", "{a,": "", ".*": "", "(": "", "*[baz]*": "1234678",
	} {
		got := decode[struct{ Documents []struct{ ID string } }](w, "find_by_name", fmt.Sprintf(`{"pattern":%q}`, pattern))
		ids := ""
		for _, d := range got.Documents {
			ids += d.ID
		}
		sorted := strings.Split(ids, "")
		slices.Sort(sorted)
		if got := strings.Join(sorted, ""); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

func TestReadRanges(t *testing.T) {
	const text = "a😀é\r\n👨‍👩‍👧z" // an emoji of five characters
	w := newWorld(t, "SELECT '1' AS id, '"+text+"' AS content UNION ALL SELECT '2', NULL UNION ALL SELECT '3', ''"+
		" UNION ALL SELECT '4', 'x' UNION ALL SELECT '4', 'y'")
	runes := []rune(text)
	for offset := range len(runes) + 2 {
		for length := 1; length <= len(runes)+1; length++ {
			got := decode[struct {
				Content                    string
				Offset, Length, Characters int
				More                       bool
				Next                       *int `json:"next_offset"`
			}](w, "read_document", fmt.Sprintf(`{"id":"1","offset":%d,"length":%d}`, offset, length))
			start := min(offset, len(runes))
			end := min(start+length, len(runes))
			if want := string(runes[start:end]); got.Content != want || !utf8.ValidString(got.Content) || got.Characters != len(runes) ||
				got.Length != end-start || got.More != (end < len(runes) && offset < len(runes)) || got.More != (got.Next != nil && *got.Next == end) {
				t.Fatalf("%d %d: %+v, want %q", offset, length, got, want)
			}
		}
	}
	w.expect("read_document", `{"id":1,"length":1}`, `{"id":"1","name":"1","content":"a","offset":0,"length":1,"characters":11,"more":true,"next_offset":1}`)
	w.expect("read_document", `{"id":"2"}`, `{"id":"2","name":"2","content":"","offset":0,"length":0,"characters":0,"more":false}`)
	w.expect("read_document", `{"id":"3"}`, `{"id":"3","name":"3","content":"","offset":0,"length":0,"characters":0,"more":false}`)
	w.refuses("read_document", `{"id":"9"}`, errcode.NotFound, `there is no document with the id "9"; find_by_name`)
	w.refuses("read_document", `{"id":"4"}`, errcode.Execution, "several documents have the id")
	w.refuses("read_document", `{"id":"1","offset":-1}`, errcode.InvalidArguments, "")
	w.refuses("read_document", `{"id":"1","length":100001}`, errcode.InvalidArguments, "")
}

func TestInfo(t *testing.T) {
	w := newWorld(t, `SELECT 7 AS id, 'T' AS title, 'b/c.md' AS path, 'text' AS content, '{"author":"Ann"}' AS metadata, DATE '2026-01-02' AS modified, 'x'::BLOB AS raw`)
	w.expect("document_info", `{"id":"7"}`, `{"id":"7","name":"T","folder":"b","source":"docs","characters":4,"metadata":{"author":"Ann"},"other":{"path":"b/c.md","modified":"2026-01-02"}}`)
	w = newWorld(t, `SELECT 'x' AS id, NULL::VARCHAR AS content, '{"error":"it is encrypted"}'::JSON AS metadata`)
	w.expect("document_info", `{"id":"x"}`, `{"id":"x","name":"x","folder":"","source":"docs","characters":null,"metadata":{"error":"it is encrypted"}}`)
	w.expect("read_document", `{"id":"x"}`, `{"id":"x","name":"x","content":"","offset":0,"length":0,"characters":0,"more":false,"error":"it is encrypted"}`)
}

// TestGrepOffsets reads each match by its offset.
func TestGrepOffsets(t *testing.T) {
	const text = "alpha beta\r\n😀 beta\r\rbeta\n\v\x0bnaïve beta\r\n\r\nend beta"
	w := newWorld(t, "SELECT '1' AS id, '"+text+"' AS content")
	type match struct {
		Line, Offset, Length int
		Text                 string
		Before, After        []string
	}
	for pattern, want := range map[string][]match{
		`{"pattern":"beta"}`: {
			{Line: 1, Offset: 6, Text: "alpha beta"},
			{Line: 2, Offset: 14, Text: "😀 beta\r\rbeta"},
			{Line: 2, Offset: 20, Text: "😀 beta\r\rbeta"},
			{Line: 3, Offset: 33, Text: "\v\x0bnaïve beta"},
			{Line: 5, Offset: 45, Text: "end beta"},
		},
		`{"pattern":"beta$","regex":true}`: {
			{Line: 1, Offset: 6, Text: "alpha beta"},
			{Line: 2, Offset: 20, Text: "😀 beta\r\rbeta"},
			{Line: 3, Offset: 33, Text: "\v\x0bnaïve beta"},
			{Line: 5, Offset: 45, Text: "end beta"},
		},
		`{"pattern":"^end","regex":true,"context_lines":2}`:      {{Line: 5, Offset: 41, Text: "end beta", Before: []string{"\v\x0bnaïve beta", ""}}},
		`{"pattern":"beta\n😀"}`:                                  {{Line: 1, Offset: 6, Text: "alpha beta"}},
		`{"pattern":"beta\r\n😀"}`:                                {{Line: 1, Offset: 6, Text: "alpha beta"}},
		`{"pattern":"(?i)ALPHA","regex":true,"context_lines":1}`: {{Line: 1, Offset: 0, Text: "alpha beta", After: []string{"😀 beta\r\rbeta"}}},
		`{"pattern":"ALPHA"}`:                                    {},
		`{"pattern":"a*","regex":true,"limit":1}`:                {{Line: 1, Offset: 0, Text: "alpha beta"}},
		`{"pattern":"x*","regex":true}`:                          {},
		`{"pattern":"."}`:                                        {},
	} {
		got := decode[struct {
			Matches []match
			More    bool
		}](w, "grep_documents", pattern)
		if len(got.Matches) != len(want) {
			t.Errorf("%s: %+v", pattern, got)
			continue
		}
		for i, m := range got.Matches {
			read := decode[struct{ Content string }](w, "read_document", fmt.Sprintf(`{"id":"1","offset":%d,"length":%d}`, m.Offset, m.Length))
			m.Length = 0
			if fmt.Sprintf("%+v", m) != fmt.Sprintf("%+v", want[i]) {
				t.Errorf("%s: %+v, want %+v", pattern, m, want[i])
			}
			if strings.Contains(pattern, `"beta`) && !strings.HasPrefix(read.Content, "beta") {
				t.Errorf("%s: read_document gives %q at %d", pattern, read.Content, m.Offset)
			}
		}
	}
}

func TestGrepLimits(t *testing.T) {
	w := newWorld(t, "SELECT i::VARCHAR AS id, repeat('x', 3000) || repeat('😀', 300) || 'needle' || repeat('y', 3000) AS content FROM range(5) t(i)")
	type found struct {
		Matches []struct{ ID, Text string }
		More    bool
	}
	if got := decode[found](w, "grep_documents", `{"pattern":"needle","limit":5}`); len(got.Matches) != 5 || got.More {
		t.Errorf("exactly as many as the limit: %d %v", len(got.Matches), got.More)
	}
	got := decode[found](w, "grep_documents", `{"pattern":"needle","limit":4}`)
	if len(got.Matches) != 4 || !got.More {
		t.Errorf("%d %v", len(got.Matches), got.More)
	}
	if text := got.Matches[0].Text; !strings.Contains(text, "😀needle") || utf8.RuneCountInString(text) > 510 || !utf8.ValidString(text) {
		t.Errorf("%q", text)
	}
	if got := decode[found](w, "grep_documents", `{"pattern":"x","limit":500}`); len(got.Matches) != 500 || !got.More {
		t.Errorf("%d %v", len(got.Matches), got.More)
	}
	if got := decode[found](w, "grep_documents", `{"pattern":"needle","document_id":"3"}`); len(got.Matches) != 1 || got.Matches[0].ID != "3" {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"(", "a)(b", "[a", `\`, "a{2000}", "(?<!a)b", "*"} {
		raw, _ := json.Marshal(map[string]any{"pattern": bad, "regex": true})
		w.refuses("grep_documents", string(raw), errcode.InvalidArguments, "is not a regular expression of RE2")
	}
	w.expect("grep_documents", `{"pattern":"("}`, `{"matches":[],"more":false}`)
}

// TestGrepIsCancelled ends a grep while it runs.
func TestGrepIsCancelled(t *testing.T) {
	w := newWorld(t, "SELECT i::VARCHAR AS id, repeat('abcdefghij', 50) AS content FROM range(400000) t(i)")
	tool := w.tool("grep_documents")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := w.call(ctx, tool, `{"pattern":"(a|b|c)+(d|e)+.*(x|y)$","regex":true}`)
		done <- err
	}()
	wait.Until(t, "it runs", func() bool { return w.db.Stats().Running == 1 })
	cancel()
	if err := <-done; err == nil {
		t.Error("it was not cancelled")
	}
	wait.Until(t, "its statement has ended", func() bool { return w.db.Stats().Running == 0 })
}

func TestSearch(t *testing.T) {
	w := newWorld(t, space)
	w.scope.SpaceID = "s1"
	w.found = builtin.RowAnswer{Mode: builtin.SearchKeyword, Notes: []string{"no vectors"}, Rows: []builtin.FoundRow{
		{Score: 0.5, Column: "content", Text: "The annual budget is 7 million.", Data: json.RawMessage(`{"id":"1","name":"Plan.md","source":"mail"}`)},
		{Score: 0.25, Column: "content", Text: strings.Repeat("é", 2000), Data: json.RawMessage(`{"id":2,"name":null,"source":null}`)},
	}}
	w.expect("search_documents", `{"query":"annual budget","feeds":["mail","o'x"],"limit":3,"mode":"vector"}`,
		`{"mode":"keyword","notes":["no vectors"],"documents":[
			{"id":"1","name":"Plan.md","source":"mail","score":0.5,"passage":"The annual budget is 7 million."},
		{"id":"2","name":"2","source":"","score":0.25,"passage":"`+strings.Repeat("é", 1000)+`…"}]}`)
	q := w.searched[0]
	if q.Text != "annual budget" || q.Mode != builtin.SearchVector || q.Limit != 3 || len(q.Tables) != 1 ||
		strings.Join(q.Tables[0].Data, " ") != "id name source" {
		t.Errorf("%+v", q)
	}
	const want = `"id" IS NOT NULL AND (ctx('space_id') IS NULL OR CAST("space_id" AS VARCHAR) = ctx('space_id'))` +
		` AND coalesce(CAST("source" AS VARCHAR), '') IN ('mail', 'o''x')`
	if got := q.Tables[0].Where; got != want {
		t.Errorf("%s", got)
	}
	w = newWorld(t, "SELECT '1' AS id, 'x' AS content")
	w.refuses("search_documents", `{"query":"x","feeds":["mail"]}`, errcode.InvalidArguments, "no column for them; leave feeds out")
	w.found = builtin.RowAnswer{Mode: builtin.SearchHybrid}
	w.expect("search_documents", `{"query":"x"}`, `{"mode":"hybrid","documents":[]}`)
}

// TestAnalyst gets tools for one document, whatever it asks for.
func TestAnalyst(t *testing.T) {
	w := newWorld(t, space)
	w.scope.SpaceID = "s1"
	w.work = func(ctx context.Context, task string, own []tools.Tool) (json.RawMessage, error) {
		if !strings.Contains(task, `"Plan.md", which has 9 characters`) || !strings.Contains(task, "What is planned?") {
			t.Errorf("task %q", task)
		}
		var said []string
		for i, call := range []string{`{}`, `{"pattern":"The"}`, `{"query":"plan"}`} {
			d := own[i].Definition()
			if strings.Contains(string(d.Parameters), `"id"`) || strings.Contains(string(d.Parameters), "document_id") || strings.Contains(string(d.Parameters), "feeds") {
				t.Errorf("%s: %s", d.Name, d.Parameters)
			}
			if _, err := w.call(ctx, own[i], `{"id":"2","document_id":"2","pattern":"x","query":"x"}`); err == nil {
				t.Errorf("%s takes another document", d.Name)
			}
			got, err := w.call(ctx, own[i], call)
			if err != nil {
				t.Error(err)
			}
			said = append(said, d.Name+" "+got)
		}
		return json.Marshal(strings.Join(said, "; "))
	}
	got := decode[struct{ ID, Name, Answer string }](w, "analyze_document", `{"id":"1","question":"What is planned?"}`)
	if got.ID != "1" || got.Name != "Plan.md" || !strings.Contains(got.Answer, `"content":"The plan."`) || !strings.Contains(got.Answer, `{"matches":[{"id":"1"`) ||
		strings.Count(got.Answer, `"id":"`) != 2 {
		t.Errorf("%+v", got)
	}
	if where := w.searched[0].Tables[0].Where; !strings.Contains(where, `CAST("id" AS VARCHAR) = '1'`) {
		t.Errorf("%s", where)
	}
	w.refuses("analyze_document", `{"id":"6","question":"x"}`, errcode.NotFound, `there is no document with the id "6"`)
	w.scope.Datasets = []string{"other"}
	for _, name := range documents.Names() {
		if reason := w.tool(name).(tools.Conditional).Unavailable(w.scope); (reason == "") != (name == "web_search" || name == "fetch_web_page") {
			t.Errorf("%s, to a model that may not read the dataset: %q", name, reason)
		}
	}
	w.scope.Datasets = nil
	w.hidden = map[string]bool{"analyst": true}
	if reason := w.tool("analyze_document").(tools.Conditional).Unavailable(w.scope); reason == "" || strings.Contains(reason, "analyst") {
		t.Errorf("without the agent: %q", reason)
	}
}

func TestWebSearch(t *testing.T) {
	w := newWorld(t, space)
	w.answer = tools.Result{OK: true, Result: json.RawMessage(`["found"]`)}
	w.expect("web_search", `{"query":"x"}`, `["found"]`)
	if w.called[0] != `brave__search{"q":"x"}` {
		t.Errorf("%q", w.called)
	}
	w.answer = tools.Result{Error: tools.NewError(errcode.ToolNotFound, `there is no tool "brave__search"`, "")}
	w.refuses("web_search", `{"query":"x"}`, errcode.ToolUnavailable, "searches of the web are not available at the moment")
	w.answer = tools.Result{Error: tools.NewError(errcode.Timeout, "slow", "")}
	w.refuses("web_search", `{"query":"x"}`, errcode.Timeout, "slow")
}

func TestMissing(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 'x' AS content": "dataset: dataset docs has no column id, by which documents are read",
		"SELECT 1 AS id": "search_documents, grep_documents, read_document, analyze_document: dataset docs has no column for content; " +
			"query_documents: dataset docs has no column for data",
		"SELECT 1 AS id, 'x'::BLOB AS content, '[]'::JSON AS data": "search_documents, grep_documents, read_document, analyze_document: " +
			"column content of dataset docs is binary data",
		"SELECT 1 AS id, 'x' AS content, 5 AS data":        "query_documents: column data of dataset docs is INTEGER, which has no tables",
		"SELECT 1 AS id, 'x' AS content, [{a: 1}] AS data": "",
	} {
		w := newWorld(t, sql)
		text, last := "", ""
		for _, m := range w.config.Missing(w.dataset) {
			switch where := cmp.Or(m.Tool, m.Param); {
			case m.Message == last:
				text = strings.Replace(text, ": "+last, ", "+where+": "+last, 1)
			case text != "":
				text += "; " + where + ": " + m.Message
			default:
				text = where + ": " + m.Message
			}
			last = m.Message
		}
		if text != want {
			t.Errorf("%s:\ngot  %s\nwant %s", sql, text, want)
		}
	}
	w := newWorld(t, space)
	w.config.Columns = map[string]string{"name": "titel"}
	if m := w.config.Missing(w.dataset); len(m) != 1 || m[0].Param != "columns.name" || m[0].Message != `dataset docs has no column "titel"` {
		t.Errorf("%+v", m)
	}
}
