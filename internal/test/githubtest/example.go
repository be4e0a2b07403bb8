package githubtest

import (
	"fmt"
	"strings"
)

// Example returns a repository with n issues, commits and stargazers and two pull
// requests, for [Server.Repository]. Authors of accounts that were deleted are null.
func Example(n int) string {
	issues, pulls, commits, stars := []string{}, []string{}, []string{}, []string{}
	common := func(i int) string {
		return fmt.Sprintf(`"id": "I_%d", "number": %d, "title": "Öl %d", "url": "https://github.com/Acme/Shop/issues/%d", "body": "line\n2", "state": "OPEN",
			"createdAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-03T03:04:05Z", "reactions": [{}, {}]`, i, i, i, i)
	}
	for i := 1; i <= n; i++ {
		issues = append(issues, `{`+
			common(i)+`, "author": {"login": "ada"}, "closedAt": null, "stateReason": null, "timelineItems": [], "milestone": {"id": "M_1", "title": "v1"},
			"labels": [{"name": "kind/bug"}, {"name": "naïve"}], "assignees": [], "issueType": {"name": "Bug", "color": "RED"},
			"comments": [{"author": {"login": "bob"}, "body": "first"}, {"author": null, "body": "second"}]}`)
		stars = append(stars, fmt.Sprintf(`{"starredAt": "2026-02-01T00:00:00Z", "node": {"login": "u%d", "email": "", "name": null, "company": "@acme", "twitterUsername": "x%d",
			"location": "Köln", "avatarUrl": "https://avatars.example/%d", "bio": null}}`, i, i, i))
		commits = append(commits,
			fmt.Sprintf(`{"id": "C_%d", "oid": "%040x", "message": "a: b\n\nc", "messageHeadline": "a: b", "messageBody": "c", "additions": 3, "deletions": 1,
			"changedFilesIfAvailable": 2, "committedDate": "2026-01-01T00:00:00Z", "author": {"name": "Ada", "email": "ada@example.com"},
			"committer": {"name": "GitHub", "email": "noreply@github.com", "date": "2026-01-01T00:00:00Z"}, "associatedPullRequests": [{"number": 7}], "statusCheckRollup": {"state": "SUCCESS"}}`, i, i))
	}
	comment := func(author, body string) string {
		return fmt.Sprintf(`{"body": %q, "createdAt": "2026-01-05T00:00:00Z", "author": %s}`, body, author)
	}
	for i := 7; i <= 8; i++ {
		pulls = append(pulls, `{`+common(i)+`, "author": null, "closedAt": "2026-01-04T00:00:00Z", "timelineItems": [{"actor": {"login": "carl"}}], "milestone": null,
			"labels": [], "assignees": [{"login": "bob"}, {"login": "eve"}], "additions": 10, "deletions": 20, "changedFiles": 3, "baseRefName": "main", "headRefName": "fix", "headRefOid": "abc",
			"isDraft": false, "mergeQueueEntry": null, "mergeStateStatus": "CLEAN", "mergeable": "MERGEABLE", "mergedAt": "2026-01-04T00:00:00Z", "mergedBy": {"login": "carl"},
			"reviewDecision": "APPROVED", "reviews": [{}], "statusCheckRollup": null, "closingIssuesReferences": [{"number": 1}, {"number": 2}], "commits": [{"id": "PC_1"}, {"id": "PC_2"}],
			"comments": [`+comment(`{"login": "bob"}`, "why?")+`],
			"reviewThreads": [{"comments": [`+comment(`{"login": "eve"}`, "nit")+`, `+comment("null", "done")+`]}, {"comments": [`+
			comment(`{"login": "eve"}`, "ok")+`]}]}`)
	}
	list := func(l []string) string { return "[" + strings.Join(l, ",") + "]" }
	return `{"issues": ` + list(issues) + `, "pullRequests": ` + list(pulls) + `, "stargazers": ` + list(stars) +
		`, "defaultBranchRef": {"name": "trunk", "target": {"history": ` + list(commits) + `}}}`
}
