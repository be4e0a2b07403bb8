package github

import (
	"fmt"
	"slices"
	"strings"
)

// column is a column of a table, with its place in GitHub's answer.
type column struct {
	name, kind string   // DuckDB's type
	field      string   // what GraphQL is asked for; "": another column asks for it
	path       []string // of the value below a node; "*": each element of a list; nil: the name
	comments   bool     // the values are comments, see [comments]
}

// list is a table that GitHub sends in pages of a connection of GraphQL.
type list struct {
	about   string // for messages
	head    string // the fields that lead to the connection, of a repository
	fields  string // of the connection, with %s for the columns
	path    []string
	nodes   string // the key of the rows
	size    int    // of pages
	columns []column
}

// text and the others are columns whose value has the name of the column, or is at a path.
func text(name, field string, path ...string) column {
	return column{name: name, kind: "VARCHAR", field: field, path: path}
}

func number(name, field string, path ...string) column {
	return column{name: name, kind: "BIGINT", field: field, path: path}
}

func instant(name, field string, path ...string) column {
	return column{name: name, kind: "TIMESTAMP", field: field, path: path}
}

func truth(name, field string, path ...string) column {
	return column{name: name, kind: "BOOLEAN", field: field, path: path}
}

func texts(name, field string, path ...string) column {
	return column{name: name, kind: "VARCHAR[]", field: field, path: path}
}

// repository are the columns of every table, which the connector fills.
var repository = []column{text("owner", ""), text("repo", "")}

// ofBoth are the columns that issues and pull requests have.
var ofBoth = []column{
	texts("assignees", "assignees(first: 100) {nodes {login}}", "assignees", "nodes", "*", "login"),
	text("author", "author {login}", "author", "login"),
	text("body", "body"),
	instant("closed_at", "closed_at: closedAt"),
	text("closed_by", "closed: timelineItems(last: 1, itemTypes: [CLOSED_EVENT]) {nodes {... on ClosedEvent "+
		"{actor {login}}}}", "closed", "nodes", "0", "actor", "login"),
	instant("created_at", "created_at: createdAt"),
	text("id", "id"),
	texts("labels", "labels(first: 100) {nodes {name}}", "labels", "nodes", "*", "name"),
	text("milestone_id", "milestone {id title}", "milestone", "id"),
	text("milestone_title", "", "milestone", "title"),
	number("number", "number"),
	number("reactions_count", "reactions {totalCount}", "reactions", "totalCount"),
	text("state", "state"),
	text("title", "title"),
	instant("updated_at", "updated_at: updatedAt"),
	text("url", "url"),
}

var issueColumns = []column{
	{
		name: "comments", kind: "STRUCT(author STRUCT(login VARCHAR), body VARCHAR)[]",
		field: "comments(first: 100) {totalCount nodes {author {login} body}}", path: []string{"comments", "nodes", "*"},
	},
	number("comments_count", "", "comments", "totalCount"),
	text("state_reason", "state_reason: stateReason"),
	text("type", "issueType {name color}", "issueType", "name"),
	text("type_color", "", "issueType", "color"),
}

var pullColumns = []column{
	number("additions", "additions"),
	text("base_ref", "base_ref: baseRefName"),
	number("changed_files", "changed_files: changedFiles"),
	number("closing_issues_count", "closingIssuesReferences(first: 100) {totalCount nodes {number}}",
		"closingIssuesReferences", "totalCount"),
	{
		name: "closing_issues_references", kind: "BIGINT[]",
		path: []string{"closingIssuesReferences", "nodes", "*", "number"},
	},
	number("comments_count", "comments {totalCount}", "comments", "totalCount"),
	number("commits_count", "commits(first: 100) {totalCount nodes {id}}", "commits", "totalCount"),
	number("deletions", "deletions"),
	texts("hashes", "", "commits", "nodes", "*", "id"),
	text("head_ref", "head_ref: headRefName"),
	text("head_sha", "head_sha: headRefOid"),
	truth("is_draft", "is_draft: isDraft"),
	number("merge_queue_position", "mergeQueueEntry {position state}", "mergeQueueEntry", "position"),
	text("merge_queue_state", "", "mergeQueueEntry", "state"),
	text("merge_state_status", "merge_state_status: mergeStateStatus"),
	text("mergeable", "mergeable"),
	instant("merged_at", "merged_at: mergedAt"),
	text("merged_by", "mergedBy {login}", "mergedBy", "login"),
	text("review_decision", "review_decision: reviewDecision"),
	number("reviews_count", "reviews {totalCount}", "reviews", "totalCount"),
	text("status_check_rollup", "statusCheckRollup {state}", "statusCheckRollup", "state"),
}

var commitColumns = []column{
	number("additions", "additions"),
	number("associated_pull_request_number", "associatedPullRequests(first: 1) {nodes {number}}", "associatedPullRequests",
		"nodes", "0", "number"),
	text("author_email", "author {name email}", "author", "email"),
	text("author_name", "", "author", "name"),
	number("changed_files", "changed_files: changedFilesIfAvailable"),
	instant("committed_date", "committed_date: committedDate"),
	instant("committer_date", "committer {name email date}", "committer", "date"),
	text("committer_email", "", "committer", "email"),
	text("committer_name", "", "committer", "name"),
	number("deletions", "deletions"),
	text("id", "id"),
	text("message", "message"),
	text("message_body", "message_body: messageBody"),
	text("message_head_line", "message_head_line: messageHeadline"),
	text("ref", ""), // of the branch
	text("sha", "sha: oid"),
	text("status", "statusCheckRollup {state}", "statusCheckRollup", "state"),
}

var stargazerColumns = []column{
	instant("starred_at", "starred_at: starredAt"),
	text("login", "node {login email name company twitterUsername location avatarUrl bio}", "node", "login"),
	text("email", "", "node", "email"),
	text("name", "", "node", "name"),
	text("company", "", "node", "company"),
	text("x_username", "", "node", "twitterUsername"),
	text("location", "", "node", "location"),
	text("avatar_url", "", "node", "avatarUrl"),
	text("bio", "", "node", "bio"),
}

var fileColumns = append([]column{
	text("name", ""), text("path", ""), text("ref", ""), number("size", ""), text("sha", ""), text("mode", ""),
	text("url", ""), text("download_url", ""), text("content", ""),
}, repository...)

// lists are the tables that are read by GraphQL, by their name in `from`.
var lists = map[string]list{
	"issues": {
		about: "issues", fields: "issues(first: $first, after: $after, orderBy: {field: CREATED_AT, direction: " +
			"ASC}) {pageInfo {hasNextPage endCursor} nodes {%s}}",
		path: []string{"issues"}, nodes: "nodes", size: 100, columns: slices.Concat(ofBoth, issueColumns, repository),
	},
	"pulls": {
		about: "pull requests",
		fields: "pullRequests(first: $first, after: $after, orderBy: {field: CREATED_AT, direction: ASC}) {pageInfo " +
			"{hasNextPage endCursor} nodes {%s}}",
		path: []string{"pullRequests"}, nodes: "nodes", size: 50, columns: slices.Concat(ofBoth, pullColumns, repository),
	},
	"commits": {
		about: "contents", head: "branch: defaultBranchRef",
		fields: "{name target {... on Commit {history(first: $first, after: $after) {pageInfo {hasNextPage endCursor} " +
			"nodes {%s}}}}}",
		path: []string{"branch", "target", "history"}, nodes: "nodes", size: 100,
		columns: slices.Concat(commitColumns, repository),
	},
	"stargazers": {
		about: "metadata", fields: "stargazers(first: $first, after: $after, orderBy: {field: STARRED_AT, direction: ASC}) " +
			"{pageInfo {hasNextPage endCursor} edges {%s}}",
		path: []string{"stargazers"}, nodes: "edges", size: 100, columns: slices.Concat(stargazerColumns, repository),
	},
}

// query returns the text of GraphQL for a page.
func (l list) query() string {
	var fields []string
	for _, c := range l.columns {
		if c.field != "" {
			fields = append(fields, c.field)
		}
	}
	return "query($owner: String!, $name: String!, $first: Int!, $after: String) {repository(owner: $owner, " +
		"name: $name) {" +
		l.head + fmt.Sprintf(l.fields, strings.Join(fields, " ")) + "}}"
}

const (
	commentType   = "STRUCT(body VARCHAR, created_at TIMESTAMP, author VARCHAR)[]"
	commentFields = "nodes {body created_at: createdAt author {login}}"
)

// withComments adds the columns of comments to those of pull requests.
func (l list) withComments(which string, most int) list {
	l.columns = slices.Clone(l.columns)
	if which == "discussion" || which == "all" {
		l.columns = append(l.columns, column{
			name: "discussion", kind: commentType, comments: true,
			field: fmt.Sprintf("discussion: comments(first: %d) {%s}", most, commentFields),
			path:  []string{"discussion", "nodes", "*"},
		})
	}
	if which == "review" || which == "all" {
		l.columns = append(l.columns, column{
			name: "review_comments", kind: commentType, comments: true,
			field: fmt.Sprintf("reviewThreads(first: 20) {nodes {comments(first: %d) {%s}}}", most, commentFields),
			path:  []string{"reviewThreads", "nodes", "*", "comments", "nodes", "*"},
		})
	}
	if len(l.columns) > len(lists["pulls"].columns) {
		l.size = 20 // GitHub limits the nodes of a query, and its time
	}
	return l
}

func row(columns []column, node any, fixed map[string]any) map[string]any {
	out := make(map[string]any, len(columns))
	for _, c := range columns {
		path := c.path
		if path == nil {
			path = []string{c.name}
		}
		value, ok := fixed[c.name]
		if !ok {
			value = at(node, path)
		}
		if c.comments {
			value = comments(value)
		}
		out[c.name] = value
	}
	return out
}

// at returns the value at a path below v, or nil.
func at(v any, path []string) any {
	for i, key := range path {
		switch have := v.(type) {
		case map[string]any:
			v = have[key]
		case []any:
			if key == "*" {
				return each(have, path[i+1:])
			}
			if key != "0" || len(have) == 0 {
				return nil
			}
			v = have[0]
		default:
			return nil
		}
	}
	return v
}

// each returns the values at a path below each element of a list, as one list.
func each(list []any, path []string) []any {
	all := []any{}
	for _, e := range list {
		value := at(e, path)
		if inner, ok := value.([]any); ok && slices.Contains(path, "*") {
			all = append(all, inner...)
		} else {
			all = append(all, value)
		}
	}
	return all
}

// comments replaces the author of each comment by its login.
func comments(v any) any {
	list, ok := v.([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			c["author"] = at(c, []string{"author", "login"})
		}
	}
	if !ok {
		return nil
	}
	return list
}
