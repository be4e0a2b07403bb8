package httpx

import (
	"net/http"
	"slices"
	"strings"
)

// NextLink returns the target of the first link with the relation "next" (RFC 8288), as
// it is written, or "".
func NextLink(h http.Header) string {
	for _, text := range h.Values("Link") {
		for text != "" {
			var target, rel string
			target, rel, text = cutLink(text)
			if slices.Contains(strings.Fields(strings.ToLower(rel)), "next") {
				return target
			}
		}
	}
	return ""
}

// cutLink returns the target and the relations of the first link of a list, and the rest
// of the list.
func cutLink(text string) (target, rel, rest string) {
	_, text, ok := strings.Cut(text, "<")
	if !ok {
		return "", "", ""
	}
	if target, text, ok = strings.Cut(text, ">"); !ok {
		return "", "", ""
	}
	found := false
	for text != "" && text[0] != ',' {
		if text[0] != ';' {
			text = text[1:]
			continue
		}
		var name, value string
		name, value, text = cutParam(text[1:])
		if strings.EqualFold(name, "rel") && !found {
			rel, found = value, true
		}
	}
	return strings.TrimSpace(target), rel, text
}

// cutParam returns the first param of a link, and what follows it.
func cutParam(text string) (name, value, rest string) {
	end := strings.IndexAny(text, "=;,")
	if end < 0 {
		end = len(text)
	}
	name, rest = strings.TrimSpace(text[:end]), text[end:]
	if rest == "" || rest[0] != '=' {
		return name, "", rest
	}
	rest = strings.TrimLeft(rest[1:], " \t")
	if !strings.HasPrefix(rest, `"`) {
		end := strings.IndexAny(rest, ";,")
		if end < 0 {
			end = len(rest)
		}
		return name, strings.TrimSpace(rest[:end]), rest[end:]
	}
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '"':
			return name, b.String(), rest[i+1:]
		case '\\':
			i++
		}
		if i < len(rest) {
			b.WriteByte(rest[i])
		}
	}
	return name, b.String(), ""
}
