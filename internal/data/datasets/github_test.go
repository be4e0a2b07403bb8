package datasets

import (
	"crypto/sha1"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/githubtest"
)

var githubFiles = map[string]string{"README.md": "# Shöp\n", "docs/a b.md": "", "docs/deep/c.json": `{"c": 1}`, "logo.png": "\x89PNG\x00"}

func startGitHub(t *testing.T, n int) *githubtest.Server {
	t.Helper()
	t.Setenv("GITHUB_TOKEN", "ghp_s3cr3t")
	s := githubtest.Start(t, "ghp_s3cr3t")
	s.Repository("acme/shop", githubtest.Example(n), githubFiles)
	return s
}

func githubDataset(s *githubtest.Server, name, table, params string) string {
	return fmt.Sprintf("- {name: %s, from: 'github:github.com/Acme/Shop/%s', params: {github_token: '${env:GITHUB_TOKEN}', github_endpoint: '%s/'%s}, "+
		"acceleration: {enabled: true}}\n", name, table, s.URL, params)
}

func TestGitHub(t *testing.T) {
	w, s := newWorld(t), startGitHub(t, 250)
	w.ok("datasets:\n" + githubDataset(s, "issues", "issues", ", github_query_mode: search") +
		githubDataset(s, "pulls", "pulls", ", github_include_comments: all") +
		githubDataset(s, "plain", "pulls", "") + githubDataset(s, "commits", "commits", "") + githubDataset(s, "stars", "stargazers", "") +
		githubDataset(s, "files", "files/release/1", ", include: '**/*.md; *.png'"))
	w.want("SELECT count(*), count(DISTINCT number), min(number), max(number) FROM issues", "250|250|1|250")
	w.want("SELECT author, body, closed_at, closed_by, comments, comments_count, created_at, id, labels, assignees, milestone_id, milestone_title, owner, repo, "+
		"reactions_count, state, state_reason, title, type, type_color, updated_at, url FROM issues WHERE number = 1",
		"ada|line\n2|NULL|NULL|[{'author': {'login': bob}, 'body': first}, {'author': NULL, 'body': second}]|2|2026-01-02 03:04:05|I_1|[kind/bug, "+
			"naïve]|[]|M_1|v1|acme|shop|2|OPEN|NULL|Öl 1|Bug|RED|2026-01-03 03:04:05|https://github.com/Acme/Shop/issues/1")
	w.want("SELECT typeof(labels), typeof(comments), typeof(created_at), typeof(number) FROM issues LIMIT 1",
		"VARCHAR[]|STRUCT(author STRUCT(login VARCHAR), body VARCHAR)[]|TIMESTAMP|BIGINT")
	w.want("SELECT additions, assignees, author, base_ref, changed_files, closed_at, closed_by, closing_issues_count, closing_issues_references, comments_count, "+
		"commits_count, deletions, hashes, head_ref, head_sha, is_draft FROM pulls WHERE number = 7",
		"10|[bob, eve]|NULL|main|3|2026-01-04 00:00:00|carl|2|[1, 2]|1|2|20|[PC_1, PC_2]|fix|abc|false")
	w.want("SELECT merge_queue_position, merge_queue_state, merge_state_status, mergeable, merged_at, merged_by, review_decision, reviews_count, "+
		"status_check_rollup, discussion, review_comments FROM pulls WHERE number = 8",
		"NULL|NULL|CLEAN|MERGEABLE|2026-01-04 00:00:00|carl|APPROVED|1|NULL|[{'body': why?, 'created_at': '2026-01-05 00:00:00', 'author': bob}]|"+
			"[{'body': nit, 'created_at': '2026-01-05 00:00:00', 'author': eve}, {'body': done, 'created_at': '2026-01-05 00:00:00', 'author': NULL}, {'body': ok, "+
			"'created_at': '2026-01-05 00:00:00', 'author': eve}]")
	if _, err := w.read("SELECT discussion FROM plain"); err == nil {
		t.Error("comments are there that are not asked for")
	}
	w.want("SELECT count(*) FROM plain", "2")
	w.want("SELECT * FROM commits WHERE sha LIKE '%fa'",
		"3|7|ada@example.com|Ada|2|2026-01-01 00:00:00|2026-01-01 00:00:00|noreply@github.com|GitHub|1|C_250|a: b\n\nc|c|a: "+
			"b|trunk|00000000000000000000000000000000000000fa|SUCCESS|acme|shop")
	w.want("SELECT * FROM stars WHERE login = 'u200'", "2026-02-01 00:00:00|u200||NULL|@acme|x200|Köln|https://avatars.example/200|NULL|acme|shop")
	w.want("SELECT name, path, ref, size, sha, mode, content, download_url FROM files ORDER BY path",
		"README.md|README.md|release/1|8|"+gitSHA("# Shöp\n")+"|100644|# Shöp\n|"+s.URL+"/Acme/Shop/raw/release/1/README.md, "+
			"a b.md|docs/a b.md|release/1|0|"+gitSHA("")+"|100644||"+s.URL+"/Acme/Shop/raw/release/1/docs/a%20b.md, "+
			"logo.png|logo.png|release/1|5|"+gitSHA("\x89PNG\x00")+"|100644|NULL|"+s.URL+"/Acme/Shop/raw/release/1/logo.png")
	asked := s.Requests()
	if n := strings.Count(strings.Join(asked, "\n"), "POST /graphql"); n != 11 { // 3 for each of 250 rows, and 2 for pull requests
		t.Errorf("%d queries", n)
	}
	if n := strings.Count(strings.Join(asked, "\n"), "/git/blobs/"); n != 3 {
		t.Errorf("%d contents", n)
	}
	if strings.Contains(w.log.String()+fmt.Sprint(w.m.Status()), "s3cr3t") {
		t.Error("the token is shown")
	}
}

// An empty repository has no rows, and all columns.
func TestGitHubEmpty(t *testing.T) {
	w, s := newWorld(t), startGitHub(t, 0)
	s.Repository("acme/shop", `{"issues": [], "defaultBranchRef": null}`, nil)
	w.ok("datasets:\n" + githubDataset(s, "issues", "issues", "") + githubDataset(s, "commits", "commits", "") + githubDataset(s, "files", "files/main", ""))
	w.want("SELECT (SELECT count(number) FROM issues), (SELECT count(sha) FROM commits), (SELECT count(content) FROM files)", "0|0|0")
}

// A page that fails is asked for again, after GitHub's time; the repository goes away and
// comes back.
func TestGitHubLimits(t *testing.T) {
	w, s := newWorld(t), startGitHub(t, 250)
	reset := w.clock.Now().Unix() + 90
	s.Next(
		githubtest.Answer(403, `{"message": "API rate limit exceeded for user ID 1."}`, "X-RateLimit-Remaining: 0", fmt.Sprint("X-RateLimit-Reset: ", reset)),
		githubtest.Answer(403, `{"message": "You have exceeded a secondary rate limit."}`, "Retry-After: 30"),
		githubtest.Answer(200, `{"data": null, "errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}`, "X-RateLimit-Remaining: 0",
			fmt.Sprint("X-RateLimit-Reset: ", reset+60)),
	)
	yaml := "datasets:\n" + githubDataset(s, "t", "issues", "")
	w.ok(yaml)
	w.want("SELECT count(*) FROM t", "250")
	if got := fmt.Sprint(w.clock.pauses); !strings.HasPrefix(got, "[1m31s 30s 30s") {
		t.Errorf("paused %s", got)
	}
	// A query that takes too long is asked for with smaller pages.
	timeout := githubtest.Answer(502, "<html>Bad Gateway</html>")
	s.Requests()
	s.Next(timeout, timeout, timeout, timeout)
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.want("SELECT count(*) FROM t", "250")
	if n := len(s.Requests()); n != 4+5 { // pages of 50
		t.Errorf("%d requests", n)
	}
	s.Repository("acme/shop", "", nil)
	if err := w.refresh("t", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "Could not resolve to a Repository with the name 'Acme/Shop'") {
		t.Error(err)
	}
	w.want("SELECT count(*) FROM t", "250")
	s.Repository("acme/shop", githubtest.Example(3), githubFiles)
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.want("SELECT count(*) FROM t", "3")
	// GitHub is away when the runtime starts.
	s.Always(githubtest.Answer(500, ""))
	w.stop()
	w.start()
	if problems := w.reload(yaml); problems.HasErrors() || len(problems) != 1 || !strings.Contains(problems[0].Message, "500") {
		t.Fatal(problems)
	}
	w.want("SELECT count(*) FROM t", "3")
}

func TestGitHubFaults(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghp_s3cr3t")
	s := startGitHub(t, 3)
	other := newSite(t, func(http.ResponseWriter, *http.Request) { t.Error("a request reached another host") })
	connection := func(page string) string { return `{"data": {"repository": {"issues": ` + page + `}}}` }
	for _, c := range []struct {
		name, table, params string
		answer              http.HandlerFunc
		want                string // path: message; hint
	}{
		{
			"no table", "", "", nil,
			`from: "github:github.com/Acme/Shop/" is not a table of a repository; write github:github.com/owner/repository/issues, pulls, commits, stargazers or files/branch`,
		},
		{"unknown table", "wiki", "", nil, `from: table "wiki" is not served`},
		{"no branch", "files", "", nil, "from: the branch, tag or commit of the files is missing"},
		{"too long", "issues/7", "", nil, `from: "issues/7" is not a table of a repository`},
		{
			"unknown param", "issues", ", github_tokens: x",
			nil, `params.github_tokens: unknown param "github_tokens" of a dataset from github; did you mean "github_token"?`,
		},
		{"mode", "issues", ", github_query_mode: rest", nil, `params.github_query_mode: "rest" is not a mode; write auto or search`},
		{"of files", "issues", ", include: '*.md'", nil, "params.include: params.include is one of files, not of issues; remove it"},
		{
			"comments", "pulls", ", github_include_comments: some", nil,
			`params.github_include_comments: "some" are not comments of pull requests; write none, review, discussion or all`,
		},
		{
			"many comments", "pulls", ", github_max_comments_fetched: 100",
			nil, "params.github_max_comments_fetched: 100 is not a number of comments; write a number from 1 to 75",
		},
		{"pattern", "files/main", ", include: 'a['", nil, ""}, // literal
		{
			"branch", "files/none", "", nil,
			`from: cannot fetch "github:github.com/Acme/Shop/files/none": GitHub answered 404: Not Found; correct the repository or the branch, or give the token read access to the contents of Acme/Shop`,
		},
		{
			"token", "issues", "", githubtest.Answer(401, `{"message": "Bad credentials"}`),
			"params.github_token: cannot fetch \"github:github.com/Acme/Shop/issues\": GitHub answered 401: Bad credentials; set it to a token that is neither " +
				"expired nor revoked",
		},
		{
			"forbidden", "pulls", "", githubtest.Answer(403, `{"message": "Resource not accessible by personal access token"}`),
			"params.github_token: cannot fetch \"github:github.com/Acme/Shop/pulls\": GitHub answered 403: Resource not accessible by personal access token; give " +
				"the token read access to the pull requests of Acme/Shop",
		},
		{
			"scopes", "stargazers",
			"", githubtest.Answer(200, `{"errors": [{"type": "INSUFFICIENT_SCOPES", "message": "The 'email' field requires one of the following scopes"}]}`),
			"params.github_token: cannot fetch \"github:github.com/Acme/Shop/stargazers\": GitHub: The 'email' field requires one of the following scopes; give the " +
				"token read access to the metadata of Acme/Shop",
		},
		{
			"schema", "issues", "", githubtest.Answer(200, `{"errors": [{"type": "undefinedField", "message": "Field 'issueType' doesn't exist on type 'Issue'"}]}`),
			"from: cannot fetch \"github:github.com/Acme/Shop/issues\": GitHub: Field 'issueType' doesn't exist on type 'Issue'",
		},
		{
			"limit", "issues", "", githubtest.Answer(429, "{}", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1767330245"),
			"from: cannot fetch \"github:github.com/Acme/Shop/issues\": GitHub's rate limit is used up until 2026-01-02T05:04:05Z, and asks to wait 2h0m1s, which " +
				"is longer than 5m0s; refresh less often, or use a token of its own",
		},
		{
			"not JSON", "issues", "", githubtest.Answer(200, "<html>"),
			"from: cannot fetch \"github:github.com/Acme/Shop/issues\": GitHub's answer is not what its API sends",
		},
		{"other form", "issues", "", githubtest.Answer(200, `{"data": {"repository": {"issues": {"nodes": 7}}}}`), "GitHub's answer has no list of issues"},
		{"no repository", "issues", "", githubtest.Answer(200, `{"data": {}}`), "GitHub's answer has no repository"},
		{"redirect", "issues", "", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "the server redirects to another host"},
		{
			"endless", "issues", "", githubtest.Answer(200, connection(`{"nodes": [], "pageInfo": {"hasNextPage": true, "endCursor": "x"}}`)),
			"GitHub sent a page that has been read",
		},
		{
			"no cursor", "issues", "", githubtest.Answer(200, connection(`{"nodes": [], "pageInfo": {"hasNextPage": true}}`)),
			"GitHub's answer has no cursor of the next page",
		},
		{"huge", "issues", "", githubtest.Answer(200, strings.Repeat(" ", 70_000)), "the answer is larger than 64KiB"},
		{
			"deep", "issues", "", githubtest.Answer(200, connection(`{"nodes": [{"body": `+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}]}`)),
			"row 1 is nested deeper than 64 levels",
		},
		{
			"of another type", "issues", "", githubtest.Answer(200, connection(`{"nodes": [{"number": "x"}], "pageInfo": {}}`)),
			`Failed to cast value to numerical: "x"`,
		},
		{"truncated", "files/main", "", githubtest.Answer(200, `{"tree": [], "truncated": true}`), "the repository has more files than GitHub's API lists"},
		{
			"path of a content", "files/main", "", githubtest.Answer(200, `{"tree": [{"type": "blob", "path": "x", "sha": "../../user"}]}`),
			`GitHub sent "../../user" as the name of a file's content`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.stop()
			w.start(func(o *Options) { o.Limits.Download = 64 << 10 })
			w.file("good.csv", "a\n1\n")
			s.Always(c.answer)
			problems := w.reload("datasets:\n" + githubDataset(s, "t", c.table, c.params) + "- {name: good, from: 'file:good.csv'}\n")
			if c.want == "" {
				if len(problems) > 0 {
					t.Error(problems)
				}
				return
			}
			if len(problems) != 1 {
				t.Fatal(problems)
			}
			got := strings.TrimPrefix(problems[0].Path, "datasets[0].") + ": " + problems[0].Message + "; " + problems[0].Hint
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if strings.Contains(fmt.Sprint(problems, w.m.Status())+w.log.String(), "s3cr3t") {
				t.Errorf("the token is shown: %s", problems)
			}
			w.want("SELECT * FROM good", "1")
		})
	}
	for from, want := range map[string]string{
		"github:github.com/acme/shop/issues', params: {github_endpoint: 'ftp://x', github_token: " +
			"x}, acceleration: {}}": `"ftp://x" is not the URL of an API of GitHub; write https://host/api/v3`,
		"github:github.com/acme/shop/issues', acceleration: {}}": "the token for GitHub's " +
			"API is missing; set params.github_token: ${secrets:GITHUB_TOKEN}",
		"github:github.com/acme/shop/issues', params: {github_token: x}}": "connector github reads into an " +
			"accelerated copy only; set acceleration.enabled: true",
		"github:github.com/acme/../issues', params: {github_token: x}, " +
			"acceleration: {}}": `"acme/.." is not the name of a repository`,
		"github:gitlab.com/acme/shop/issues', params: {github_token: x}, acceleration: {}}": "is not a table of a repository",
		"github:github.com/acme/sh op/issues', params: {github_token: x}, " +
			"acceleration: {}}": `"acme/sh op" is not the name of a repository`,
		"github:github.com/acme/shop/issues', params: {github_endpoint: 'https://a:b@x', github_token: x}, acceleration: {}}": "is not the URL of an API of GitHub",
		"github:github.com/acme/shop/issues', params: {client_timeout: soon, github_token: x}, " +
			"acceleration: {}}": "params.client_timeout takes a duration",
		"github:github.com/acme/shop/issues', params: {github_include_comments: all, github_token: x}, acceleration: {}}": "params.github_include_comments " +
			"is one of pulls, not of issues",
	} {
		w := newWorld(t)
		problems := w.reload("datasets:\n- {name: t, from: '" + from + "\n")
		if len(problems) != 1 || !strings.Contains(problems[0].Message+"; "+problems[0].Hint, want) {
			t.Errorf("%s: got %v, want %s", from, problems, want)
		}
	}
}

// gitSHA is the name that git has for a content.
func gitSHA(text string) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)))
}
