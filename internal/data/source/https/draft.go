package https

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/source"
)

// secretKeys matches keys of queries whose values are often secret.
var secretKeys = regexp.MustCompile(`(?i)key|token|secret|password|passwd|pwd|auth|credential|^sig$|signature`)

// draft makes a declaration of a URL. A password, and parts of the query that may be
// secret, are kept out of `from`.
func draft(text, name string) (d source.Draft, err error) {
	u, err := source.ParseURL(text, "https://host/file.parquet")
	if err != nil {
		return d, err
	}
	d = source.Draft{From: text, Name: cmp.Or(name, source.NameOf(u.Path))}
	if u.User != nil {
		user, password := source.Credentials(u)
		d.Set("http_username", user, false)
		d.Set("http_password", password, true)
		scheme, rest, _ := strings.Cut(text, "://")
		authority := rest
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			authority = rest[:end]
		}
		d.From = scheme + "://" + rest[strings.LastIndexByte(authority, '@')+1:]
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if key, value, ok := strings.Cut(pair, "="); ok && value != "" && secretKeys.MatchString(key) {
			d.Hidden = append(d.Hidden, source.Setting{Name: key, Value: value, Secret: true})
		}
	}
	return d, nil
}
