package client

// clip cuts a text to so many bytes, between characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most] + "…"
}
