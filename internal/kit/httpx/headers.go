package httpx

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// headerName is a token of RFC 9110, 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// SplitHeaders parses "Name: value" pairs separated by commas or semicolons.
// Text after a separator that is not a pair belongs to the value before it, as
// in "Accept-Language: de, en". Errors contain no value.
func SplitHeaders(text string) ([][2]string, error) {
	var pairs [][2]string
	for text != "" {
		at := strings.IndexAny(text, ",;")
		piece, mark := text, ""
		if text = ""; at >= 0 {
			piece, mark, text = piece[:at], piece[at:at+1], piece[at+1:]
		}
		name, value, ok := strings.Cut(piece, ":")
		switch name = strings.TrimSpace(name); {
		case ok && headerName.MatchString(name):
			pairs = append(pairs, [2]string{name, value})
		case len(pairs) > 0:
			pairs[len(pairs)-1][1] += piece
		case strings.TrimSpace(piece) != "":
			return nil, errors.New(`the first header has no name and colon`)
		}
		if len(pairs) > 0 {
			pairs[len(pairs)-1][1] += mark
		}
	}
	for i := range pairs {
		pairs[i][1] = strings.TrimRight(strings.TrimSpace(pairs[i][1]), ",; ")
		if strings.ContainsFunc(pairs[i][1], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, fmt.Errorf("the value of %s holds a control character", pairs[i][0])
		}
	}
	return pairs, nil
}
