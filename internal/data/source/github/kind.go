package github

import (
	"github.com/spiced-sql/spiced/internal/data/source"
)

// Kind is the connector.
var Kind = source.Kind{
	Names: []string{"github"}, Params: knownParams, Copied: true,
	From: "`github:github.com/owner/repository/issues`, `…/pulls`, `…/commits`, `…/stargazers`, `…/files/branch`",
	About: "issues, pull requests, commits of the default branch, stargazers, or the files of a branch, tag or commit, " +
		"of a repository at GitHub, into an accelerated copy",
	Note: "The columns are those of Spice. Each load asks for all rows: about one request for 100 issues, commits or " +
		"stargazers, 50 pull requests, or one file. " +
		"Of the labels, assignees, comments and commits of a row the first 100 are there. `content` of a file is NULL " +
		"if it is not a text or larger than 8 MiB.",
	Open: func(h source.Host) source.Connector { return &Connector{h} },
}
