// Package clip bounds what texts of others take in messages, logs, prompts and
// indexes.
package clip

import "unicode/utf8"

const sign = "…"

// To is the beginning of text in at most size bytes. It ends between two
// characters.
func To(text string, size int) string {
	if len(text) <= size {
		return text
	}
	size = max(size, 0)
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}

// Shown is text, or where it is longer than size bytes its beginning with …
// behind it, which size does not count.
func Shown(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return To(text, size) + sign
}

// Fit is Shown in at most size bytes, with … among them.
func Fit(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return To(text, size-len(sign)) + sign
}
